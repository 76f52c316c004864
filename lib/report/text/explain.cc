#include <fmt/format.h>
#include "report/text/text.h"

#include <algorithm>

#include "base/plural.h"

namespace ringtrue::report {
namespace {

constexpr std::uint64_t max_drawn = 512, max_in_line = 64;  // blocks
constexpr std::size_t bitmap_indent = 14;

std::string block_text(const std::optional<ops::BlockIndex>& block) {
  return block ? fmt::format("{}", *block) : "none";
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string out;
  for (const std::string& part : parts) out.append(out.empty() ? "" : between).append(part);
  return out;
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

std::string packet_line(const ops::ExplainPacket& packet, const ops::ExplainRound& round) {
  if (packet.blocks.empty()) {
    return fmt::format("    worker {} {}\n", packet.worker,
                       packet.answers ? "sends an empty answer: it has none of the requested blocks"
                                      : "stays silent: it has none of the requested blocks");
  }
  std::vector<std::string> parts;
  for (const ops::ExplainBlock& b : packet.blocks) {
    parts.push_back(
        fmt::format("block {}{}, its next is {}", b.block, b.zeros ? " (zeros)" : "", block_text(b.next)));
  }
  return fmt::format("    worker {} -> rank {}: {}\n", packet.worker, round.aggregator, joined(parts, "; "));
}

std::string sum_line(const ops::ExplainSum& sum) {
  std::vector<std::string> workers, nexts;
  for (const int worker : sum.workers) workers.push_back(fmt::format("worker {}", worker));
  for (const auto& next : sum.nexts) nexts.push_back(block_text(next));
  return fmt::format("    sum of block {} = {}; min(next) of [{}] = {}\n", sum.block, joined(workers, " + "),
                     joined(nexts, ", "), block_text(sum.wanted));
}

std::string multicast_line(const ops::ExplainRound& round) {
  std::vector<std::string> parts;
  for (const ops::ExplainSum& sum : round.sums) {
    parts.push_back(sum.wanted ? fmt::format("block {}, requests {}", sum.block, *sum.wanted)
                               : fmt::format("block {}, column done", sum.block));
  }
  return fmt::format("    rank {} => all workers: {}\n", round.aggregator, joined(parts, "; "));
}

}  // namespace

void write_text(const ops::ExplainDocument& d, const Style& style, const Write& sink) {
  const auto write = [&](const std::string& text) { return sink(style.fit(text)); };
  bool on =
      write(fmt::format("omnireduce, {} (rank 0 to {}), {} (from rank {}), {} of {}, {} of {}{}\n",
                        plural(std::uint64_t(d.workers), "worker"), d.workers - 1,
                        plural(std::uint64_t(d.aggregators), "aggregator"), d.workers,
                        plural(d.blocks, "block"), plural(d.block, "element"), plural(d.streams, "stream"),
                        plural(d.fusion, "column"), d.acked ? ", every worker answers every round" : ""));
  const std::uint64_t columns = d.streams * d.fusion;
  if (d.blocks <= max_drawn) {
    on = on && write(fmt::format("\n# is a block with data, . one of zeros; {} per row, one in each column\n",
                                 plural(std::min(columns, d.blocks), "block")));
    for (std::size_t w = 0; w < d.bitmaps.size(); ++w)
      on = on && sink(style.fit(fmt::format("  worker {:<4} {}\n", w, drawn(d.bitmaps[w], columns)),
                                bitmap_indent - 2));
  }
  const ops::ExplainRound* before = nullptr;
  if (d.steps_omitted) on = on && write("\nsteps omitted; --steps shows them\n");
  for (const ops::ExplainRound& round : d.rounds) {
    if (d.steps_omitted) break;
    if (!before || before->stream != round.stream) {
      const std::uint64_t first = round.stream * d.fusion;
      const std::uint64_t last = std::min(first + d.fusion, std::min(columns, d.blocks)) - 1;
      const std::string which =
          first == last ? fmt::format("column {}", first) : fmt::format("columns {} to {}", first, last);
      on = on && write(fmt::format("\nstream {}: {}, aggregator {} (rank {})\n", round.stream, which,
                                   round.aggregator - d.workers, round.aggregator));
    }
    before = &round;
    on = on && write(fmt::format("  round {}{}\n", round.round,
                                 round.round == 0 ? ": the first block of each column, zeros or not" : ""));
    for (const ops::ExplainPacket& packet : round.packets) on = on && write(packet_line(packet, round));
    for (const ops::ExplainSum& sum : round.sums) on = on && write(sum_line(sum));
    on = on && write(multicast_line(round));
    if (!on) return;
  }
  on = on && write("\n");
  for (std::size_t w = 0; w < d.worker_packets.size(); ++w) {
    on = on && write(fmt::format("worker {}: {}, {}\n", w, plural(d.worker_packets[w], "packet"),
                                 plural(d.worker_blocks[w], "block")));
  }
  if (on) {
    write(fmt::format("results: {}, as {}\n", plural(d.multicasts, "multicast"),
                      plural(d.multicasts * std::uint64_t(d.workers), "packet")));
  }
}

}  // namespace ringtrue::report
