#include <fmt/format.h>
#include <time.h>

#include <cmath>
#include <string>

#include "base/number.h"
#include "tui/model/model.h"

namespace ringtrue::tui {

double wall_clock() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

long utc_offset(double when) {
  const time_t at = time_t(when);
  tm local{};
  return localtime_r(&at, &local) == nullptr ? 0 : local.tm_gmtoff;
}

Result<double> parse_moment(std::string_view text, double now) {
  const std::string given(text);
  if (text.starts_with('@'))
    if (const auto seconds = parse_number<double>(text.substr(1)); seconds && std::abs(*seconds) < 1e11)
      return *seconds;
  for (const char* form :
       {"%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d"}) {
    tm local{};
    local.tm_isdst = -1;
    const char* const end = strptime(given.c_str(), form, &local);
    if (end != nullptr && *end == '\0') return double(mktime(&local));
  }
  const time_t today = time_t(now);
  tm local{};
  localtime_r(&today, &local);
  local.tm_sec = 0;
  if (const char* const end = strptime(given.c_str(), "%H:%M", &local); end != nullptr && *end == '\0')
    return double(mktime(&local));
  if (!text.empty() && text.back() == 'd')
    if (const auto days = parse_number<double>(text.substr(0, text.size() - 1));
        days && *days >= 0 && *days < 1e6)
      return now - *days * 86400;
  if (!text.empty() && text.back() == 'h')
    if (const auto hours = parse_number<double>(text.substr(0, text.size() - 1));
        hours && *hours >= 0 && *hours < 1e7)
      return now - *hours * 3600;
  return fail(Cause::bad_input, fmt::format("'{}' is no time", text.substr(0, 40)), {},
              "give '2026-01-31 14:05', 14:05, 2h or 3d (ago), or @ and seconds since 1970");
}

}  // namespace ringtrue::tui
