#include "transport/verbs/slice.h"

#include "transport/fields.h"
#include "transport/tcp/frame.h"

namespace ringtrue::transport::verbs {

namespace {

struct HeadBytes {
  std::uint64_t length;
  std::uint32_t number;
  std::uint32_t check;
};
static_assert(sizeof(HeadBytes) == head_bytes);

// What is checked: the head's other fields, and the lane.
std::uint32_t check_of(const Head& head, collective::Lane lane) {
  std::array<std::byte, 14> bytes;
  std::memcpy(&bytes[0], &head.length, 8);
  std::memcpy(&bytes[8], &head.number, 4);
  std::memcpy(&bytes[12], &lane, sizeof lane);
  return tcp::crc32c(bytes);
}

}  // namespace

std::array<std::byte, head_bytes> encode(const Head& head, collective::Lane lane) {
  return to_bytes(HeadBytes{head.length, head.number, check_of(head, lane)});
}

std::optional<Head> decode(std::span<const std::byte, head_bytes> bytes, collective::Lane lane) {
  const auto got = from_bytes<HeadBytes>(bytes);
  const Head head{got.length, got.number};
  return got.check == check_of(head, lane) ? std::optional(head) : std::nullopt;
}

}  // namespace ringtrue::transport::verbs
