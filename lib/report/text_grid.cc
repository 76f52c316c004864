#include <fmt/format.h>

#include <cmath>

#include "report/grid.h"
#include "report/table.h"
#include "report/text.h"

namespace ringtrue::report {
namespace {

std::string deviation_text(double deviation) {
  return fmt::format("{:+.1f} %", deviation * 100);
}

std::string factor_text(const Maybe& factor) {
  return factor ? fmt::format("{:.2f}x", *factor) : "-";
}

}  // namespace

std::string text(const GridDocument& d, const Style& style) {
  std::string out =
      style.paint(fmt::format("Simulated: omnireduce of {} bytes, {} aggregators, {} after every hop",
                              d.bytes, d.placement, to_text(Seconds(d.latency_s))),
                  Ink::bold) +
      "\n";
  Table table({{"rate"},
               {"workers"},
               {"aggregators"},
               {"density"},
               {"streams"},
               {"model"},
               {"even"},
               {"deviation"},
               {"on the wire"},
               {"deviation"},
               {"drawn"},
               {"deviation"},
               {"ring"},
               {"speed-up"},
               {"model's"},
               {"", Table::Align::left}});
  for (const GridCell& c : d.cells) {
    table.row({rate_text(c.rate_Bps), fmt::format("{}", c.workers), fmt::format("{}", c.aggregators),
               fmt::format("{:g} %", c.density * 100), fmt::format("{} of {}", c.streams, c.fusion),
               to_text(Seconds(c.model_s)), to_text(Seconds(c.even.time_s)), deviation_text(c.even.deviation),
               to_text(Seconds(c.on_wire_s)), deviation_text(c.on_wire_deviation),
               to_text(Seconds(c.drawn.time_s)), deviation_text(c.drawn.deviation),
               to_text(Seconds(c.ring_s)), factor_text(c.speedup), factor_text(c.model_speedup),
               c.applies ? "" : "model n/a"});
  }
  out += table.text();
  out += "even: the blocks are dealt evenly over the columns, the same on all workers\n";
  out += "on the wire: the model with headers, first blocks, both hops and the packets that fill them\n";
  out += fmt::format(
      "drawn: they are drawn, {} on the workers, and held against the model at their densities; some "
      "columns, and so some aggregators, then have more to do than others\n",
      d.overlap == "same" ? "the same" : d.overlap);
  out += fmt::format(
      "model n/a: the data takes less than {:g} round trips, or first blocks, which go out whatever "
      "they hold, are more than {:g} % of it\n",
      d.least_round_trips, d.most_first_blocks * 100);
  if (d.worst)
    out += fmt::format("largest deviation where the model applies: {}\n", deviation_text(*d.worst));
  if (d.worst_on_wire)
    out +=
        fmt::format("largest deviation from the model on the wire: {}\n", deviation_text(*d.worst_on_wire));
  return out;
}

}  // namespace ringtrue::report
