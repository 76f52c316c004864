// Rates over time: a side's curve with its baseline's band, what happened below it, and the sessions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tui/frame/parts.h"
#include "tui/frame/words.h"

namespace ringtrue::tui {
namespace {

struct Axis {
  double begin = 0, end = 1;
  int columns = 1;

  int at(double when) const {
    const double share = (when - begin) / (end - begin);
    if (!(share >= 0 && share <= 1)) return -1;
    return std::min(int(share * columns), columns - 1);
  }
};

// Its rows from `top` (bytes per second) down to 0.
void draw_curve(Grid& grid, const Box& box, const History::Series& series, const Axis& axis, double top) {
  const bool symbols = grid.letters().symbols();
  const auto row_of = [&](double value) {
    const double share = std::clamp(value / top, 0.0, 1.0);
    return box.height - 1 - std::min(int(share * box.height), box.height - 1);
  };
  if (series.low && series.high)
    for (int y = row_of(*series.high); y <= row_of(*series.low); ++y)
      for (int x = 0; x < box.width; ++x) grid.put(box.x + x, box.y + y, symbols ? "·" : ".", Paint::dim, 1);
  for (std::size_t i = 0; i < series.when.size() && i < series.value.size(); ++i) {
    const int x = axis.at(series.when[i]);
    if (x < 0) continue;
    const Maybe& value = series.value[i];
    if (!value) {
      grid.put(box.x + x, box.y + box.height - 1, "?", Paint::dim, 1);
      continue;
    }
    const bool low = series.low && *value < *series.low;
    grid.put(box.x + x, box.y + row_of(*value),
             low       ? "!"
             : symbols ? "•"
                       : "*",
             low ? Paint::bad : Paint::good, 1);
  }
}

}  // namespace

std::string draw_history(Grid& grid, const Box& box, const Snapshot& snapshot, const View& view) {
  if (!snapshot.history || snapshot.history->sessions.empty()) {
    draw_text(grid, box,
              "No earlier checks are known: they come from a history (--history), several documents (--from) "
              "or --demo.",
              Paint::dim);
    return {};
  }
  const History& h = *snapshot.history;
  const int list_rows = std::clamp(box.height / 3, 3, 16);
  const int chart_rows = box.height - list_rows - 4;
  Box rest = box;
  if (!h.series.empty() && chart_rows >= 3 && box.width >= 30) {
    const int which = std::clamp(view.here().column, 0, int(h.series.size()) - 1);
    const History::Series& series = h.series[std::size_t(which)];
    double top = series.high.value_or(0);
    for (const Maybe& v : series.value) top = std::max(top, v.value_or(0));
    const RateUnit unit = unit_of(top);
    if (top <= 0) top = 1;
    const std::string band =
        series.low && series.high
            ? fmt::format(", baseline {}-{}", in_unit(series.low, unit), in_unit(series.high, unit))
            : "";
    grid.put(
        box.x, box.y,
        fmt::format("{}, {}{}  (side {} of {})", series.name, unit.name, band, which + 1, h.series.size()),
        Paint::title, box.width);
    constexpr int scale = 7;
    const Box chart{box.x + scale + 1, box.y + 1, box.width - scale - 1, chart_rows};
    grid.put_right(box.x, chart.y, scale, in_unit(top, unit), Paint::dim);
    grid.put_right(box.x, chart.y + chart_rows - 1, scale, "0", Paint::dim);
    Axis axis{h.sessions.front().when, h.sessions.back().when, chart.width};
    for (const History::Mark& mark : h.marks) axis.end = std::max(axis.end, mark.when);
    axis.begin = std::min(axis.begin, axis.end - 1);
    draw_curve(grid, chart, series, axis, top * 1.02);
    // What happened, by the sign that stands for it, and the session that is shown.
    const int marks = chart.y + chart_rows;
    for (const History::Mark& mark : h.marks)
      if (const int x = axis.at(mark.when); x >= 0)
        grid.put(chart.x + x, marks, mark.level == Level::good ? "+" : std::string(1, mark_of(mark.level)),
                 paint_of(mark.level), 1);
    if (snapshot.session >= 0 && std::size_t(snapshot.session) < h.sessions.size())
      if (const int x = axis.at(h.sessions[std::size_t(snapshot.session)].when); x >= 0)
        grid.put(chart.x + x, marks, "^", Paint::accent, 1);
    grid.put(chart.x, marks + 1, moment(axis.begin, snapshot.utc_offset), Paint::dim, chart.width / 2);
    if (chart.width >= 34)
      grid.put_right(chart.x + chart.width / 2, marks + 1, chart.width - chart.width / 2,
                     moment(axis.end, snapshot.utc_offset), Paint::dim);
    rest = box.below(chart_rows + 4);
  }
  const Table table = shown_rows(snapshot, view);
  const int at = chosen(table, view.here());
  draw_table(grid, rest, table, at);
  const int count = int(table.rows.size());
  return seen(first_shown(at, count, rest.height - 1), rest.height - 1, count, "sessions");
}

}  // namespace ringtrue::tui
