#include "transport/tcp/frame.h"

#include "transport/fields.h"

namespace ringtrue::transport::tcp {

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

struct Header {
  std::uint32_t magic;
  std::uint32_t sequence;
  std::uint64_t length;
  std::uint16_t lane;
  std::uint16_t zero;
  std::uint32_t checksum;
};
static_assert(sizeof(Header) == frame_bytes);

std::uint32_t checksum(std::span<const std::byte, frame_bytes> header) {
  return crc32c(header.first<offsetof(Header, checksum)>());
}

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
  std::uint32_t c = ~0u;
  for (const std::byte b : bytes) c = table[(c ^ std::uint32_t(b)) & 0xff] ^ (c >> 8);
  return ~c;
}

std::array<std::byte, frame_bytes> encode(const Frame& frame) {
  Header header{magic, frame.sequence, frame.length, frame.lane, 0, 0};
  header.checksum = checksum(to_bytes(header));
  return to_bytes(header);
}

std::optional<Frame> decode(std::span<const std::byte, frame_bytes> bytes) {
  const auto header = from_bytes<Header>(bytes);
  if (header.magic != magic || header.zero != 0 || header.checksum != checksum(bytes)) return std::nullopt;
  return Frame{header.sequence, header.length, header.lane};
}

}  // namespace ringtrue::transport::tcp
