#include <fmt/format.h>

#include <set>

#include "base/plural.h"
#include "report/text/text.h"

namespace ringtrue::report {
namespace {

std::string range_text(const collective::Slice& slice) {
  return fmt::format("{}[{}, {})", slice.space == collective::Space::scratch ? "scratch" : "data",
                     slice.offset, slice.offset + slice.length);
}

// The subtree below `rank`, one line a rank, drawn with branches. Iterative: trees of thousands may be
// chains.
void draw(const std::vector<collective::TreeRole>& tree, int root, const Write& write) {
  struct Open {
    int rank;
    std::string indent;
    bool last;
    bool top;
  };
  std::vector<Open> open = {{root, "", true, true}};
  while (!open.empty()) {
    const Open at = open.back();
    open.pop_back();
    const std::string branch = at.top ? "" : at.last ? "`-- " : "|-- ";
    if (!write(fmt::format("  {}{}{}\n", at.indent, branch, at.rank))) return;
    const auto& children = tree[std::size_t(at.rank)].children;
    const std::string indent = at.top ? "" : at.indent + (at.last ? "    " : "|   ");
    for (std::size_t i = children.size(); i-- > 0;) {
      open.push_back({children[i], indent, i + 1 == children.size(), false});
    }
  }
}

}  // namespace

void write_text(const ops::ScheduleDocument& document, const Write& write) {
  bool on = write(fmt::format("{}, {}, {}\n", key_of(document.algorithm), plural(document.ranks, "rank"),
                              plural(document.bytes, "byte")));
  for (std::size_t t = 0; on && t < document.trees.size(); ++t) {
    on = write(fmt::format("\ntree {}\n", t + 1));
    for (std::size_t rank = 0; rank < document.trees[t].size(); ++rank)
      if (document.trees[t][rank].parent < 0) draw(document.trees[t], int(rank), write);
  }
  if (document.steps_omitted) {
    write("\nsteps omitted at this size; --steps shows them\n");
    return;
  }
  if (!on || !document.each_step) return;
  int rank = -1;
  document.each_step([&](const collective::Step& step) {
    if (!on) return;
    if (step.rank != rank) {
      rank = step.rank;
      on = write(fmt::format("\nrank {}\n", rank));
    }
    const bool out = step.kind == collective::Step::Kind::send;
    if (step.kind == collective::Step::Kind::copy) {
      on = on && write(fmt::format("  {:>5}  copy         {}\n", step.step, range_text(step.slice)));
    } else {
      on = on && write(fmt::format("  {:>5}  {:<12} {} {:<5} {}{}\n", step.step, key_of(step.kind),
                                   out ? "to  " : "from", step.peer, range_text(step.slice),
                                   step.lane == 0 ? "" : fmt::format("  lane {}", step.lane)));
    }
  });
}

void write_dot(const ops::ScheduleDocument& document, const Write& write) {
  bool on = write(fmt::format("digraph \"{} {}\" {{\n  node [shape=circle];\n", key_of(document.algorithm),
                              document.ranks));
  static constexpr std::string_view colours[] = {"black", "red", "blue", "darkgreen"};
  if (!document.trees.empty()) {
    for (std::size_t t = 0; t < document.trees.size(); ++t) {
      for (std::size_t rank = 0; rank < document.trees[t].size(); ++rank)
        for (const int child : document.trees[t][rank].children)
          on = on && write(fmt::format("  {} -> {} [color={}];\n", rank, child, colours[t % 4]));
    }
  } else if (document.each_step) {
    std::set<std::pair<int, int>> pairs;
    document.each_step([&](const collective::Step& step) {
      if (step.kind == collective::Step::Kind::send) pairs.emplace(step.rank, step.peer);
    });
    for (const auto& [from, to] : pairs) on = on && write(fmt::format("  {} -> {};\n", from, to));
  }
  if (on) write("}\n");
}

}  // namespace ringtrue::report
