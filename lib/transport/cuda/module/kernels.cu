#include "transport/cuda/module/kernels.h"

#include <cuda_runtime.h>

#include "transport/cuda/module/world.cuh"

namespace ringtrue::transport::cuda {
// Nothing is in an unnamed namespace: nvcc would make its name of the folder, and packages would differ by that.
namespace kernels {

constexpr int threads = 512;

// Two blocks a multiprocessor: while one waits at its barrier, or for a peer, the other one moves bytes.
template <class N, class Op>
__global__ __launch_bounds__(threads, 2) void interpret_kernel(const Interpretation job) {
  __shared__ const std::byte* sources[max_ranks];
  const Work work =
      job.work[blockIdx.x / job.blocks];  // kept in registers: what is polled is read anew, this is not
  auto world = GpuWorld<2>::of(blockIdx.x % job.blocks, job.blocks, sources, job.system);
  interpret<N, Op>(world, work, job.abort, job.operation == average);
}

template <class N, class Op>
__global__ __launch_bounds__(threads) void reduce_kernel(const __grid_constant__ Reduction job) {
  auto world = GpuWorld<4>::of(blockIdx.x, gridDim.x);
  reduce<N, Op>(world, job);
}

template <class T>
__global__ __launch_bounds__(threads) void fill_kernel(const Fill job) {
  auto world = GpuWorld<4>::of(blockIdx.x, gridDim.x);
  fill<T>(world, job);
}

template <class T>
__global__ __launch_bounds__(threads) void check_kernel(const Check job) {
  auto world = GpuWorld<4>::of(blockIdx.x, gridDim.x);
  check<T>(world, job);
}

template <class T>
__global__ __launch_bounds__(threads) void bitmap_kernel(const Bitmap job) {
  auto world = GpuWorld<4>::of(blockIdx.x, gridDim.x);
  bitmap<T>(world, job);
}

const void* interpreter(std::uint8_t type, std::uint8_t operation) {
  return for_number(type, operation, [](auto number, auto op) {
    return reinterpret_cast<const void*>(&interpret_kernel<decltype(number), decltype(op)>);
  });
}

// Launches by the bytes of an element.
template <class Launch>
int for_size(std::uint32_t size, Launch launch) {
  if (size == 2)
    launch(std::uint16_t());
  else if (size == 4)
    launch(std::uint32_t());
  else
    launch(std::uint64_t());
  return cudaGetLastError();
}

int resident_blocks(std::uint8_t type, std::uint8_t operation, int processors, int& error) {
  // Also loads the kernel, which its first launch would do else: loading may have to wait for kernels that
  // run, and those may spin until this one comes.
  cudaFuncAttributes attributes;
  error = cudaFuncGetAttributes(&attributes, interpreter(type, operation));
  int each = 0;
  if (error == cudaSuccess)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, interpreter(type, operation), threads, 0);
  return error == cudaSuccess ? each * processors : 0;
}

int launch(CUstream_st* stream, const Interpretation& job) {
  void* arguments[] = {const_cast<Interpretation*>(&job)};
  return cudaLaunchCooperativeKernel(interpreter(job.type, job.operation), dim3(job.works * job.blocks),
                                     dim3(threads), arguments, 0, stream);
}

int launch(CUstream_st* stream, const Reduction& job, int blocks) {
  for_number(job.type, job.operation, [&](auto number, auto op) {
    reduce_kernel<decltype(number), decltype(op)><<<blocks, threads, 0, stream>>>(job);
  });
  return cudaGetLastError();
}

int launch(CUstream_st* stream, const Fill& job, int blocks) {
  return for_size(job.size,
                  [&](auto element) { fill_kernel<decltype(element)><<<blocks, threads, 0, stream>>>(job); });
}

int launch(CUstream_st* stream, const Check& job, int blocks) {
  return for_size(
      job.size, [&](auto element) { check_kernel<decltype(element)><<<blocks, threads, 0, stream>>>(job); });
}

int launch(CUstream_st* stream, const Bitmap& job, int blocks) {
  return for_size(size_of_type(job.type), [&](auto element) {
    bitmap_kernel<decltype(element)><<<blocks, threads, 0, stream>>>(job);
  });
}

}  // namespace kernels
}  // namespace ringtrue::transport::cuda
