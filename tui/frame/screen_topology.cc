// What is in the nodes: a list, and the tree of the one that is chosen; the fabric behind them.
#include <fmt/format.h>

#include <algorithm>

#include "tui/frame/parts.h"
#include "tui/frame/words.h"

namespace ringtrue::tui {
namespace {

constexpr int list_width = 24, wide_topology = 100;
constexpr const char* fabric_name = "(fabric)";

}  // namespace

std::string draw_topology(Grid& grid, const Box& box, const Snapshot& snapshot, const View& view) {
  if (!snapshot.topology || (snapshot.topology->nodes.empty() && snapshot.topology->fabric.empty())) {
    draw_text(grid, box,
              "What is in the nodes is not known: it is told by daemons, documents of topo and bundles.",
              Paint::dim);
    return {};
  }
  const Topology& topology = *snapshot.topology;
  const int count = int(topology.nodes.size()) + (topology.fabric.empty() ? 0 : 1);
  const int at = std::clamp(view.here().row, 0, count - 1);
  const bool fabric = at >= int(topology.nodes.size());
  const auto& lines = fabric ? topology.fabric : topology.nodes[std::size_t(at)].lines;
  const bool both = box.width >= wide_topology;
  if (!view.here().open || both) {
    const Box list = both ? box.left(list_width) : box;
    const int first = first_shown(at, count, list.height);
    for (int i = 0; i < list.height && first + i < count; ++i) {
      const bool is_fabric = first + i >= int(topology.nodes.size());
      const auto& of = is_fabric ? topology.fabric : topology.nodes[std::size_t(first + i)].lines;
      Level worst = Level::good;
      for (const Line& line : of) worst = std::max(worst, line.level);
      const std::string name = is_fabric ? fabric_name : topology.nodes[std::size_t(first + i)].name;
      grid.put(list.x, list.y + i, fmt::format("{} {}", mark_of(worst), name), paint_of(worst), list.width);
      if (first + i == at) grid.reverse(list.x, list.y + i, list.width);
    }
    if (!both) return seen(first, list.height, count, "nodes");
  }
  const Box tree = both ? box.right_of(list_width + 2) : box;
  grid.put(tree.x, tree.y, fabric ? fabric_name : topology.nodes[std::size_t(at)].name, Paint::title,
           tree.width);
  const int height = tree.height - 1;
  const int first =
      std::clamp(view.here().open ? view.here().column : 0, 0, std::max(int(lines.size()) - height, 0));
  draw_lines(grid, tree.below(1), lines, first);
  return seen(first, height, int(lines.size()), "lines");
}

}  // namespace ringtrue::tui
