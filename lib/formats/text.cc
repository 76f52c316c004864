#include "formats/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number.h"
#include "base/text.h"
#include "base/width.h"

namespace ringtrue::formats {
namespace {

constexpr int max_numbers = 65536;
constexpr std::string_view white = " \t\r\n\f\v";

void add(Numbers& numbers, int first, int last) {
  if (!numbers.ranges.empty() && numbers.ranges.back().second + 1 == first)
    numbers.ranges.back().second = last;
  else
    numbers.ranges.emplace_back(first, last);
}

}  // namespace

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(white);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(separator, at);
    parts.push_back(text.substr(at, end - at));
    if (end == std::string_view::npos) return parts;
    at = end + 1;
  }
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::string clean(std::string_view text) {
  constexpr std::size_t max_size = 256;
  std::string result;
  for (std::size_t at = 0; at < text.size() && result.size() < max_size;) {
    const Character c = first_character(text.substr(at));
    if (c.valid && c.code >= 0x20 && c.code != 0x7f)
      result += text.substr(at, c.bytes);
    else if (c.valid)
      result += ' ';
    at += c.bytes;
  }
  return std::string(trim(visible(result)));
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character c = first_character(text.substr(at));
    if (!c.valid) return false;
    at += c.bytes;
  }
  return true;
}

Result<void> check_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character c = first_character(text.substr(at));
    if (!c.valid || c.code == 0)
      return fail(Cause::bad_input,
                  fmt::format("line {}: {}", 1 + std::count(text.begin(), text.begin() + at, '\n'),
                              !c.valid ? "not UTF-8" : "a NUL byte"));
    at += c.bytes;
  }
  return {};
}

std::optional<std::uint64_t> decimal(std::string_view text) {
  return parse_number<std::uint64_t>(text);
}

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return parse_number<std::uint64_t>(text, 16);
}

std::optional<double> real(std::string_view text) {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

std::string hex64(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

std::optional<std::string> guid(std::string text) {
  std::erase(text, ':');
  const auto value = hexadecimal(text);
  return text.size() == 16 && value && *value != 0 ? std::optional(hex64(*value)) : std::nullopt;
}

std::optional<std::string> pci_address(std::string_view text) {
  std::vector<std::string_view> parts = split(trim(text), ':');
  if (parts.size() == 2) parts.insert(parts.begin(), "0000");
  if (parts.size() != 3) return std::nullopt;
  const std::size_t dot = parts[2].find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view digits[] = {parts[0], parts[1], parts[2].substr(0, dot), parts[2].substr(dot + 1)};
  constexpr std::size_t max_digits[] = {8, 2, 2, 1};
  std::uint32_t values[4];
  for (int i = 0; i < 4; ++i) {
    const auto value = parse_number<std::uint32_t>(digits[i], 16);
    if (!value || digits[i].size() > max_digits[i]) return std::nullopt;
    values[i] = *value;
  }
  if (values[2] > 0x1f || values[3] > 7) return std::nullopt;
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", values[0], values[1], values[2], values[3]);
}

bool pci_before(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

int Numbers::count() const {
  int sum = 0;
  for (const auto& [first, last] : ranges) sum += last - first + 1;
  return sum;
}

bool Numbers::contains(const Numbers& other) const {
  return std::all_of(other.ranges.begin(), other.ranges.end(), [&](const auto& theirs) {
    return std::any_of(ranges.begin(), ranges.end(), [&](const auto& ours) {
      return ours.first <= theirs.first && theirs.second <= ours.second;
    });
  });
}

std::string Numbers::text() const {
  std::string result;
  for (const auto& [first, last] : ranges)
    result += fmt::format("{}{}", result.empty() ? "" : ",", first) +
              (last > first ? fmt::format("-{}", last) : "");
  return result;
}

std::optional<Numbers> mask(std::string_view text) {
  std::vector<std::string_view> words = split(trim(text), ',');
  if (words.size() > max_numbers / 32) return std::nullopt;
  Numbers numbers;
  int bit = 0;
  for (auto word = words.rbegin(); word != words.rend(); ++word, bit += 32) {
    // hwloc leaves words of zeros out, and begins a mask without an end by "0xf...f".
    if (word->empty()) continue;
    if (*word == "0xf...f") break;
    const auto value = hexadecimal(*word);
    if (!value || *value > 0xffffffff) return std::nullopt;
    for (int i = 0; i < 32; ++i)
      if (*value >> i & 1) add(numbers, bit + i, bit + i);
  }
  return numbers;
}

std::optional<Numbers> number_list(std::string_view text) {
  Numbers numbers;
  if (trim(text).empty()) return numbers;
  for (const std::string_view part : split(trim(text), ',')) {
    const std::size_t dash = part.find('-');
    const auto first = decimal(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : decimal(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= max_numbers) return std::nullopt;
    if (!numbers.ranges.empty() && static_cast<int>(*first) <= numbers.ranges.back().second)
      return std::nullopt;
    add(numbers, static_cast<int>(*first), static_cast<int>(*last));
  }
  return numbers;
}

}  // namespace ringtrue::formats
