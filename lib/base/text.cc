#include "base/text.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/width.h"

namespace ringtrue {
namespace {

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
    const Character c = first_character(text);
    if (!c.valid || hidden(c.code))
      out += '?';
    else if (c.code < ' ' || c.code == 0x7f)
      out += ' ';
    else
      out += text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace ringtrue
