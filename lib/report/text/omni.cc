
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/plural.h"
#include "report/table.h"
#include "report/text/text.h"

namespace ringtrue::report {
namespace {

// "3 packets", "3 to 17 packets": of one call, over all workers.
std::string range_of(const std::vector<std::uint64_t>& counts, std::string_view what) {
  if (counts.empty()) return plural(0, what);
  const auto [low, high] = std::minmax_element(counts.begin(), counts.end());
  return *low == *high ? plural(*low, what) : fmt::format("{} to {}", *low, plural(*high, what));
}

std::string times_text(const Maybe& speedup) {
  return speedup ? fmt::format("{:.2f}x", *speedup) : "-";
}

std::string time_text(const Maybe& seconds) {
  return seconds ? to_text(Seconds(*seconds)) : "-";
}

// "blocks of 256, 8 streams of 4"
std::string shape_text(const collective::Omni& shape) {
  const std::string streams = plural(shape.streams, "stream");
  return shape.pairs > 0
             ? fmt::format("pairs with keys of {} bytes, {} of {}", shape.key_bytes, streams, shape.pairs)
             : fmt::format("blocks of {}, {} of {}", shape.block, streams, shape.fusion);
}

std::string model_text(const ops::OmniResult& omni) {
  if (!omni.model) return "model: unknown without --link-rate\n";
  std::string out = fmt::format("model: {} ({} the ring's speed); dedicated {}, colocated {}\n",
                                to_text(Seconds(omni.model->time_s)), times_text(omni.model->speedup),
                                time_text(omni.model->dedicated_s), time_text(omni.model->colocated_s));
  if (omni.model->on_wire_s)
    out += fmt::format("with headers, {}both hops: {}\n", omni.shape.pairs > 0 ? "" : "first blocks and ",
                       time_text(omni.model->on_wire_s));
  return out;
}

std::string ring_text(const ops::OmniResult& omni) {
  if (!omni.ring) return "";
  std::string out = fmt::format("ring on the same data: {}; omnireduce is {} as fast",
                                to_text(Seconds(omni.ring->time_s)), times_text(omni.ring->speedup));
  if (omni.share) out += fmt::format(", {} of the model's", percent_text(omni.share));
  return out + "\n";
}

std::string receive_text(const ops::OmniResult& omni, const Style& style) {
  std::vector<const ops::OmniReceive*> rated;
  for (const ops::OmniReceive& r : omni.receive) {
    if (r.rate_Bps) rated.push_back(&r);
  }
  if (rated.empty()) return "";
  std::stable_sort(rated.begin(), rated.end(), [](const ops::OmniReceive* a, const ops::OmniReceive* b) {
    return *a->rate_Bps < *b->rate_Bps;
  });
  const double median = *rated[rated.size() / 2]->rate_Bps;
  std::string out = style.fit(fmt::format("slowest aggregators while they received (median of {}: {}):\n",
                                          rated.size(), rate_text(median)));
  Table table({left(""), "", "", ""});
  constexpr std::size_t shown = 8;
  for (std::size_t i = 0; i < std::min(rated.size(), shown); ++i) {
    const ops::OmniReceive& r = *rated[i];
    const std::string name = fmt::format("aggregator {}{}", r.rank - omni.shape.workers,
                                         r.node.empty() ? "" : fmt::format(" on {}", r.node));
    const double share = *r.rate_Bps / median;
    table.row({share < 0.85 ? style.paint(name, Ink::yellow) : name, rate_text(r.rate_Bps),
               percent_text(share) + " of the median", amount_text(r.bytes)});
  }
  out += table.text(2);
  if (rated.size() > shown) out += fmt::format("  and {} more\n", rated.size() - shown);
  return out;
}

}  // namespace

std::string omni_text(const ops::RunResult& result, const Style& style) {
  const ops::OmniResult& omni = *result.omni;
  std::string out = fmt::format(
      "\n{}\n", style.paint(fmt::format("omnireduce: {}, {} ({}); {}{}", plural(omni.shape.workers, "worker"),
                                        plural(omni.shape.aggregators, "aggregator"), omni.placement,
                                        shape_text(omni.shape), omni.shape.acked ? ", acknowledged" : ""),
                            Ink::bold));
  if (!omni.format_why.empty())
    out += fmt::format("{}: {}\n", omni.shape.pairs > 0 ? "pairs" : "blocks", omni.format_why);
  if (omni.density) {
    out += fmt::format("density: {} of a worker's blocks, {} of all workers' together\n",
                       percent_text(omni.density), percent_text(omni.density_union));
  }
  if (omni.value_density) {
    out += fmt::format("values: {} of a worker's, {} of all workers' together\n",
                       percent_text(omni.value_density), percent_text(omni.value_density_union));
  }
  out += fmt::format("workers sent {}", amount_text(omni.bytes_sent));
  if (omni.bytes_dense > 0)
    out += fmt::format(" of {} dense ({})", amount_text(omni.bytes_dense),
                       percent_text(double(omni.bytes_sent) / double(omni.bytes_dense)));
  out += fmt::format(": each {}, {} in all; {} to all\n", range_of(omni.counts.worker_packets, "packet"),
                     omni.shape.pairs > 0 ? range_of(omni.counts.worker_pairs, "pair")
                                          : range_of(omni.counts.worker_blocks, "block"),
                     plural(omni.counts.multicasts, "result"));
  if (omni.counts.resent > 0 || omni.counts.dropped > 0)
    out +=
        fmt::format("resent {}, dropped {}\n", omni.counts.resent, plural(omni.counts.dropped, "duplicate"));
  out += model_text(omni) + ring_text(omni);
  // In shared memory the rates are those of one and the same memory.
  out = style.fit(out);
  return result.transports == std::vector{run::Transport::shm} ? out : out + receive_text(omni, style);
}

}  // namespace ringtrue::report
