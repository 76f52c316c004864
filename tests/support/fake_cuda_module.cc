// A CUDA module of another build.
#include "transport/cuda/load.h"

extern "C" const ringtrue::transport::cuda::Entry* ringtrue_cuda_entry() {
  static constexpr ringtrue::transport::cuda::Entry entry{ringtrue::transport::cuda::abi + 1, nullptr};
  return &entry;
}
