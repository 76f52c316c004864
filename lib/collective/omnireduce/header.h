// The header of a packet between workers and aggregators. Little endian:
//
//   u8 kind | u8 0 | u16 stream | u32 round | u64 mask | u32 row for each bit of the mask, rising
//
// Bit c of the mask is column c of the stream. A worker's packet holds the blocks of the mask's columns, and
// the row of its next non-zero block in each; an empty mask is an answer without blocks. A result holds the
// blocks of the round's columns, and the row that is wanted next in each.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "collective/omnireduce/omnireduce.h"

namespace ringtrue::collective {

inline constexpr std::uint32_t no_row = 0xffffffff;  // infinity: no further block in this column

// What packets of all forms begin with.
struct PacketStart {
  std::uint16_t stream = 0;
  std::uint32_t round = 0;  // from 0
};

struct OmniHeader {
  enum class Kind : std::uint8_t { blocks = 1, result = 2 };

  Kind kind = Kind::blocks;
  std::uint16_t stream = 0;
  std::uint32_t round = 0;  // from 0
  std::uint64_t mask = 0;
  std::uint32_t row[max_fusion];  // by column; only those of the mask mean anything
};

constexpr std::uint64_t omni_header_bytes(std::uint32_t columns) {
  return 16 + 4 * std::uint64_t(columns);
}
inline constexpr std::size_t max_block_header_bytes = omni_header_bytes(max_fusion);
static_assert(max_block_header_bytes <= max_header_bytes);

using HeaderBytes = std::span<std::byte, max_block_header_bytes>;

// Returns the header's length.
std::size_t encode(const OmniHeader& header, HeaderBytes into);

// Nothing where the bytes are no header: another kind, a length that does not fit the mask. Whether stream,
// round and rows make sense is for the receiver to say.
std::optional<OmniHeader> decode(std::span<const std::byte> bytes);

constexpr std::uint64_t column_bit(std::uint32_t column) {
  return std::uint64_t(1) << column;
}
constexpr std::uint64_t all_columns(std::uint32_t count) {
  return count >= 64 ? ~std::uint64_t(0) : column_bit(count) - 1;
}

// Calls visit(column) for each column of the mask, rising.
template <class F>
void for_each_column(std::uint64_t mask, F visit) {
  for (; mask != 0; mask &= mask - 1) visit(std::uint32_t(std::countr_zero(mask)));
}

// Neighbouring columns of the mask whose blocks lie in one row are neighbours in the data and make one part.
// Calls visit(first column, count); row_of(column) is the row of its block.
template <class Row, class F>
void for_each_run(std::uint64_t mask, Row row_of, F visit) {
  while (mask != 0) {
    const auto first = std::uint32_t(std::countr_zero(mask));
    std::uint32_t end = first + 1;
    while (end < max_fusion && (mask >> end & 1) && row_of(end) == row_of(first)) ++end;
    visit(first, end - first);
    mask &= ~all_columns(end);
  }
}

}  // namespace ringtrue::collective
