#include "history/time.h"

#include <fmt/format.h>
#include <time.h>

#include <cmath>

#include "base/number.h"

namespace ringtrue::history {
namespace {

tm parts_of(std::int64_t us) {
  tm parts{};
  const time_t seconds = us / 1'000'000 - (us % 1'000'000 < 0);
  if (!gmtime_r(&seconds, &parts)) parts = {};  // years that no calendar has
  return parts;
}

constexpr std::int64_t second = 1'000'000, minute = 60 * second, hour = 60 * minute, day = 24 * hour;

}  // namespace

std::string minute_text(std::int64_t us) {
  const tm p = parts_of(us);
  return fmt::format("{} {:02}:{:02}", day_text(us), p.tm_hour, p.tm_min);
}

std::string day_text(std::int64_t us) {
  const tm p = parts_of(us);
  return fmt::format("{:04}-{:02}-{:02}", p.tm_year + 1900, p.tm_mon + 1, p.tm_mday);
}

std::string rfc3339(std::int64_t us) {
  const tm p = parts_of(us);
  return fmt::format("{}T{:02}:{:02}:{:02}Z", day_text(us), p.tm_hour, p.tm_min, p.tm_sec);
}

Result<std::int64_t> parse_rfc3339(std::string_view text) {
  const auto wrong = [&] {
    return fail(Cause::bad_input,
                fmt::format("'{}' is not a time such as 2026-11-18T14:02:07Z", text.substr(0, 40)));
  };
  if (text.size() != 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':' || text[19] != 'Z')
    return wrong();
  tm p{};
  int* const parts[] = {&p.tm_year, &p.tm_mon, &p.tm_mday, &p.tm_hour, &p.tm_min, &p.tm_sec};
  constexpr int at[] = {0, 5, 8, 11, 14, 17}, size[] = {4, 2, 2, 2, 2, 2};
  for (int i = 0; i < 6; ++i) {
    const auto number = parse_number<int>(text.substr(std::size_t(at[i]), std::size_t(size[i])));
    if (!number || *number < 0) return wrong();
    *parts[i] = *number;
  }
  if (p.tm_year < 1970 || p.tm_mon < 1 || p.tm_mon > 12 || p.tm_mday < 1 || p.tm_mday > 31 ||
      p.tm_hour > 23 || p.tm_min > 59 || p.tm_sec > 60)
    return wrong();
  p.tm_year -= 1900;
  p.tm_mon -= 1;
  return std::int64_t(timegm(&p)) * second;
}

Result<std::int64_t> parse_span(std::string_view text) {
  std::int64_t unit = 0;
  if (!text.empty()) {
    const char last = text.back();
    unit = last == 's'   ? second
           : last == 'm' ? minute
           : last == 'h' ? hour
           : last == 'd' ? day
           : last == 'w' ? 7 * day
                         : 0;
  }
  const auto number = unit > 0 ? parse_number<double>(text.substr(0, text.size() - 1)) : std::nullopt;
  if (!number || !(*number > 0) || *number * double(unit) > 1e17)
    return fail(Cause::bad_input, fmt::format("'{}' is not a span of time", text.substr(0, 40)), {},
                "give one such as 30d, 12h or 90m");
  return std::llround(*number * double(unit));
}

std::string span_text(std::int64_t us) {
  if (us >= 2 * day) return fmt::format("{} days", us / day);
  if (us >= 2 * hour) return fmt::format("{} hours", us / hour);
  return fmt::format("{} min", us / minute);
}

}  // namespace ringtrue::history
