#include <fmt/format.h>

#include <algorithm>
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

namespace {

constexpr std::uint64_t max_drawn = 512, max_in_line = 64;  // blocks
constexpr std::size_t bitmap_indent = 14;

std::string block_text(const std::optional<ops::BlockIndex>& block) {
  return block ? fmt::format("{}", *block) : "none";
}

// Rows of the columns side by side: "#.#. .#" with a blank after each row, and a line's end in a long one.
std::string drawn(const std::vector<bool>& bitmap, std::uint64_t columns) {
  std::string out;
  for (std::size_t block = 0; block < bitmap.size(); ++block) {
    const std::uint64_t column = block % columns;
    if (block > 0 && column == 0)
      out += ' ';
    else if (column > 0 && column % max_in_line == 0)
      out.append("\n").append(bitmap_indent, ' ');
    out += bitmap[block] ? '#' : '.';
  }
  return out;
}

std::string worker_line(const ops::ExplainStep& step) {
  if (step.blocks.empty())
    return fmt::format(
        "    worker {} {}: it has none of the requested blocks\n", step.rank,
        step.kind == ops::ExplainStep::Kind::answer ? "sends an empty answer" : "stays silent");
  std::vector<std::string> parts;
  for (const ops::ExplainBlock& b : step.blocks)
    parts.push_back(
        fmt::format("block {}{}, its next is {}", b.block, b.zeros ? " (zeros)" : "", block_text(b.next)));
  return fmt::format("    worker {} -> rank {}: {}\n", step.rank, step.aggregator, fmt::join(parts, "; "));
}

// The sums, and what is multicast of them.
std::string result_lines(const ops::ExplainStep& step) {
  std::string out;
  std::vector<std::string> parts;
  for (const ops::ExplainBlock& b : step.blocks) {
    std::vector<std::string> workers, nexts;
    for (const int worker : b.workers) workers.push_back(fmt::format("worker {}", worker));
    for (const auto& next : b.nexts) nexts.push_back(block_text(next));
    out += fmt::format("    sum of block {} = {}; min(next) of [{}] = {}\n", b.block,
                       fmt::join(workers, " + "), fmt::join(nexts, ", "), block_text(b.next));
    parts.push_back(b.next ? fmt::format("block {}, requests {}", b.block, *b.next)
                           : fmt::format("block {}, column done", b.block));
  }
  return out + fmt::format("    rank {} => all workers: {}\n", step.rank, fmt::join(parts, "; "));
}

std::string stream_line(const ops::ExplainDocument& d, const ops::ExplainStep& step) {
  const std::uint64_t first = step.stream * d.omni.fusion, columns = d.omni.streams * d.omni.fusion;
  const std::uint64_t last = std::min({first + d.omni.fusion, columns, d.blocks}) - 1;
  return fmt::format(
      "\nstream {}: {}, aggregator {} (rank {})\n", step.stream,
      first == last ? fmt::format("column {}", first) : fmt::format("columns {} to {}", first, last),
      step.aggregator - d.omni.workers, step.aggregator);
}

}  // namespace

void write_text(const ops::ExplainDocument& d, const Style& style, const Write& sink) {
  const collective::Omni& omni = d.omni;
  bool on = true;
  const auto write = [&](const std::string& text) { on = on && sink(style.fit(text)); };
  write(fmt::format("omnireduce, {} (rank 0 to {}), {} (from rank {}), {} of {}, {} of {}{}\n",
                    plural(omni.workers, "worker"), omni.workers - 1, plural(omni.aggregators, "aggregator"),
                    omni.workers, plural(d.blocks, "block"), plural(omni.block, "element"),
                    plural(omni.streams, "stream"), plural(omni.fusion, "column"),
                    omni.acked ? ", every worker answers every round" : ""));
  if (d.blocks <= max_drawn) {
    const std::uint64_t columns = omni.streams * omni.fusion;
    write(fmt::format("\n# is a block with data, . one of zeros; {} per row, one in each column\n",
                      plural(std::min(columns, d.blocks), "block")));
    for (std::size_t w = 0; w < d.bitmaps.size(); ++w)
      on = on && sink(style.fit(fmt::format("  worker {:<4} {}\n", w, drawn(d.bitmaps[w], columns)),
                                bitmap_indent - 2));
  }
  if (d.steps_omitted) write("\nsteps omitted; --steps shows them\n");
  const ops::ExplainStep* before = nullptr;
  for (const ops::ExplainStep& step : d.steps) {
    if (d.steps_omitted || !on) break;
    const bool same_stream = before && before->stream == step.stream;
    if (!same_stream) write(stream_line(d, step));
    if (!same_stream || before->round != step.round)
      write(fmt::format("  round {}{}\n", step.round,
                        step.round == 0 ? ": the first block of each column, zeros or not" : ""));
    write(step.kind == ops::ExplainStep::Kind::multicast ? result_lines(step) : worker_line(step));
    before = &step;
  }
  write("\n");
  for (std::size_t w = 0; w < d.counts.worker_packets.size(); ++w)
    write(fmt::format("worker {}: {}, {}\n", w, plural(d.counts.worker_packets[w], "packet"),
                      plural(d.counts.worker_blocks[w], "block")));
  write(fmt::format("results: {}, as {}\n", plural(d.counts.multicasts, "multicast"),
                    plural(d.counts.aggregator_packets(), "packet")));
}

}  // namespace ringtrue::report
