// Fleet, findings and counters: tables, with the chosen row in full.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/plural.h"
#include "tui/frame/parts.h"
#include "tui/frame/words.h"

namespace ringtrue::tui {
namespace {

constexpr int wide_enough = 120;  // for a table and what is chosen beside it
constexpr std::size_t map_from = 65;

int scrolled(const Spot& spot, std::size_t lines, int height) {
  return std::clamp(spot.column, 0, std::max(int(lines) - height, 0));
}

// A cell a node, by leaf where it is known, else as they come: long rows go on in the next line, short ones
// stand beside one another.
struct Map {
  std::map<std::string, std::vector<const NodeRow*>> leaves;
  int label = 0;   // columns of a leaf's name
  int cells = 1;   // of a row
  int across = 1;  // rows beside one another
  int height = 0;  // that all of it takes

  int head() const { return label > 0 ? label + 1 : 0; }
  int pitch() const { return head() + cells + 2; }
};

Map map_of(const Snapshot& snapshot, int width, const Letters& letters) {
  constexpr std::size_t longest_label = 12;
  Map map;
  std::size_t most = 1, label = 0;
  for (const NodeRow& n : snapshot.nodes) map.leaves[n.place].push_back(&n);
  for (const auto& [name, nodes] : map.leaves) {
    most = std::max(most, nodes.size());
    label = std::max(label, columns_of(shown(name, letters)));
  }
  map.label = int(std::min(label, longest_label));
  map.cells = std::max(std::min(int(most), width - map.head()), 1);
  map.across = std::max((width + 2) / map.pitch(), 1);
  int rows = 0;
  for (const auto& [name, nodes] : map.leaves) rows += (int(nodes.size()) + map.cells - 1) / map.cells;
  map.height = (rows + map.across - 1) / map.across;
  return map;
}

// How many nodes had no room.
int draw_map(Grid& grid, const Box& box, const Map& map, const std::string& key) {
  int column = 0, y = 0, left_out = 0;
  for (const auto& [name, nodes] : map.leaves)
    for (std::size_t i = 0; i < nodes.size(); i += std::size_t(map.cells)) {
      const std::size_t end = std::min(nodes.size(), i + std::size_t(map.cells));
      if (y >= box.height) {
        left_out += int(end - i);
        continue;
      }
      const int x = box.x + column * map.pitch();
      if (i == 0 && map.label > 0) grid.put(x, box.y + y, name, Paint::dim, map.label);
      for (std::size_t k = i; k < end; ++k) {
        const NodeRow& n = *nodes[k];
        Maybe share;
        for (const Maybe& rate : {n.send, n.receive})
          if (rate && n.expected && *n.expected > 0) share = std::min(share.value_or(9), *rate / *n.expected);
        const char mark = n.level == Level::good ? '.' : n.level == Level::unknown ? ',' : mark_of(n.level);
        const int at = x + map.head() + int(k - i);
        grid.put(at, box.y + y, std::string(1, mark), share && n.answers ? heat(share) : paint_of(n.level),
                 1);
        if (n.name == key) grid.reverse(at, box.y + y, 1);
      }
      if (++y >= box.height && column + 1 < map.across) ++column, y = 0;
    }
  return left_out;
}

}  // namespace

std::string draw_fleet(Grid& grid, const Box& box, const Snapshot& snapshot, const View& view) {
  const Table table = shown_rows(snapshot, view);
  const int at = chosen(table, view.here());
  const NodeRow* node = nullptr;
  if (at >= 0)
    for (const NodeRow& n : snapshot.nodes)
      if (n.name == table.rows[std::size_t(at)].key) node = &n;
  if (view.here().open && node != nullptr) {
    const auto lines = node_lines(snapshot, *node, grid.letters(), box.width);
    const int first = scrolled(view.here(), lines.size(), box.height);
    draw_lines(grid, box, lines, first);
    return seen(first, box.height, int(lines.size()), "lines");
  }
  if (snapshot.nodes.empty()) {
    draw_text(grid, box, "No nodes are known.", Paint::dim);
    return {};
  }
  Box rest = box;
  std::string map_said;
  if (snapshot.nodes.size() >= map_from && view.map) {
    // Problems first below it: a few rows, more where there is room.
    const Map map = map_of(snapshot, box.width, grid.letters());
    const int most = box.height - std::clamp(box.height / 3, std::min(5, box.height / 2), 20);
    const int map_height = std::min(map.height, most);
    const int left_out = draw_map(grid, box.top(map_height), map, node ? node->name : "");
    if (left_out > 0) map_said = fmt::format("{} not in the map, ", plural(left_out, "node"));
    rest = box.below(map_height);
  }
  draw_table(grid, rest, table, at);
  const int height = rest.height - 1;
  return map_said +
         seen(first_shown(at, int(table.rows.size()), height), height, int(table.rows.size()), "rows");
}

std::string draw_findings(Grid& grid, const Box& box, const Snapshot& snapshot, const View& view) {
  const Table table = shown_rows(snapshot, view);
  const int at = chosen(table, view.here());
  if (at < 0) {
    draw_text(grid, box,
              !snapshot.findings.empty()         ? "No finding fits the filter."
              : snapshot.level == Level::unknown ? "No check is known, so nothing was found."
                                                 : "Nothing was found.",
              Paint::dim);
    return {};
  }
  const FindingRow* finding = nullptr;
  for (const FindingRow& f : snapshot.findings)
    if (fmt::format("{} {}", f.kind, f.where) == table.rows[std::size_t(at)].key) finding = &f;
  const auto in_full = [&](const Box& where) {
    if (finding == nullptr) return std::string();
    const auto lines = finding_lines(snapshot, *finding, grid.letters(), where.width);
    const int first = view.here().open ? scrolled(view.here(), lines.size(), where.height) : 0;
    draw_lines(grid, where, lines, first);
    return seen(first, where.height, int(lines.size()), "lines");
  };
  if (view.here().open) return in_full(box);
  const int count = int(table.rows.size());
  if (box.width >= wide_enough) {
    const int half = box.width / 2;
    draw_table(grid, box.left(half - 1), table, at);
    in_full(box.right_of(half + 1));
    return seen(first_shown(at, count, box.height - 1), box.height - 1, count, "rows");
  }
  // The list as far as it needs, and below it what is chosen.
  const int list = std::min(count + 1, std::max(box.height / 3, 2));
  draw_table(grid, box.top(list), table, at);
  in_full(box.below(list + 1));
  return seen(first_shown(at, count, list - 1), list - 1, count, "rows");
}

std::string draw_counters(Grid& grid, const Box& box, const Snapshot& snapshot, const View& view) {
  const Table table = shown_rows(snapshot, view);
  const int at = chosen(table, view.here());
  if (at < 0) {
    draw_text(grid, box,
              snapshot.counters.empty() ? "No counter of errors rose, as far as it is known."
                                        : "No counter fits the filter.",
              Paint::dim);
    return {};
  }
  draw_table(grid, box, table, at);
  const int count = int(table.rows.size());
  return seen(first_shown(at, count, box.height - 1), box.height - 1, count, "rows");
}

}  // namespace ringtrue::tui
