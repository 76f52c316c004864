// What a GPU, or a way to it, carried when it was measured by itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace ringtrue::run {

// How the reason of a last entry begins that stands for all that was not measured any more.
inline constexpr std::string_view left_out = "left out, since";

struct GpuLimit {
  struct End {
    int index = -1;         // as CUDA counts them on its node; -1: there is none
    std::string uuid, pci;  // "GPU-8d1c...", "0000:1b:00.0"
    bool operator==(const End&) const = default;
  };
  std::string node;
  // "host-to-device", "device-to-host", "host-both-ways", "device-copy", "peer-copy", "peer-both-ways" (by
  // copy engines), "peer-read", "peer-write" (by a kernel on `gpu`). Of both ways, and of a device's own
  // copy, the rate is that of all bytes that are read or written.
  std::string kind;
  End gpu, peer;
  std::string host;                    // "pinned" or "pageable"; empty: the host's memory is not concerned
  int numa = -1;                       // that it was on; -1: wherever it came
  std::optional<BytesPerSecond> rate;  // of the median of several runs; nullopt: could not be measured
  std::optional<Seconds> latency;      // of one of a row of copies of 8 bytes
  // Why there is no rate; of "peer-both-ways" with one: why the way back goes through the host.
  std::string why_not;
  bool operator==(const GpuLimit&) const = default;
};

}  // namespace ringtrue::run
