// Which GPUs of this node a job's ranks use, whether they may, and what the ways to them carry.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "run/gpu.h"
#include "run/job.h"
#include "transport/cuda/driver.h"

namespace ringtrue::engine {

// By rank: the GPU of those on `node`, dealt in turn; -1 for all others.
// Errors, bad_input: a GPU in job.gpus that is not there, or is there twice.
Result<std::vector<int>> deal_gpus(transport::cuda::Driver& driver, const run::Job& job, int node);

// Whether this process sees others by numbers of its own, as in a container, while the driver may tell the
// host's.
bool has_own_numbers();

// Whether `gpus` are free: nobody computes there but this process and the `siblings` that its parent started
// for this run. nullopt: yes; a text: that cannot be known, and why, as of numbers that nobody has here with
// `own_numbers`: as many may be the siblings'. Errors, unavailable, name GPU and process.
Result<std::optional<std::string>> check_free(transport::cuda::Driver& driver, const std::set<int>& gpus,
                                              int siblings, bool own_numbers);

// In place of a collective: what transport/cuda/limits.h measures.
// Of job.gpus (empty: all), with copies of job.call.bytes(), job.iterations times, the host's memory on each
// of its NUMA nodes in turn. What was measured when a tenth of the time is left, or when `stop` says so, is
// all there is. Errors as measure_limits(), and bad_input for a GPU that is not there.
Result<std::vector<run::GpuLimit>> measure_gpus(transport::cuda::Driver& driver, const run::Job& job,
                                                const std::string& node, Deadline deadline,
                                                const std::function<bool()>& stop);

}  // namespace ringtrue::engine
