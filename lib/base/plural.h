// "1 node", "2 nodes", "2 switches"; "a, b, c and 5 more".
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ringtrue {

// Of more than one, or none: `many`, or `one` with an s.
template <std::integral Count>
std::string plural(Count count, std::string_view one, std::string_view many = {}) {
  if (count == 1) return fmt::format("{} {}", count, one);
  return many.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, many);
}

inline std::string listed(const std::vector<std::string>& names, std::size_t max = 8) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < max; ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() <= max ? text : fmt::format("{} and {} more", text, names.size() - max);
}

}  // namespace ringtrue
