#include "collective/omnireduce/header.h"

namespace ringtrue::collective {

namespace {

template <class T>
void put(std::byte* at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) at[i] = std::byte(value >> (8 * i));
}
template <class T>
T get(const std::byte* at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = T(value | T(at[i]) << (8 * i));
  return value;
}

}  // namespace

std::size_t encode(const OmniHeader& header, HeaderBytes into) {
  std::byte* at = into.data();
  put(at, std::uint8_t(header.kind));
  put(at + 1, std::uint8_t(0));
  put(at + 2, header.stream);
  put(at + 4, header.round);
  put(at + 8, header.mask);
  std::size_t length = 16;
  for_each_column(header.mask, [&](std::uint32_t column) {
    put(at + length, header.row[column]);
    length += 4;
  });
  return length;
}

std::optional<OmniHeader> decode(std::span<const std::byte> bytes) {
  if (bytes.size() < 16) return std::nullopt;
  const std::byte* at = bytes.data();
  const auto kind = get<std::uint8_t>(at);
  if ((kind != std::uint8_t(OmniHeader::Kind::blocks) && kind != std::uint8_t(OmniHeader::Kind::result)) ||
      at[1] != std::byte{0}) {
    return std::nullopt;
  }
  std::optional<OmniHeader> header(std::in_place);
  header->kind = OmniHeader::Kind(kind);
  header->stream = get<std::uint16_t>(at + 2);
  header->round = get<std::uint32_t>(at + 4);
  header->mask = get<std::uint64_t>(at + 8);
  if (bytes.size() != omni_header_bytes(std::uint32_t(std::popcount(header->mask)))) return std::nullopt;
  at += 16;
  for_each_column(header->mask, [&](std::uint32_t column) {
    header->row[column] = get<std::uint32_t>(at);
    at += 4;
  });
  return header;
}

}  // namespace ringtrue::collective
