// Checks of values that come from outside, shared by the files that convert. For lib/wire only.
#pragma once

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ringtrue::wire::checks {

inline tl::unexpected<Error> bad(std::string what) {
  return fail(Cause::bad_input, "a message holds " + std::move(what));
}

inline bool in_range(std::int64_t value, std::int64_t low, std::int64_t high) {
  return low <= value && value <= high;
}

// Letters, digits and marks of ASCII: names and addresses, never blanks or control characters.
inline bool printable(std::string_view text) {
  for (unsigned char c : text) {
    if (c <= ' ' || c >= 0x7f) return false;
  }
  return true;
}

// Finite and not negative: every time and rate that we exchange.
inline bool measure(double value) {
  return std::isfinite(value) && value >= 0;
}

// At most `longest` bytes, control characters as blanks: a text of a peer's making for a log or a terminal.
std::string one_line(std::string_view text, std::size_t longest);

Result<void> port_range(std::uint32_t low, std::uint32_t high);

// At least one name, none twice, each 1 to 255 printable characters.
template <class Names>
Result<std::vector<std::string>> node_names(const Names& names) {
  if (!in_range(names.size(), 1, 65'536)) return bad(std::to_string(names.size()) + " node names");
  std::vector<std::string> checked;
  std::set<std::string_view> seen;
  checked.reserve(std::size_t(names.size()));
  for (const std::string& name : names) {
    if (name.empty() || name.size() > 255 || !printable(name)) return bad("invalid node name");
    if (!seen.insert(name).second) return bad("the node '" + name + "' twice");
    checked.push_back(name);
  }
  return checked;
}

}  // namespace ringtrue::wire::checks
