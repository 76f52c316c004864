#include "tui/frame/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ringtrue::tui {

RateUnit unit_of(double largest) {
  return largest >= 1e9 ? RateUnit{1e9, "GB/s"} : RateUnit{};
}

std::string in_unit(const Maybe& rate, const RateUnit& unit) {
  return rate ? fmt::format("{:.1f}", *rate / unit.bytes) : "?";
}

std::string percent(const Maybe& share) {
  return share ? fmt::format("{:.0f} %", *share * 100) : "?";
}

std::string age(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 60) return fmt::format("{:.0f} s", std::floor(seconds));
  if (seconds < 3600) return fmt::format("{:.0f} m", std::floor(seconds / 60));
  if (seconds < 48 * 3600) return fmt::format("{:.0f} h", std::floor(seconds / 3600));
  return fmt::format("{:.0f} d", std::floor(seconds / 86400));
}

// By hand: no clock and no time zones are to be asked here.
std::string moment(double when, long utc_offset, bool seconds) {
  if (!std::isfinite(when) || std::abs(when) > 1e11) return "?";
  const long long at = (long long)(std::floor(when)) + utc_offset;
  long long day = at >= 0 ? at / 86400 : (at - 86399) / 86400;
  const long long rest = at - day * 86400;
  int year = 1970;
  const auto leap = [](int y) { return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0; };
  for (; day < 0; --year) day += leap(year - 1) ? 366 : 365;
  for (; day >= (leap(year) ? 366 : 365); ++year) day -= leap(year) ? 366 : 365;
  int month = 1;
  const auto days_of = [&](int m) {
    return m == 2 ? (leap(year) ? 29 : 28) : m == 4 || m == 6 || m == 9 || m == 11 ? 30 : 31;
  };
  for (; day >= days_of(month); ++month) day -= days_of(month);
  std::string text =
      fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", year, month, day + 1, rest / 3600, rest / 60 % 60);
  return seconds ? fmt::format("{}:{:02}", text, rest % 60) : text;
}

char mark_of(Level level) {
  switch (level) {
    case Level::good:
      return ' ';
    case Level::info:
      return 'i';
    case Level::unknown:
      return ' ';
    case Level::silent:
      return '-';
    case Level::warning:
      return '?';
    case Level::critical:
      return '!';
  }
  return ' ';
}

Paint paint_of(Level level) {
  switch (level) {
    case Level::good:
      return Paint::plain;
    case Level::info:
      return Paint::accent;
    case Level::unknown:
    case Level::silent:
      return Paint::unknown;
    case Level::warning:
      return Paint::warning;
    case Level::critical:
      return Paint::bad;
  }
  return Paint::plain;
}

Level level_of(const Maybe& share, double warning, double critical) {
  if (!share) return Level::unknown;
  return *share < critical ? Level::critical : *share < warning ? Level::warning : Level::good;
}

std::string sparkline(const std::vector<Maybe>& shares, std::size_t width, const Letters& letters) {
  static constexpr const char* blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string out;
  const std::size_t first = shares.size() > width ? shares.size() - width : 0;
  for (std::size_t i = first; i < shares.size(); ++i) {
    const Maybe& share = shares[i];
    if (!share || !std::isfinite(*share)) {
      out += '.';
    } else if (letters.symbols()) {
      out += blocks[std::lround(std::clamp(*share, 0.0, 1.0) * 7)];
    } else {
      out += char('0' + std::min(int(std::clamp(*share, 0.0, 1.0) * 10), 9));  // tenths
    }
  }
  return out;
}

Paint heat(const Maybe& share) {
  if (!share || !std::isfinite(*share)) return Paint::dim;
  // Half of what is expected is as bad as colours tell; the last steps are healthy ones.
  const double scaled = (std::clamp(*share, 0.0, 2.0) - 0.4) / 0.55;
  return heat_of(int(std::floor(scaled * (heat_steps - 1))));
}

}  // namespace ringtrue::tui
