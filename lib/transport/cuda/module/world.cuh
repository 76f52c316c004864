// The world of kernels on a GPU (interpret.h).
#pragma once

#include "transport/cuda/interpret.h"

namespace ringtrue::transport::cuda {

template <int Packs>
struct GpuWorld {
  static constexpr int packs = Packs;  // more would cost registers, and with them blocks
  std::uint32_t thread, threads, block, blocks, lane, lanes;
  const std::byte** sources;  // in shared memory; nullptr where nothing is interpreted
  bool system;                // whether other GPUs are to see what is published

  __device__ static GpuWorld of(std::uint32_t block, std::uint32_t blocks,
                                const std::byte** sources = nullptr, bool system = true) {
    return {threadIdx.x, blockDim.x, block, blocks, threadIdx.x % 32, 32, sources, system};
  }

  __device__ bool any_lane(bool value) const { return __any_sync(0xffffffffu, value); }
  __device__ bool any(bool value) const { return __syncthreads_or(value); }
  __device__ void sync() const { __syncthreads(); }

  // Cached in L2 alone: what another GPU or another multiprocessor wrote is seen.
  __device__ static Pack load(const std::byte* from) {
    return bits_as<Pack>(__ldcg(reinterpret_cast<const uint4*>(from)));
  }
  __device__ static void store(std::byte* into, Pack pack) {
    *reinterpret_cast<uint4*>(into) = bits_as<uint4>(pack);
  }

  __device__ static void add(std::uint64_t* at, std::uint64_t n) {
    atomicAdd(reinterpret_cast<unsigned long long*>(at), n);
  }
  __device__ static void minimum(std::uint64_t* at, std::uint64_t n) {
    atomicMin(reinterpret_cast<unsigned long long*>(at), n);
  }

  // A rank's blocks are on one GPU.
  __device__ static std::uint32_t arrive(std::uint32_t* at) {
    std::uint32_t before;
    asm volatile("atom.acq_rel.gpu.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(at) : "memory");
    return before;
  }
  __device__ void publish() const {
    if (system)
      asm volatile("fence.acq_rel.sys;" ::: "memory");
    else
      asm volatile("fence.acq_rel.gpu;" ::: "memory");
  }
  __device__ static void signal(std::uint64_t* at, std::uint64_t n) {
    asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(at), "l"(n) : "memory");
  }
  __device__ static void store_release(std::uint64_t* at, std::uint64_t n) {
    asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(at), "l"(n) : "memory");
  }
  __device__ std::uint64_t load_acquire(const std::uint64_t* at) const {
    std::uint64_t n;
    if (system)
      asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(n) : "l"(at) : "memory");
    else
      asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(n) : "l"(at) : "memory");
    return n;
  }
  __device__ static std::uint32_t load_relaxed(const std::uint32_t* at) {
    std::uint32_t n;
    asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(n) : "l"(at) : "memory");
    return n;
  }
  // Short waits are polled; long ones leave the memory to others.
  __device__ static void pause(std::uint32_t spins) {
    if (spins > 32) __nanosleep(spins > 1024 ? 500 : 40);
  }
};

}  // namespace ringtrue::transport::cuda
