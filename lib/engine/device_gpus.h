// Which GPUs of this node a job's ranks use, and whether they may.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/job.h"
#include "transport/cuda/driver.h"

namespace ringtrue::engine {

// By rank: the GPU of those on `node`, dealt in turn; -1 for all others.
// Errors, bad_input: a GPU in job.gpus that is not there, or is there twice.
Result<std::vector<int>> deal_gpus(transport::cuda::Driver& driver, const Job& job, int node);

// Whether `gpus` are free: nobody computes there but this process and, with `siblings`, those that its parent
// started. nullopt: yes; a text: that cannot be known, and why, as of a sibling that the driver knows by a
// number of outside this container. Errors, unavailable, name GPU and process.
Result<std::optional<std::string>> check_free(transport::cuda::Driver& driver, const std::set<int>& gpus,
                                              bool siblings);

}  // namespace ringtrue::engine
