// Which GPUs data on GPUs is on.
#pragma once

#include <vector>

namespace ringtrue::ops {

struct GpuRequest {
  std::vector<int> gpus;  // of each node, as CUDA counts them; empty: all
  bool share = false;
};

}  // namespace ringtrue::ops
