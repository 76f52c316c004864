// Tables of widths, for width.cc.
#pragma once

#include <cstdint>
#include <span>

namespace ringtrue {

struct CodeRange {
  std::uint32_t low, high;  // inclusive
};

// Each in order.
std::span<const CodeRange> ranges_without_width();
std::span<const CodeRange> wide_ranges();
std::span<const CodeRange> ambiguous_ranges();

}  // namespace ringtrue
