#include <fmt/format.h>

#include <cmath>
#include <span>
#include <tuple>

#include "base/plural.h"
#include "report/table.h"
#include "report/text/text.h"

namespace ringtrue::report {
namespace {

std::string deviation_text(double deviation) {
  return fmt::format("{:+.1f} %", deviation * 100);
}

// "80.6 ms   +0.8": a time, and by how many percent it is off.
std::string off_text(double seconds, double deviation) {
  return fmt::format("{:>7} {:>+5.{}f}", to_text(Seconds(seconds)), deviation * 100,
                     std::abs(deviation) < 0.9995 ? 1 : 0);
}

std::string factor_text(const Maybe& factor) {
  return factor ? fmt::format("{:.2f}x", *factor) : "-";
}

// What the cells of one table have in common; it is told above it.
auto part_of(const ops::GridCell& c) {
  return std::tuple(c.rate_Bps, c.workers, c.aggregators, c.streams, c.fusion, c.ring_s);
}

std::string part_text(std::span<const ops::GridCell> cells, const Style& style) {
  const ops::GridCell& first = cells.front();
  std::string out =
      style.fit(fmt::format("{}, {}, {}, {} of {}; the ring takes {}, the search {}\n",
                            rate_text(first.rate_Bps), plural(first.workers, "worker"),
                            plural(first.aggregators, "aggregator"), plural(first.streams, "stream"),
                            first.fusion, to_text(Seconds(first.ring_s)), to_text(Seconds(first.search_s))));
  const auto off = [](std::string_view header) { return fmt::format("{:>7} {:>5}", header, "%"); };
  Table table({"density", "model", {off("even")}, {off("on wire")}, {off("drawn")}, "speed", "model's"});
  for (const ops::GridCell& c : cells) {
    table.row({fmt::format("{:g} %{}", c.density * 100, c.applies ? " " : "*"), to_text(Seconds(c.model_s)),
               off_text(c.even.time_s, c.even.deviation), off_text(c.on_wire_s, c.on_wire_deviation),
               off_text(c.drawn.time_s, c.drawn.deviation), factor_text(c.speedup),
               factor_text(c.model_speedup)});
  }
  return out + table.text();
}

}  // namespace

std::string text(const ops::GridDocument& d, const Style& style) {
  std::string out =
      style.fit(style.paint(fmt::format("Simulated: omnireduce of {} bytes, {} aggregators, {} a hop",
                                        d.bytes, d.placement, to_text(Seconds(d.latency_s))),
                            Ink::bold)) +
      "\n";
  for (std::size_t i = 0, end; i < d.cells.size(); i = end) {
    for (end = i; end < d.cells.size() && part_of(d.cells[end]) == part_of(d.cells[i]);) ++end;
    out.append("\n").append(part_text({d.cells.data() + i, end - i}, style));
  }
  std::string legend = fmt::format(
      "\neven: the blocks are distributed evenly over the columns, the same on all workers; %: off the "
      "model\n"
      "on wire: the model with headers, first blocks, both hops and the packets that fill them; %: how far "
      "even "
      "is off it\n"
      "drawn: the blocks are drawn, {} on the workers, and held against the model at their densities; some "
      "columns, and so some aggregators, then have more work than others\n"
      "speed: of even, and the model's own, as against the ring; each with the search of a worker for its "
      "blocks that are not zero before it, by {}\n"
      "*: outside of the model: the data takes less than {:g} round trips, or first blocks, which are sent "
      "even if zero, are more than {:g} % of it\n",
      d.overlap == collective::Overlap::same ? "the same" : key_of(d.overlap),
      plural(d.search_threads, "thread"), d.min_round_trips, d.max_first_blocks * 100);
  if (d.worst)
    legend += fmt::format("largest deviation where the model applies: {}\n", deviation_text(*d.worst));
  if (d.worst_on_wire)
    legend +=
        fmt::format("largest deviation from the model on the wire: {}\n", deviation_text(*d.worst_on_wire));
  return out + style.fit(legend);
}

}  // namespace ringtrue::report
