// Which GPUs data on GPUs is on.
#pragma once

#include <vector>

#include "base/result.h"
#include "operator/setup.h"
#include "run/job.h"

namespace ringtrue::ops {

struct GpuRequest {
  std::vector<int> gpus;  // of each node, as CUDA counts them; empty: all
  bool share = false;
};

// Errors (bad_input): GPUs or a transport that are about GPU memory where the data is in the host's.
Result<void> check_memory(const Setup& setup, const GpuRequest& request);

}  // namespace ringtrue::ops
