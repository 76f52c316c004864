// A GPU of a run on device memory, and how it was used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/keys.h"
#include "collective/types.h"

namespace ringtrue::run {

// How calls are played.
enum class GpuPlay : std::uint8_t {
  automatic,     // as is asked: kernel where every pair allows it
  kernel,        // one kernel a GPU that reads peers' memory and signals through flags
  copy_engines,  // driven by the host: copies by copy engines (staged ones in two hops), one kernel a
                 // reduction
  mirror,        // by the host's transports, on pinned memory
  direct,        // by the host's RDMA in the GPU's own memory
};

// From one rank's memory to another's.
enum class GpuWay : std::uint8_t {
  ipc,       // another process's memory, opened by CUDA IPC, with peer access where it is another GPU's
  peer,      // one process, peer access over NVLink or PCIe
  same_gpu,  // both ranks' memory is on one GPU, in one process
  staged,    // through pinned host memory
};

struct GpuUse {
  std::string node;
  int index = 0;
  std::string name, uuid;               // "NVIDIA H100 80GB HBM3", "GPU-8d1c..."
  std::vector<collective::Rank> ranks;  // on it
  GpuPlay play = GpuPlay::kernel;
  std::vector<GpuWay> ways;  // to other ranks
  bool operator==(const GpuUse&) const = default;
};

}  // namespace ringtrue::run

namespace ringtrue {

template <>
inline constexpr const char* keys_of<run::GpuPlay>[] = {"auto", "kernel", "copy-engines", "mirror", "direct"};
template <>
inline constexpr const char* keys_of<run::GpuWay>[] = {"ipc", "peer", "same-gpu", "staged"};

}  // namespace ringtrue
