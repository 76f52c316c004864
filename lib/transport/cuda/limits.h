// What a node's GPUs and the ways to them carry, each measured by itself: host to device and back, device
// copies, peers. Times are the GPUs' own; a rate is that of the median of several runs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/units.h"
#include "transport/cuda/driver.h"

namespace ringtrue::transport::cuda {

struct Limit {
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
  Kind kind = Kind::to_device;
  int gpu = 0;
  int peer = -1;                         // of peer_*
  MemoryKind host = MemoryKind::pinned;  // of to_device, to_host
  int numa = -1;                         // the host memory's NUMA node; -1: wherever it was
  std::optional<BytesPerSecond> rate;    // nullopt: could not be measured
  std::optional<Seconds> latency;  // of one of a row of copies of 8 bytes; of to_device, to_host, peer_copy
  std::string why_not = {};  // why there is no rate; of peer_both with one: why the way back is no direct one
};
std::string_view name(Limit::Kind kind);  // "host-to-device", "peer-read"...

struct LimitSettings {
  std::uint64_t bytes = 256 << 20;  // of a copy; a GPU needs twice as much, the host as much
  int repeats = 5;
  std::vector<int> gpus;  // empty: all
  // Host memory is tried on each of them; empty, or where none of them gives any: wherever it comes.
  std::vector<int> numa_nodes;
  std::function<bool()> stop = {};  // asked now and then: true ends it as the deadline does
};

// GPU by GPU, then pair by pair. What cannot be measured is in the list with the reason; where the deadline
// or `stop` came first, one last entry says how much was left out. Errors: no GPU, a GPU that is lost, one
// that does not end what it was told even two seconds after the deadline (what was measured with, on all
// GPUs, is kept until the process ends).
Result<std::vector<Limit>> measure_limits(Driver& driver, const LimitSettings& settings, Deadline deadline);

}  // namespace ringtrue::transport::cuda
