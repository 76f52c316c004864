// Which GPUs of this node a job's ranks use, and whether they may.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
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

}  // namespace ringtrue::engine
