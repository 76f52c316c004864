// What the processes of a node tell each other before their ranks can reach each other's GPU memory. Who
// connects them carries the bytes; pure functions on bytes, so that they can be tested and fuzzed without
// GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/cuda/driver.h"

namespace ringtrue::transport::cuda {

struct Offer {
  struct Member {
    std::uint32_t rank = 0;
    std::string gpu = {};      // its UUID
    std::string why_not = {};  // not empty: its memory cannot be shared, and there is no handle
    IpcHandle handle{};        // of the rank's memory
    std::uint64_t data_bytes = 0, scratch_bytes = 0;  // its layout, see Region in transport.h

    bool operator==(const Member&) const = default;
  };
  std::uint32_t process = 0;
  std::string machine;  // boot id: handles mean something on one machine only
  std::vector<Member> members;

  bool operator==(const Offer&) const = default;
};

inline constexpr std::size_t max_offer = 64 * 1024;
std::vector<std::byte> encode(const Offer& offer);
// nullopt: not what encode() makes.
std::optional<Offer> decode(std::span<const std::byte> bytes);

}  // namespace ringtrue::transport::cuda
