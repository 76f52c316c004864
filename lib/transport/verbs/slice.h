// What a slice's write carries beside payload, and where a slot holds it: pure functions on bytes.
//
//   slot    48 bytes unused, 16-byte head, payload: the payload begins at a cache line, and head and payload
//           of a message's first slice are one write
//   head    0  length  u64   bytes of the message
//           8  number  u32   counts the messages of this direction from 0
//           12 check   u32   CRC-32C of the above and of the lane, u16
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "collective/endpoint.h"

namespace ringtrue::transport::verbs {

inline constexpr std::uint64_t head_bytes = 16, before_payload = 64;
// `slot_bytes`, of payload, is a multiple of 64.
constexpr std::uint64_t slot_stride(std::uint64_t slot_bytes) {
  return before_payload + slot_bytes;
}

struct Head {
  std::uint64_t length = 0;
  std::uint32_t number = 0;
  bool operator==(const Head&) const = default;
};
std::array<std::byte, head_bytes> encode(const Head& head, collective::Lane lane);
// nullopt: never written by encode() for this lane.
std::optional<Head> decode(std::span<const std::byte, head_bytes> bytes, collective::Lane lane);

// `number` counts modulo 2^30: the slice's place among its direction's slices, or how many of them the
// receiver has taken so far.
struct Immediate {
  enum class Kind : std::uint8_t { slice, last, credits };
  Kind kind = Kind::slice;
  std::uint32_t number = 0;
};
inline constexpr std::uint32_t number_mask = (1u << 30) - 1;
constexpr std::uint32_t encode(Immediate immediate) {
  return std::uint32_t(immediate.kind) << 30 | (immediate.number & number_mask);
}
constexpr std::optional<Immediate> decode(std::uint32_t immediate) {
  if (immediate >> 30 > std::uint32_t(Immediate::Kind::credits)) return std::nullopt;
  return Immediate{Immediate::Kind(immediate >> 30), immediate & number_mask};
}

}  // namespace ringtrue::transport::verbs
