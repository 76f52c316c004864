// What simulate is asked for: its flags, and the sizes and data that they say.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/bitmaps.h"
#include "operator/call_request.h"
#include "operator/fabric_request.h"
#include "operator/omni_request.h"
#include "run/job.h"
#include "sim/simulate.h"

namespace ringtrue::ops {

struct SimulateRequest {
  Setup setup;
  CallRequest call;
  OmniRequest omni;
  std::string bitmaps;  // a file's name
  FabricRequest fabric;
  FaultScript faults;
  std::string calibrate;  // a file
  std::optional<AlgorithmRequest> compare;
  std::optional<sim::Place> fix;
  sim::Discipline sharing = sim::Discipline::automatic;
  sim::Method method = sim::Method::automatic;
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
  std::shared_ptr<const run::Input> input;
  std::string note;  // of the input
};

// Whether the flags go together. Errors: bad_input.
Result<void> check(const SimulateRequest& flags);
// Errors (bad_input): as above, and files that cannot be read or do not fit so many workers.
Result<SimulateTask> task_of(const SimulateRequest& flags, int workers);

}  // namespace ringtrue::ops
