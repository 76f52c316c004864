// Strong types for the three quantities that this program must never mix up, and their text forms.
//
// Sizes are binary as in nccl-tests ("64M" is 64 * 2^20 bytes); rates are decimal ("500Mbit" is
// 62.5e6 bytes per second, "12.5GB/s" is 12.5e9). Seconds are double seconds.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ringtrue {

template <class Tag, class Rep>
struct Quantity {
  Rep value{};

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep v) : value(v) {}
  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity o) const { return Quantity(value + o.value); }
  constexpr Quantity operator-(Quantity o) const { return Quantity(value - o.value); }
  constexpr Quantity operator*(Rep k) const { return Quantity(value * k); }
  constexpr Quantity operator/(Rep k) const { return Quantity(value / k); }
  constexpr Quantity& operator+=(Quantity o) { return value += o.value, *this; }
  constexpr Quantity& operator-=(Quantity o) { return value -= o.value, *this; }
};

using Bytes = Quantity<struct BytesTag, std::uint64_t>;
using Seconds = Quantity<struct SecondsTag, double>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;

constexpr double operator/(Seconds a, Seconds b) {
  return a.value / b.value;
}
constexpr double operator/(BytesPerSecond a, BytesPerSecond b) {
  return a.value / b.value;
}
constexpr BytesPerSecond operator/(Bytes b, Seconds s) {
  return BytesPerSecond(double(b.value) / s.value);
}
constexpr Seconds operator/(Bytes b, BytesPerSecond r) {
  return Seconds(double(b.value) / r.value);
}

// "64M", "1K", "4096", "1.5G", "64MiB": bytes, at most 2^62.
Result<Bytes> parse_size(std::string_view text);
// "500Mbit", "400Gbit/s", "12.5GB/s", "62.5MB/s": bytes per second, above zero.
Result<BytesPerSecond> parse_rate(std::string_view text);
// "20ms", "1.5s", "3us", "2m": seconds, not negative. A bare number is seconds.
Result<Seconds> parse_duration(std::string_view text);
// The same of what takes microseconds: a bare number other than 0 is rejected, because seconds are not meant.
Result<Seconds> parse_delay(std::string_view text);

std::string to_text(Bytes size);           // "64M", "1.5K", "123": the form that parse_size reads
std::string size_text(double bytes);       // "2.3 GiB": to be read, not to be parsed
std::string to_text(BytesPerSecond rate);  // "61.2 MB/s", "231 GB/s"
std::string to_text(Seconds time);         // "12.3 us", "4.51 ms", "2.07 s"

}  // namespace ringtrue
