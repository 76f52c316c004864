#include "collective/omnireduce/header.h"

#include <cstring>

namespace ringtrue::collective {

namespace {

// What stands before the rows.
struct Start {
  std::uint8_t kind, zero;
  std::uint16_t stream;
  std::uint32_t round;
  std::uint64_t mask;
};
static_assert(sizeof(Start) == omni_header_bytes(0) && std::endian::native == std::endian::little);

}  // namespace

std::size_t encode(const OmniHeader& header, HeaderBytes into) {
  const Start start{std::uint8_t(header.kind), 0, header.stream, header.round, header.mask};
  std::memcpy(into.data(), &start, sizeof start);
  std::size_t length = sizeof start;
  for_each_column(header.mask, [&](std::uint32_t column) {
    std::memcpy(&into[length], &header.row[column], sizeof header.row[column]);
    length += sizeof header.row[column];
  });
  return length;
}

std::optional<OmniHeader> decode(std::span<const std::byte> bytes) {
  Start start;
  if (bytes.size() < sizeof start) return std::nullopt;
  std::memcpy(&start, bytes.data(), sizeof start);
  const bool known = start.kind == std::uint8_t(OmniHeader::Kind::blocks) ||
                     start.kind == std::uint8_t(OmniHeader::Kind::result);
  if (!known || start.zero != 0 ||
      bytes.size() != omni_header_bytes(std::uint32_t(std::popcount(start.mask))))
    return std::nullopt;
  std::optional<OmniHeader> header(std::in_place);
  header->kind = OmniHeader::Kind(start.kind);
  header->stream = start.stream;
  header->round = start.round;
  header->mask = start.mask;
  const std::byte* at = bytes.data() + sizeof start;
  for_each_column(header->mask, [&](std::uint32_t column) {
    std::memcpy(&header->row[column], at, sizeof header->row[column]);
    at += sizeof header->row[column];
  });
  return header;
}

}  // namespace ringtrue::collective
