// What this node's GPUs and the ways to them carry (transport/cuda/limits.h), in place of a collective.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "run/gpu_limit.h"
#include "run/job.h"
#include "transport/cuda/driver.h"

namespace ringtrue::engine {

// Of job.gpus (empty: all), with copies of job.call.bytes(), job.iterations times, the host's memory on each
// of its NUMA nodes in turn. What was measured when a tenth of the time is left, or when `stop` says so, is
// all there is. Errors as measure_limits(), and bad_input for a GPU that is not there.
Result<std::vector<run::GpuLimit>> measure_gpus(transport::cuda::Driver& driver, const run::Job& job,
                                                const std::string& node, Deadline deadline,
                                                const std::function<bool()>& stop);

}  // namespace ringtrue::engine
