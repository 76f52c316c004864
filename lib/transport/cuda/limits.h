// What a node's GPUs and the ways to them carry, each measured by itself: host to device and back, device
// copies, peers. Times are the GPUs' own; a rate is that of the median of several runs.
#pragma once

#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "run/gpu.h"
#include "transport/cuda/driver.h"

namespace ringtrue::transport::cuda {

struct LimitSettings {
  std::uint64_t bytes = 256 << 20;  // of a copy; a GPU needs twice as much, the host as much
  int repeats = 5;
  std::vector<int> gpus;  // empty: all
  // Host memory is tried on each of them; empty, or where none of them gives any: wherever it comes.
  std::vector<int> numa_nodes;
  std::function<bool()> stop = {};  // asked now and then: true ends it as the deadline does
  std::string node = {};            // of this machine, as the limits are to name it
};

// GPU by GPU, then pair by pair. What cannot be measured is in the list with the reason; where the deadline
// or `stop` came first, one last entry says how much was left out. Errors: no GPU, a GPU that is lost, one
// that does not end what it was told even two seconds after the deadline (what was measured with, on all
// GPUs, is kept until the process ends).
Result<std::vector<run::GpuLimit>> measure_limits(Driver& driver, const LimitSettings& settings,
                                                  Deadline deadline);

}  // namespace ringtrue::transport::cuda
