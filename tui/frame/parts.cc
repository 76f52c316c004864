#include "tui/frame/parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "tui/frame/words.h"

namespace ringtrue::tui {

int chosen(const Table& table, const Spot& spot) {
  if (table.rows.empty()) return -1;
  if (!spot.key.empty())
    for (std::size_t i = 0; i < table.rows.size(); ++i)
      if (table.rows[i].key == spot.key) return int(i);
  return std::clamp(spot.row, 0, int(table.rows.size()) - 1);
}

int first_shown(int at, int count, int height) {
  if (height <= 0 || count <= height) return 0;
  return std::clamp(at - height / 2, 0, count - height);
}

std::string seen(int first, int height, int count, const char* what) {
  if (count <= height || height <= 0) return {};
  return fmt::format("{} {}-{} of {}", what, first + 1, first + height, count);
}

void draw_table(Grid& grid, const Box& box, const Table& table, int chosen) {
  if (box.height <= 0 || box.width <= 0) return;
  const int count = int(table.rows.size()), height = box.height - 1;
  const int first = first_shown(chosen, count, height);
  const auto width = [&](const std::string& text) {
    return int(columns_of(shown(text, grid.letters()), grid.letters().ambiguous));
  };
  std::vector<int> wanted;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    int most = width(table.columns[c].title);
    for (const Row& row : table.rows) most = std::max(most, width(row.cells[c]));
    wanted.push_back(most);
  }
  const auto places = places_of(table.columns, wanted, box.width);
  for (std::size_t c = 0; c < places.size(); ++c) {
    const Place& p = places[c];
    if (p.width == 0) continue;
    if (table.columns[c].right)
      grid.put_right(box.x + p.x, box.y, p.width, table.columns[c].title, Paint::title);
    else
      grid.put(box.x + p.x, box.y, table.columns[c].title, Paint::title, p.width);
  }
  const auto name_in = [&](const std::string& name, int room) {
    return fitted_name(shown(name, grid.letters()), room, grid.letters());
  };
  for (int i = 0; i < height && first + i < count; ++i) {
    const Row& row = table.rows[std::size_t(first + i)];
    const int y = box.y + 1 + i;
    for (std::size_t c = 0; c < places.size(); ++c) {
      const Place& p = places[c];
      if (p.width == 0) continue;
      const Maybe& share = row.shares[c];
      // The mark and the last words say how bad it is; numbers of their own say so themselves.
      const bool of_row = c == 0 || table.columns[c].rest;
      Paint paint = share ? paint_of(level_of(share)) : of_row ? paint_of(row.level) : Paint::plain;
      const bool mark = table.columns[c].title.empty();
      if (row.dim || (row.cells[c] == "?" && !mark)) paint = Paint::dim;
      if (table.columns[c].right)
        grid.put_right(box.x + p.x, y, p.width, row.cells[c], paint);
      else
        grid.put(box.x + p.x, y, table.fields[c] == "node" ? name_in(row.cells[c], p.width) : row.cells[c],
                 paint, p.width);
    }
    if (first + i == chosen) grid.reverse(box.x, y, box.width);
  }
}

int draw_text(Grid& grid, const Box& box, const std::string& text, Paint paint, int indent) {
  int y = 0;
  const auto lines = wrapped(text, std::max(box.width - indent, 2), grid.letters());
  for (const std::string& line : lines) {
    if (y >= box.height) break;
    const bool more = y == box.height - 1 && &line != &lines.back();
    grid.put(box.x + (y > 0 ? indent : 0), box.y + y, more ? line + std::string(grid.letters().cut()) : line,
             paint, box.width - (y > 0 ? indent : 0));
    ++y;
  }
  return y;
}

void draw_lines(Grid& grid, const Box& box, const std::vector<Line>& lines, int first) {
  for (int i = 0; i < box.height && first + i < int(lines.size()); ++i) {
    const Line& line = lines[std::size_t(first + i)];
    grid.put(box.x, box.y + i, line.text, paint_of(line.level), box.width);
  }
}

namespace {

void add_wrapped(std::vector<Line>& lines, const std::string& head, const std::string& text,
                 const Letters& letters, int width, Level level = Level::good) {
  const int indent = int(head.size());
  const auto parts = wrapped(text, std::max(width - indent, 8), letters);
  for (std::size_t i = 0; i < parts.size(); ++i)
    lines.push_back({(i == 0 ? head : std::string(std::size_t(indent), ' ')) + parts[i], level});
}

std::string rate_with_unit(const Maybe& rate) {
  const RateUnit unit = unit_of(rate.value_or(0));
  return rate ? fmt::format("{} {}", in_unit(rate, unit), unit.name) : "?";
}

}  // namespace

std::vector<Line> finding_lines(const Snapshot& snapshot, const FindingRow& f, const Letters& letters,
                                int width) {
  std::vector<Line> lines;
  add_wrapped(lines, "", fmt::format("{} {}: {}", mark_of(f.level), f.kind, f.where), letters, width,
              f.level);
  if (f.measured || f.expected)
    add_wrapped(lines, "rate      ",
                fmt::format("{} of {}{}", rate_with_unit(f.measured), rate_with_unit(f.expected),
                            f.ratio ? fmt::format(" ({})", percent(f.ratio)) : ""),
                letters, width);
  if (f.confidence > 0) add_wrapped(lines, "sure      ", percent(f.confidence), letters, width);
  if (f.since)
    add_wrapped(
        lines, "since     ",
        fmt::format("{} ({} ago)", moment(*f.since, snapshot.utc_offset), age(snapshot.now - *f.since)),
        letters, width);
  for (std::size_t i = 0; i < f.evidence.size(); ++i)
    add_wrapped(lines, i == 0 ? "evidence  " : "        - ", f.evidence[i], letters, width);
  if (!f.impact.empty()) add_wrapped(lines, "impact    ", f.impact, letters, width);
  if (!f.next.empty()) add_wrapped(lines, "next      ", f.next, letters, width);
  if (!f.command.empty()) add_wrapped(lines, "command   ", f.command, letters, width, Level::info);
  if (!f.acknowledged.empty()) add_wrapped(lines, "seen by   ", f.acknowledged, letters, width);
  return lines;
}

std::vector<Line> node_lines(const Snapshot& snapshot, const NodeRow& n, const Letters& letters, int width) {
  std::vector<Line> lines;
  const auto share = [&](const Maybe& rate) {
    return rate && n.expected && *n.expected > 0 ? fmt::format(" ({})", percent(*rate / *n.expected))
                                                 : std::string();
  };
  add_wrapped(lines, "",
              fmt::format("{} {}{}", mark_of(n.level), n.name, n.place.empty() ? "" : ", " + n.place),
              letters, width, n.level);
  if (!n.answers) add_wrapped(lines, "silent    ", n.silence, letters, width, Level::silent);
  if (n.seen) add_wrapped(lines, "heard     ", age(snapshot.now - *n.seen) + " ago", letters, width);
  add_wrapped(lines, "sends     ", rate_with_unit(n.send) + share(n.send), letters, width);
  add_wrapped(lines, "receives  ", rate_with_unit(n.receive) + share(n.receive), letters, width);
  add_wrapped(lines, "expected  ", rate_with_unit(n.expected), letters, width);
  add_wrapped(lines, "14 days   ", sparkline(n.days, 14, letters), letters, width);
  add_wrapped(lines, "errors/h  ", n.errors_per_hour ? fmt::format("{:.0f}", *n.errors_per_hour) : "?",
              letters, width);
  add_wrapped(lines, "held by   ", n.held_by.empty() ? "nobody" : n.held_by, letters, width);
  for (const FindingRow& f : snapshot.findings) {
    if (!f.is_about(n.name)) continue;
    lines.push_back({"", Level::good});
    for (Line& line : finding_lines(snapshot, f, letters, width)) lines.push_back(std::move(line));
  }
  bool any = false;
  for (const CounterRow& c : snapshot.counters) {
    if (c.node != n.name) continue;
    if (!any) lines.push_back({"", Level::good});
    add_wrapped(lines, any ? "          " : "counters  ",
                fmt::format("{} {}: +{:.0f} in {}", c.device, c.counter, c.window, age(c.seconds)), letters,
                width, c.level);
    any = true;
  }
  return lines;
}

std::vector<Line> help_lines(const KeyMap& keys, Screen screen) {
  std::vector<Line> lines = {{fmt::format("Keys (screen: {})", key_of(screen)), Level::info}};
  for (const char* const* name = std::begin(keys_of<Action>); name != std::end(keys_of<Action>); ++name) {
    const Action action = Action(name - std::begin(keys_of<Action>));
    const std::string of = keys.keys_for(action);
    lines.push_back(
        {fmt::format("  {:<11} {:<16} {}", of.empty() ? "-" : of, *name, help_of(action)), Level::good});
  }
  lines.push_back({"", Level::good});
  lines.push_back(
      {"Marks: ! critical, ? warning, - silent, i information; a lone ? is a value that is not known",
       Level::good});
  lines.push_back(
      {"Keys can be changed in the configuration's table [tui.keys], by the names above", Level::good});
  return lines;
}

}  // namespace ringtrue::tui
