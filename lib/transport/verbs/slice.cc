#include "transport/verbs/slice.h"

#include <cstring>

#include "transport/tcp/frame.h"

namespace ringtrue::transport::verbs {

namespace {

std::uint32_t check(const std::byte* head, collective::Lane lane) {
  std::array<std::byte, 14> bytes;
  std::memcpy(&bytes[0], head, 12);
  std::memcpy(&bytes[12], &lane, sizeof lane);
  return tcp::crc32c(bytes);
}

}  // namespace

std::array<std::byte, head_bytes> encode(const Head& head, collective::Lane lane) {
  std::array<std::byte, head_bytes> bytes;
  std::memcpy(&bytes[0], &head.length, 8);
  std::memcpy(&bytes[8], &head.number, 4);
  const std::uint32_t sum = check(bytes.data(), lane);
  std::memcpy(&bytes[12], &sum, 4);
  return bytes;
}

std::optional<Head> decode(std::span<const std::byte, head_bytes> bytes, collective::Lane lane) {
  Head head;
  std::uint32_t sum;
  std::memcpy(&head.length, &bytes[0], 8);
  std::memcpy(&head.number, &bytes[8], 4);
  std::memcpy(&sum, &bytes[12], 4);
  if (sum != check(bytes.data(), lane)) return std::nullopt;
  return head;
}

}  // namespace ringtrue::transport::verbs
