// The header in front of each message on a data connection. 24 bytes, little endian:
//
//   0  magic     u32   "RTf1"
//   4  sequence  u32   counts the messages of this direction from 0
//   8  length    u64   bytes of payload that follow
//   16 lane      u16
//   18 zero      u16
//   20 checksum  u32   CRC-32C of the 20 bytes before
//
// The payload carries no checksum: whether values arrive intact is what a run checks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "collective/endpoint.h"

namespace ringtrue::transport::tcp {

inline constexpr std::size_t frame_bytes = 24;

struct Frame {
  std::uint32_t sequence = 0;
  std::uint64_t length = 0;
  collective::Lane lane = 0;
  bool operator==(const Frame&) const = default;
};

std::array<std::byte, frame_bytes> encode(const Frame& frame);
// nullopt: these bytes were never written by encode().
std::optional<Frame> decode(std::span<const std::byte, frame_bytes> bytes);

std::uint32_t crc32c(std::span<const std::byte> bytes);

}  // namespace ringtrue::transport::tcp
