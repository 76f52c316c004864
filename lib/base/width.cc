#include "base/width.h"

#include <algorithm>
#include <span>

#include "base/width_ranges.h"

namespace ringtrue {
namespace {

bool within(std::span<const CodeRange> ranges, std::uint32_t code) {
  const auto next = std::upper_bound(ranges.begin(), ranges.end(), code,
                                     [](std::uint32_t c, const CodeRange& r) { return c < r.low; });
  return next != ranges.begin() && code <= std::prev(next)->high;
}

}  // namespace

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return std::uint32_t(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const Character invalid{lead, 1, false};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return invalid;
  std::uint32_t code = lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return invalid;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return invalid;
  return {code, bytes, true};
}

int columns_of(std::uint32_t code, Ambiguous ambiguous) {
  if (code < 0x20 || code == 0x7f) return 0;
  if (code < 0x7f) return 1;
  if (code < 0xa0) return 0;
  if (within(ranges_without_width(), code)) return 0;
  if (within(wide_ranges(), code)) return 2;
  return ambiguous == Ambiguous::wide && within(ambiguous_ranges(), code) ? 2 : 1;
}

std::size_t columns_of(std::string_view text, Ambiguous ambiguous) {
  std::size_t columns = 0;
  while (!text.empty()) {
    if (text[0] == '\x1b') {
      text.remove_prefix(std::min(text.find('m'), text.size() - 1) + 1);
      continue;
    }
    const Character c = first_character(text);
    columns += c.valid ? std::size_t(columns_of(c.code, ambiguous)) : 1;
    text.remove_prefix(c.bytes);
  }
  return columns;
}

}  // namespace ringtrue
