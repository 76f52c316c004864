#include "base/text.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ringtrue {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: no UTF-8
};

// RFC 3629: the shortest form only, no surrogates.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return std::uint32_t(static_cast<unsigned char>(text[i])); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, bytes};
}

// Unicode's categories Cc, Cf, Zl and Zp as far as terminals act upon them.
bool hidden(std::uint32_t code) {
  constexpr std::pair<std::uint32_t, std::uint32_t> ranges[] = {
      {0x80, 0x9f},       // C1: CSI, OSC and others in one character
      {0xad, 0xad},       // soft hyphen
      {0x61c, 0x61c},     // Arabic letter mark
      {0x180e, 0x180e},   // Mongolian vowel separator
      {0x200b, 0x200f},   // without width; marks of direction
      {0x2028, 0x202e},   // separators, embeddings and overrides of direction
      {0x2060, 0x206f},   // without width, isolates of direction
      {0xfeff, 0xfeff},   // byte order mark
      {0xfff9, 0xfffb},   // interlinear annotation
      {0xe0000, 0xe007f}  // tags
  };
  return std::ranges::any_of(ranges, [&](const auto& r) { return code >= r.first && code <= r.second; });
}

}  // namespace

std::string one_line(std::string_view text, std::size_t max) {
  std::string line(text.substr(0, max));
  for (char& c : line) {
    const auto u = static_cast<unsigned char>(c);
    if (u < ' ' || u == 0x7f) c = ' ';
    if (u > 0x7f) c = '?';
  }
  return line;
}

std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_of(text);
    if (c.bytes == 0 || hidden(c.code))
      out += '?';
    else if (c.code < ' ' || c.code == 0x7f)
      out += ' ';
    else
      out += text.substr(0, c.bytes);
    text.remove_prefix(std::max<std::size_t>(c.bytes, 1));
  }
  return out;
}

}  // namespace ringtrue
