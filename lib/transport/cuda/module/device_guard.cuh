// The GPU that a call of the CUDA runtime is for, and how its errors are told.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "transport/cuda/driver.h"

namespace ringtrue::transport::cuda {

// "cannot WHAT on GPU 0 (GPU-...): out of memory (cudaErrorMemoryAllocation)", and what to do where that is
// known.
Error error_of(const std::string& what, const std::string& gpu, cudaError_t error);

struct DeviceGuard {
  Gpu gpu;

  Result<void> enter() const { return check(cudaSetDevice(gpu.index), "begin"); }
  Result<void> check(cudaError_t error, const char* what) const {
    if (error == cudaSuccess) return {};
    return tl::unexpected(error_of(what, gpu.text(), error));
  }
  // A call on this GPU.
  template <class Call>
  Result<void> call(const char* what, Call call) const {
    if (auto entered = enter(); !entered) return entered;
    return check(static_cast<cudaError_t>(call()), what);
  }
  // Whether what `query` asks for is over. Also entered: the runtime makes a context on the thread's current
  // GPU whatever it is asked, and of a thread that has entered none that is the first.
  template <class Query>
  Result<bool> asked(Query query) const {
    if (auto entered = enter(); !entered) return tl::unexpected(entered.error());
    const cudaError_t state = query();
    if (state == cudaErrorNotReady) return cudaGetLastError(), false;
    if (auto good = check(state, "go on"); !good) return tl::unexpected(good.error());
    return true;
  }
  template <class Call>
  void quietly(Call call) const {
    if (cudaSetDevice(gpu.index) == cudaSuccess) call();
    cudaGetLastError();
  }
};

Result<std::unique_ptr<Stream>> make_stream(const DeviceGuard& guard);
Result<std::unique_ptr<Event>> make_event(const DeviceGuard& guard);
Result<std::vector<GpuProcess>> gpu_processes_of(const Gpu& gpu);  // asks NVML

}  // namespace ringtrue::transport::cuda
