// The GPU that a call of the CUDA runtime is for, and how its errors are told.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "transport/cuda/driver.h"

namespace ringtrue::transport::cuda {

// "cannot WHAT on GPU 0 (GPU-...): out of memory (cudaErrorMemoryAllocation)", and what to do where that is
// known.
Error error_of(const std::string& what, const std::string& gpu, cudaError_t error);

struct Home {
  Gpu gpu;

  Result<void> enter() const { return tell(cudaSetDevice(gpu.index), "begin"); }
  Result<void> tell(cudaError_t error, const char* what) const {
    if (error == cudaSuccess) return {};
    return tl::unexpected(error_of(what, gpu.text(), error));
  }
  // A call on this GPU.
  template <class Call>
  Result<void> call(const char* what, Call call) const {
    if (auto entered = enter(); !entered) return entered;
    return tell(static_cast<cudaError_t>(call()), what);
  }
  void quietly(cudaError_t (*free)(void*), void* at) const {
    if (at && cudaSetDevice(gpu.index) == cudaSuccess) free(at);
    cudaGetLastError();
  }
};

Result<std::unique_ptr<Stream>> make_stream(const Home& home);
Result<std::unique_ptr<Event>> make_event(const Home& home);
Result<std::vector<Occupant>> occupants_of(const Gpu& gpu);  // asks NVML

}  // namespace ringtrue::transport::cuda
