// What a GPU, or a way to it, carried when it was measured by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/keys.h"
#include "base/units.h"

namespace ringtrue::run {

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
inline constexpr const char* keys_of<run::GpuLimit::Kind>[] = {
    "host-to-device", "device-to-host", "host-both-ways", "device-copy",
    "peer-copy",      "peer-read",      "peer-write",     "peer-both-ways"};
template <>
inline constexpr const char* keys_of<run::GpuLimit::Host>[] = {"", "pinned", "pageable"};

}  // namespace ringtrue
