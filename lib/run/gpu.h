// GPUs in the record of a run: how one was used, and what one, or a way to it, carried when it was measured
// by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/keys.h"
#include "base/units.h"
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

// How the reason of a last entry begins that stands for all that was not measured any more.
inline constexpr std::string_view left_out = "left out, since";

struct GpuLimit {
  enum class Kind : std::uint8_t {
    to_device,    // host memory -> GPU
    to_host,      // GPU -> host memory
    host_both,    // the two at once; the rate is their sum
    device_copy,  // inside the GPU; bytes read and bytes written both count
    peer_copy,    // peer -> GPU by the GPU's copy engine; without peer access through the host, as the driver
                  // does it
    peer_read,    // a kernel on the GPU reads the peer's memory
    peer_write,   // a kernel on the GPU writes the peer's memory
    peer_both,    // peer_copy in both directions at once; the rate is their sum
  };
  enum class Host : std::uint8_t { none, pinned, pageable };  // memory; none: it is not concerned
  struct End {
    int index = -1;         // as CUDA counts them on its node; -1: there is none
    std::string uuid, pci;  // "GPU-8d1c...", "0000:1b:00.0"
    bool operator==(const End&) const = default;
  };
  std::string node;
  Kind kind = Kind::to_device;
  End gpu, peer;
  Host host = Host::none;
  int numa = -1;                       // that it was on; -1: wherever it came
  std::optional<BytesPerSecond> rate;  // of the median of several runs; nullopt: could not be measured
  std::optional<Seconds> latency;      // of one of a row of copies of 8 bytes
  // Why there is no rate; of peer_both with one: why the way back goes through the host.
  std::string why_not;
  bool operator==(const GpuLimit&) const = default;
};

}  // namespace ringtrue::run

namespace ringtrue {

template <>
inline constexpr const char* keys_of<run::GpuPlay>[] = {"auto", "kernel", "copy-engines", "mirror", "direct"};
template <>
inline constexpr const char* keys_of<run::GpuWay>[] = {"ipc", "peer", "same-gpu", "staged"};
template <>
inline constexpr const char* keys_of<run::GpuLimit::Kind>[] = {
    "host-to-device", "device-to-host", "host-both-ways", "device-copy",
    "peer-copy",      "peer-read",      "peer-write",     "peer-both-ways"};
template <>
inline constexpr const char* keys_of<run::GpuLimit::Host>[] = {"", "pinned", "pageable"};

}  // namespace ringtrue
