#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>

namespace ringtrue {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

struct Number {
  long double value = 0;
  std::string_view unit;  // what follows the digits, without spaces between
};

// DIGITS[.DIGITS] and the rest. No sign, no exponent, no "inf": these are quantities that people type.
std::optional<Number> split(std::string_view text) {
  text = trimmed(text);
  if (text.size() > 64) return std::nullopt;
  std::size_t at = 0;
  int digits = 0;
  long double value = 0;
  for (; at < text.size() && is_digit(text[at]); ++at, ++digits) value = value * 10 + (text[at] - '0');
  if (at < text.size() && text[at] == '.') {
    ++at;
    long double scale = 1;
    for (; at < text.size() && is_digit(text[at]); ++at, ++digits) {
      value = value * 10 + (text[at] - '0');
      scale *= 10;
    }
    value /= scale;
  }
  if (digits == 0) return std::nullopt;
  return Number{value, trimmed(text.substr(at))};
}

std::string quoted(std::string_view text) {
  std::string shown(text.substr(0, 40));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return "'" + shown + (text.size() > 40 ? "..." : "") + "'";
}

bool negative(std::string_view text) {
  text = trimmed(text);
  return text.size() > 1 && text[0] == '-' && (is_digit(text[1]) || text[1] == '.');
}

// 1 of "k", 2 of "M" and so on; 0 of what is no prefix.
int prefix_power(char c) {
  constexpr std::string_view prefixes = "kmgtpe";
  const char lower = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  const auto at = prefixes.find(lower);
  return at == prefixes.npos ? 0 : int(at) + 1;
}

// Three significant digits: 1.23, 12.3, 123.
std::string three_digits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

// In the first of the units, each a thousand of the one before, that needs no more than three digits.
std::string scaled(double value, std::initializer_list<std::string_view> units) {
  auto unit = units.begin();
  for (; value >= 999.5 && unit + 1 < units.end(); ++unit) value /= 1000;
  return fmt::format("{} {}", three_digits(value), *unit);
}

}  // namespace

Result<Bytes> parse_size(std::string_view text) {
  const auto wrong = [&](std::string why) {
    return fail(Cause::bad_input, "bad size " + quoted(text) + ": " + std::move(why), {},
                "give bytes such as 4096, 64K, 1M or 1.5G");
  };
  if (negative(text)) return wrong("a size cannot be negative");
  const auto number = split(text);
  if (!number) return wrong("not a number");
  std::string_view unit = number->unit;
  long double value = number->value;
  if (!unit.empty()) {
    const int power = prefix_power(unit[0]);
    if (power > 0) {
      unit.remove_prefix(1);
      for (int i = 0; i < power; ++i) value *= 1024;
    }
    if (!(unit.empty() || unit == "B" || (power > 0 && unit == "iB"))) {
      return wrong("unknown unit " + quoted(number->unit));
    }
  }
  if (value > 4611686018427387904.0L) return wrong("more than 4E");
  return Bytes(std::uint64_t(value));
}

Result<BytesPerSecond> parse_rate(std::string_view text) {
  const auto wrong = [&](std::string why) {
    return fail(Cause::bad_input, "bad rate " + quoted(text) + ": " + std::move(why), {},
                "give a rate such as 500Mbit, 400Gbit or 12.5GB/s");
  };
  if (negative(text)) return wrong("a rate cannot be negative");
  const auto number = split(text);
  if (!number) return wrong("not a number");
  std::string_view unit = number->unit;
  if (unit.empty()) return wrong("no unit");
  long double value = number->value;
  const int power = prefix_power(unit[0]);
  if (power > 0) {
    unit.remove_prefix(1);
    for (int i = 0; i < power; ++i) value *= 1000;
  }
  if (unit.starts_with("i")) return wrong("rates are decimal, 1 MB/s is 10^6 bytes per second");
  const auto is_one_of = [unit](std::initializer_list<std::string_view> units) {
    return std::find(units.begin(), units.end(), unit) != units.end();
  };
  const bool bits = is_one_of({"bit", "bit/s", "bits", "bits/s", "bps", "b/s"});
  if (!bits && !is_one_of({"B/s", "B", "Byte/s", "bytes/s"}))
    return wrong("unknown unit " + quoted(number->unit));
  if (bits) value /= 8;
  if (!(value > 0)) return wrong("a rate must be above zero");
  if (value > 1e18L) return wrong("more than 10^18 bytes per second");
  return BytesPerSecond(double(value));
}

Result<Seconds> parse_duration(std::string_view text) {
  const auto wrong = [&](std::string why) {
    return fail(Cause::bad_input, "bad duration " + quoted(text) + ": " + std::move(why), {},
                "give a duration such as 20ms, 1.5s or 2m");
  };
  if (negative(text)) return wrong("a duration cannot be negative");
  const auto number = split(text);
  if (!number) return wrong("not a number");
  struct Unit {
    std::string_view name;
    long double seconds;
  };
  static constexpr std::array<Unit, 10> units = {{{"", 1},
                                                  {"s", 1},
                                                  {"ms", 1e-3L},
                                                  {"us", 1e-6L},
                                                  {"\xc2\xb5s", 1e-6L},
                                                  {"ns", 1e-9L},
                                                  {"m", 60},
                                                  {"min", 60},
                                                  {"h", 3600},
                                                  {"d", 86400}}};
  for (const Unit& unit : units) {
    if (unit.name != number->unit) continue;
    const long double seconds = number->value * unit.seconds;
    if (seconds > 1e9L) return wrong("more than 10^9 seconds");
    return Seconds(double(seconds));
  }
  return wrong("unknown unit " + quoted(number->unit));
}

Result<Seconds> parse_delay(std::string_view text) {
  auto out = parse_duration(text);
  const bool bare = !text.empty() && std::string_view("0123456789.").find(text.back()) != text.npos;
  if (out && bare && out->value > 0)
    return fail(Cause::bad_input, "bad duration " + quoted(text) + ": no unit", {},
                fmt::format("say {0}us, {0}ms or {0}s", text.substr(0, 20)));
  return out;
}

std::string to_text(Bytes size) {
  static constexpr std::string_view letters = "KMGTPE";
  // Exact, so that it reads back as the same size: a unit is taken only where quarters of it suffice.
  for (int power = 6; power >= 1; --power) {
    const std::uint64_t unit = std::uint64_t(1) << (10 * power);
    if (size.value < unit || size.value % (unit / 4) != 0) continue;
    const std::uint64_t quarters = size.value % unit / (unit / 4);
    static constexpr std::array<std::string_view, 4> fraction = {"", ".25", ".5", ".75"};
    return fmt::format("{}{}{}", size.value / unit, fraction[quarters], letters[std::size_t(power - 1)]);
  }
  return fmt::format("{}", size.value);
}

std::string size_text(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string to_text(BytesPerSecond rate) {
  if (!std::isfinite(rate.value) || rate.value < 0) return "unknown";
  if (rate.value == 0) return "0 B/s";
  return scaled(rate.value, {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"});
}

std::string to_text(Seconds time) {
  if (!std::isfinite(time.value)) return "unknown";
  if (time.value < 0) return fmt::format("-{}", to_text(Seconds(-time.value)));
  if (time.value == 0) return "0 s";
  return scaled(time.value * 1e9, {"ns", "us", "ms", "s"});
}

}  // namespace ringtrue
