// What simulate is asked for: its flags, and the sizes and data that they say.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/bitmaps.h"
#include "cmd/calls.h"
#include "cmd/fabric_flags.h"
#include "cmd/omni_flags.h"
#include "engine/job.h"

namespace ringtrue::cmd {

struct SimulateFlags {
  CallFlags call;
  OmniFlags omni;
  std::string bitmaps;  // a file's name
  FabricFlags fabric;
  FaultScript faults;
  std::string calibrate;  // a file
  std::string compare;    // an algorithm
  std::optional<sim::Place> fix;
  std::string sharing = "automatic", method = "automatic";
  double noise = 0, run_noise = 0;
  std::optional<long> seed;
  bool grid = false, even = false;

  std::uint64_t drawn_from() const { return std::uint64_t(seed.value_or(1)); }
  bool faulty() const { return !faults.hops.empty() || !faults.fabric.empty(); }
};

// The sizes to play, and the data where a file says it.
struct SimulateTask {
  std::vector<std::uint64_t> sizes;
  std::shared_ptr<const Bitmaps> bitmaps;
  std::shared_ptr<const engine::Input> input;
  std::string note;  // of the input
};

// Whether the flags go together. Errors: bad_input.
Result<void> check(const SimulateFlags& flags);
// Common flags that a model does not heed. Errors: bad_input.
Result<void> check_common(const Context& context, const SimulateFlags& flags);
// Errors (bad_input): as above, and files that cannot be read or do not fit so many workers.
Result<SimulateTask> task_of(const SimulateFlags& flags, int workers);

}  // namespace ringtrue::cmd
