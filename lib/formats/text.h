// Small readers of text that may come from anybody.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ringtrue::formats {

std::string_view trim(std::string_view text);
// Between separators, empty parts included.
std::vector<std::string_view> split(std::string_view text, char separator);
std::string lower(std::string_view text);

// Fit to be shown: without control characters, at most 256 bytes, no white space at the ends.
std::string clean(std::string_view text);
bool is_utf8(std::string_view text);
// UTF-8 without NUL, by its first byte that is not: "line 3: not UTF-8".
Result<void> check_text(std::string_view text);

// The whole text as a number; nullopt for anything else. Hexadecimal with or without "0x".
std::optional<std::uint64_t> decimal(std::string_view text);
std::optional<std::uint64_t> hexadecimal(std::string_view text);
std::optional<double> real(std::string_view text);  // finite, not negative
std::string hex64(std::uint64_t value);             // 16 digits
// "506b:4b03:00c1:9c16", with or without colons, as 16 digits; nullopt for one that is not set.
std::optional<std::string> guid(std::string text);

// "3B:0.0", "0000:3b:00.0", "10000:01:00.0" -> "0000:3b:00.0". nullopt: none.
std::optional<std::string> pci_address(std::string_view text);
// The order of domains, buses, devices: a domain of five digits comes after one of four.
bool pci_before(const std::string& a, const std::string& b);

// A set of numbers below 65,536 as ranges, ascending: what masks of processors and nodes mean.
struct Numbers {
  std::vector<std::pair<int, int>> ranges;  // first and last
  int count() const;
  bool contains(const Numbers& other) const;
  std::string text() const;  // "0-15,32-47"
};
// hwloc's "0x00000303,,0x03" and NCCL's "00000000,000fffff": 32 bits a word, the last word lowest.
std::optional<Numbers> mask(std::string_view text);
std::optional<Numbers> number_list(std::string_view text);  // "0-15,32-47"

}  // namespace ringtrue::formats
