#include "wire/checks.h"

namespace ringtrue::wire::checks {

std::string one_line(std::string_view text, std::size_t longest) {
  std::string line(text.substr(0, longest));
  for (char& c : line) {
    const auto u = static_cast<unsigned char>(c);
    // proto3 strings are UTF-8, which a cut may break: a text of ours is ASCII, so the rest becomes '?'.
    if (u < ' ' || u == 0x7f) c = ' ';
    if (u > 0x7f) c = '?';
  }
  return line;
}

Result<void> port_range(std::uint32_t low, std::uint32_t high) {
  if (low > 65'535 || high > 65'535 || low > high || (low == 0 && high != 0))
    return bad("the port range " + std::to_string(low) + "-" + std::to_string(high));
  return {};
}

}  // namespace ringtrue::wire::checks
