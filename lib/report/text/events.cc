#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/plural.h"
#include "report/table.h"
#include "report/text/text.h"
#include "topology/counters.h"

namespace ringtrue::report {
namespace {

// In this machine's time zone: "13:10", with the date where it is not today's, with seconds where asked for.
std::string clock_text(std::int64_t unix_seconds, bool seconds) {
  const time_t then = unix_seconds, now = ::time(nullptr);
  tm at{}, today{};
  ::localtime_r(&then, &at);
  ::localtime_r(&now, &today);
  char text[32];
  const bool is_today = at.tm_year == today.tm_year && at.tm_yday == today.tm_yday;
  ::strftime(text, sizeof text,
             is_today ? (seconds ? "%H:%M:%S" : "%H:%M") : (seconds ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M"),
             &at);
  return text;
}

std::string when(const run::DeviceEvent& e) {
  constexpr std::int64_t a_moment = 15;
  if (e.last - e.first <= a_moment) return "at " + clock_text(e.last, true);
  return fmt::format("between {} and {}", clock_text(e.first, false), clock_text(e.last + 59, false));
}

// "30 days", "1 hour", "90 minutes": the largest unit that divides it.
std::string span_text(std::int64_t seconds) {
  for (const auto& [unit, name] : {std::pair(86'400, "day"), {3'600, "hour"}, {60, "minute"}})
    if (seconds > 0 && seconds % unit == 0) return plural(seconds / unit, name);
  return plural(seconds, "second");
}

bool went_down(std::string_view counter) {
  return counter == "link_downed" || counter == "carrier_down_count" || counter == "port_down";
}

}  // namespace

std::string sentence(const ops::NodeEvent& e) {
  const std::string device = topology::device_words(e.event.device);
  if (went_down(e.event.counter))
    return fmt::format("{} of {} went down {} {}", device, e.node,
                       e.event.count == 1 ? "once" : fmt::format("{} times", e.event.count), when(e.event));
  return fmt::format("{} of {}: {} {} {}", device, e.node, e.event.count,
                     topology::counter_words(e.event.counter), when(e.event));
}

std::string events_text(const std::vector<ops::NodeEvent>& events, const Style& style) {
  std::string out;
  for (const ops::NodeEvent& e : events) out += style.fit("in the last hour: " + sentence(e) + "\n");
  return out;
}

std::string text(const ops::EventsDocument& document, const Style& style) {
  // What goes on and on is one row: what rose again within a minute.
  constexpr std::int64_t pause = 60;
  std::vector<ops::NodeEvent> rows;
  for (const ops::NodeEvent& e : document.events) {
    const auto same = std::find_if(rows.rbegin(), rows.rend(), [&](const ops::NodeEvent& row) {
      return row.node == e.node && row.event.device == e.event.device && row.event.counter == e.event.counter;
    });
    if (same == rows.rend() || e.event.first > same->event.last + pause) {
      rows.push_back(e);
      continue;
    }
    same->event.last = std::max(same->event.last, e.event.last);
    same->event.count += e.event.count;
  }
  Table table({left("from"), left("to"), left("node"), left("device"), {"count"}, left("what")});
  for (const ops::NodeEvent& row : rows)
    table.row({clock_text(row.event.first, true), clock_text(row.event.last, true), row.node,
               topology::device_words(row.event.device), std::to_string(row.event.count),
               topology::counter_words(row.event.counter)});
  std::string out = rows.empty() ? "" : table.text();
  out += fmt::format("{} of {} in the last {}\n", plural(rows.size(), "event"),
                     plural(document.nodes.size(), "node"), span_text(document.seconds));
  out += notes_text(document.notes, style);
  if (document.error) out += failures_text(*document.error, style);
  return out;
}

}  // namespace ringtrue::report
