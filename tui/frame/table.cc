#include "tui/frame/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "tui/frame/filter.h"
#include "tui/frame/words.h"

namespace ringtrue::tui {
namespace {

Maybe share_of(const Maybe& value, const Maybe& of) {
  return value && of && *of > 0 ? Maybe(*value / *of) : Maybe();
}

Maybe scaled(const Maybe& value, double unit) {
  return value ? Maybe(*value / unit) : Maybe();
}

// A column that filters know by `field`.
void add(Table& table, Column column, std::string field, double unit = 1) {
  table.columns.push_back(std::move(column));
  table.fields.push_back(std::move(field));
  table.units.push_back(unit);
}

Table fleet_rows(const Snapshot& snapshot, const View& view) {
  double largest = 0;
  for (const NodeRow& n : snapshot.nodes)
    largest = std::max({largest, n.send.value_or(0), n.receive.value_or(0), n.expected.value_or(0)});
  const RateUnit unit = unit_of(largest);
  Table table;
  add(table, {"", false, 0, 1, 1}, "");
  add(table, {"NODE", false, 0, 16, 24}, "node");
  add(table, {"SEND", true, 1, 5, 8}, "send", unit.bytes);
  add(table, {"RECV", true, 1, 5, 8}, "recv", unit.bytes);
  add(table, {fmt::format("EXP {}", unit.name), true, 4, 8, 9}, "expected", unit.bytes);
  add(table, {"14 DAYS", false, 5, 14, 14}, "");
  add(table, {"ERR/h", true, 3, 5, 8}, "errors");
  add(table, {"HELD BY", false, 6, 7, 24}, "held");
  add(table, {"LEAF", false, 7, 4, 16}, "leaf");
  add(table, {"FINDING", false, 2, 20, 90, true}, "finding");
  for (const NodeRow& n : snapshot.nodes) {
    Row row;
    row.key = row.node = n.name;
    row.level = n.level;
    row.dim = !n.answers;
    std::string finding = n.finding;
    if (!n.answers) {
      finding = n.seen ? fmt::format("silent {}: {}", age(snapshot.now - *n.seen), n.silence)
                       : "silent: " + n.silence;
    }
    row.cells = {std::string(1, mark_of(n.level)),
                 n.name,
                 in_unit(n.send, unit),
                 in_unit(n.receive, unit),
                 in_unit(n.expected, unit),
                 sparkline(n.days, 14, view.letters),
                 n.errors_per_hour ? fmt::format("{:.0f}", *n.errors_per_hour) : "?",
                 n.held_by.empty() ? "-" : n.held_by,
                 n.place,
                 finding};
    row.numbers = {{},
                   {},
                   scaled(n.send, unit.bytes),
                   scaled(n.receive, unit.bytes),
                   scaled(n.expected, unit.bytes),
                   {},
                   n.errors_per_hour,
                   {},
                   {},
                   {}};
    row.shares = {{}, {}, share_of(n.send, n.expected), share_of(n.receive, n.expected), {}, {}, {}, {},
                  {}, {}};
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string level_word(Level level) {
  return level == Level::critical ? "critical" : level == Level::warning ? "warning" : "info";
}

Table finding_rows(const Snapshot& snapshot) {
  Table table;
  add(table, {"", false, 0, 1, 1}, "");
  add(table, {"SEVERITY", false, 4, 8, 8}, "severity");
  add(table, {"KIND", false, 1, 8, 26}, "kind");
  add(table, {"WHERE", false, 0, 10, 44, true}, "where");
  add(table, {"RATE", true, 2, 5, 6}, "rate");
  add(table, {"SURE", true, 3, 5, 6}, "sure");
  add(table, {"SINCE", true, 3, 5, 6}, "");
  add(table, {"SEEN BY", false, 5, 7, 14}, "acknowledged");
  for (std::size_t i = 0; i < snapshot.findings.size(); ++i) {
    const FindingRow& f = snapshot.findings[i];
    Row row;
    row.key = fmt::format("{} {}", f.kind, f.where);
    row.node = f.node;
    row.level = f.level;
    row.dim = !f.acknowledged.empty();
    const Maybe sure = f.confidence > 0 ? Maybe(f.confidence) : Maybe();
    row.cells = {std::string(1, mark_of(f.level)),
                 level_word(f.level),
                 f.kind,
                 f.where,
                 f.ratio ? percent(f.ratio) : "-",
                 sure ? percent(sure) : "-",
                 f.since ? age(snapshot.now - *f.since) : "?",
                 f.acknowledged.empty() ? "-" : f.acknowledged};
    const Maybe hundred = f.ratio ? Maybe(*f.ratio * 100) : Maybe();
    row.numbers = {{}, {}, {}, {}, hundred, sure ? Maybe(*sure * 100) : Maybe(), {}, {}};
    row.shares = {{}, {}, {}, {}, f.ratio, sure, {}, {}};
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table counter_rows(const Snapshot& snapshot) {
  Table table;
  add(table, {"", false, 0, 1, 1}, "");
  add(table, {"NODE", false, 0, 16, 24}, "node");
  add(table, {"DEVICE", false, 1, 5, 20}, "device");
  add(table, {"COUNTER", false, 0, 10, 40, true}, "counter");
  add(table, {"ROSE BY", true, 0, 7, 14}, "window");
  add(table, {"IN", true, 3, 4, 6}, "");
  add(table, {"LAST HOUR", true, 2, 9, 14}, "hour");
  add(table, {"FLAPS", false, 4, 5, 5}, "flaps");
  for (const CounterRow& c : snapshot.counters) {
    Row row;
    row.key = fmt::format("{} {} {}", c.node, c.device, c.counter);
    row.node = c.node;
    row.level = c.level;
    row.cells = {std::string(1, mark_of(c.level)),
                 c.node,
                 c.device,
                 c.counter,
                 fmt::format("{:.0f}", c.window),
                 age(c.seconds),
                 c.hour ? fmt::format("{:.0f}", *c.hour) : "?",
                 c.flaps ? "flaps" : ""};
    row.numbers = {{}, {}, {}, {}, c.window, {}, c.hour, {}};
    row.shares.resize(row.cells.size());
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table matrix_rows(const Snapshot& snapshot) {
  Table table;
  add(table, {"FROM", false, 0, 6, 24}, "from");
  add(table, {"TO", false, 0, 6, 24}, "to");
  add(table, {"B/s", true, 0, 6, 24}, "rate");
  add(table, {"SHARE", true, 0, 6, 24}, "share");
  if (!snapshot.matrix) return table;
  const Matrix& m = *snapshot.matrix;
  for (std::size_t i = 0; i < m.names.size(); ++i)
    for (std::size_t j = 0; j < m.names.size(); ++j) {
      const Maybe rate = m.rate(0, i, j);
      if (!rate) continue;
      const Maybe share = share_of(rate, m.expected);
      table.rows.push_back({m.names[i] + " " + m.names[j],
                            m.names[i],
                            level_of(share, m.warning, m.critical),
                            false,
                            {m.names[i], m.names[j], fmt::format("{:.0f}", *rate), percent(share)},
                            {{}, {}, rate, share},
                            {{}, {}, {}, share}});
    }
  return table;
}

Table history_rows(const Snapshot& snapshot) {
  Table table;
  add(table, {"", false, 0, 1, 1}, "");
  add(table, {"WHEN", false, 0, 16, 16}, "when");
  add(table, {"VERDICT", false, 1, 8, 9}, "verdict");
  add(table, {"WHAT", false, 0, 10, 100, true}, "what");
  if (!snapshot.history) return table;
  const auto& sessions = snapshot.history->sessions;
  for (std::size_t i = sessions.size(); i-- > 0;) {
    const History::Session& s = sessions[i];
    table.rows.push_back(
        {fmt::format("{}", i),
         "",
         s.level,
         false,
         {std::string(1, mark_of(s.level)), moment(s.when, snapshot.utc_offset), s.verdict, s.text},
         {{}, {}, {}, {}},
         {{}, {}, {}, {}}});
  }
  return table;
}

Table size_rows(const Snapshot& snapshot) {
  Table table;
  add(table, {"SIZE", true, 0, 8, 10}, "size");
  add(table, {"TIME s", true, 1, 8, 12}, "time");
  add(table, {"BUSBW B/s", true, 0, 8, 14}, "busbw");
  add(table, {"IDEAL B/s", true, 0, 8, 14}, "ideal");
  for (const SizeRow& s : snapshot.run.sizes) {
    const auto number = [](const Maybe& value) {
      return value ? fmt::format("{:.6g}", *value) : std::string("?");
    };
    table.rows.push_back({size_text(s.bytes),
                          "",
                          level_of(share_of(s.busbw, s.ideal)),
                          false,
                          {size_text(s.bytes), number(s.time_s), number(s.busbw), number(s.ideal)},
                          {s.bytes, s.time_s, s.busbw, s.ideal},
                          {{}, {}, share_of(s.busbw, s.ideal), {}}});
  }
  return table;
}

}  // namespace

Table all_rows(const Snapshot& snapshot, const View& view) {
  switch (view.screen) {
    case Screen::fleet:
      return fleet_rows(snapshot, view);
    case Screen::findings:
      return finding_rows(snapshot);
    case Screen::counters:
      return counter_rows(snapshot);
    case Screen::matrix:
      return matrix_rows(snapshot);
    case Screen::history:
      return history_rows(snapshot);
    case Screen::run:
      return size_rows(snapshot);
    case Screen::topology:
      return {};
  }
  return {};
}

Table shown_rows(const Snapshot& snapshot, const View& view) {
  Table table = all_rows(snapshot, view);
  const Spot& spot = view.here();
  if (const auto filter = Filter::parse(spot.filter, table))
    std::erase_if(table.rows, [&](const Row& row) { return !filter->matches(row); });
  if (view.faults_only && (view.screen == Screen::fleet || view.screen == Screen::findings))
    std::erase_if(table.rows, [](const Row& row) { return row.level < Level::silent; });
  auto& rows = table.rows;
  if (spot.sort < 0 || std::size_t(spot.sort) >= table.columns.size()) {
    if (view.screen == Screen::fleet || view.screen == Screen::findings)
      std::stable_sort(rows.begin(), rows.end(),
                       [](const Row& a, const Row& b) { return a.level > b.level; });
    if (spot.descending) std::reverse(rows.begin(), rows.end());
    return table;
  }
  const auto column = std::size_t(spot.sort);
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    const Row& first = spot.descending ? b : a;
    const Row& second = spot.descending ? a : b;
    const Maybe &x = first.numbers[column], &y = second.numbers[column];
    if (x && y) return *x < *y;
    if (x || y) return x.has_value();
    return first.cells[column] < second.cells[column];
  });
  return table;
}

}  // namespace ringtrue::tui
