#include "transport/tcp/frame.h"

#include <bit>
#include <cstring>

namespace ringtrue::transport::tcp {

static_assert(std::endian::native == std::endian::little, "frames are written as they lie in memory");

namespace {

constexpr std::uint32_t magic = 0x31665452;  // "RTf1"

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = c & 1 ? (c >> 1) ^ 0x82f63b78u : c >> 1;
    table[i] = c;
  }
  return table;
}
constexpr auto table = make_table();

template <class T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}
template <class T>
T get(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
  std::uint32_t c = ~0u;
  for (const std::byte b : bytes) c = table[(c ^ std::uint32_t(b)) & 0xff] ^ (c >> 8);
  return ~c;
}

std::array<std::byte, frame_bytes> encode(const Frame& frame) {
  std::array<std::byte, frame_bytes> bytes{};
  put(&bytes[0], magic);
  put(&bytes[4], frame.sequence);
  put(&bytes[8], frame.length);
  put(&bytes[16], frame.lane);
  put(&bytes[20], crc32c(std::span(bytes).first(20)));
  return bytes;
}

std::optional<Frame> decode(std::span<const std::byte, frame_bytes> bytes) {
  if (get<std::uint32_t>(&bytes[0]) != magic || get<std::uint16_t>(&bytes[18]) != 0 ||
      get<std::uint32_t>(&bytes[20]) != crc32c(bytes.first(20)))
    return std::nullopt;
  return Frame{get<std::uint32_t>(&bytes[4]), get<std::uint64_t>(&bytes[8]), get<std::uint16_t>(&bytes[16])};
}

}  // namespace ringtrue::transport::tcp
