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

// "5%" or "0.05", from 0 to `max`; nullopt for anything else.
inline std::optional<double> parse_share(std::string_view text, double max) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  auto share = parse_number<double>(text, std::chars_format::fixed);
  if (share && percent) *share /= 100;
  return share && *share >= 0 && *share <= max ? share : std::nullopt;
}

}  // namespace ringtrue
