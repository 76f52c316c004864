// "1 node", "2 nodes", "2 switches".
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <string>
#include <string_view>

namespace ringtrue {

// Of more than one, or none: `many`, or `one` with an s.
template <std::integral Count>
std::string plural(Count count, std::string_view one, std::string_view many = {}) {
  if (count == 1) return fmt::format("{} {}", count, one);
  return many.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, many);
}

}  // namespace ringtrue
