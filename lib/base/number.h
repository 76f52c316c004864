// A whole text as a number.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace ringtrue {

// nullopt for anything else: empty, white space, a '+', digits left over, out of T's range.
template <class T, class... Form>
std::optional<T> parse_number(std::string_view text, Form... form) {  // base, or std::chars_format
  T value{};
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, form...);
  return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

}  // namespace ringtrue
