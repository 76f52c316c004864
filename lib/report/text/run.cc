#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <iterator>
#include <string_view>

#include "base/plural.h"
#include "base/units.h"
#include "report/alike.h"
#include "report/table.h"
#include "report/text/run_lines.h"
#include "report/text/text.h"

namespace ringtrue::report {
namespace {

// nccl-tests' unit where links are fast, a smaller one where it would only show zeros.
struct Unit {
  double value;
  std::string_view name;
};

Unit unit_of(bool giga) {
  return giga ? Unit{1e9, "GB/s"} : Unit{1e6, "MB/s"};
}

// `ideals`: what later rows may reach counts, too.
bool is_fast(const std::vector<ops::RunResult>& results, bool ideals) {
  double max = 0;
  for (const ops::RunResult& r : results)
    max = std::max(
        {max, r.algbw_Bps.value_or(0), r.busbw_Bps.value_or(0), ideals ? r.ideal_busbw_Bps.value_or(0) : 0});
  return max >= 1e9;
}

// The text behind its first lines.
std::string behind(std::string_view text, std::size_t lines) {
  for (; lines > 0 && !text.empty(); --lines)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return std::string(text);
}

std::string number(double value) {
  if (value >= 1000) return fmt::format("{:.0f}", value);
  if (value >= 100) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

std::string in(const Unit& unit, const Maybe& rate) {
  return rate ? number(*rate / unit.value) : "-";
}

std::string ratio_cell(const ops::RunResult& r, const Style& style) {
  if (!r.ratio) return "-";
  const std::string text = fmt::format("{:.1f}", *r.ratio * 100);
  // Above the ideal the model is wrong, not the machine good.
  return *r.ratio > 1.005 ? style.paint(text + "!", Ink::yellow) : text;
}

std::string wrong_cell(const ops::RunResult& r, const Style& style) {
  if (!r.wrong) return "N/A";
  return *r.wrong == 0 ? "0" : style.paint(fmt::format("{}", *r.wrong), Ink::red);
}

std::string spread_cell(const ops::RunResult& r) {
  if (!r.time_s || r.iterations < 2 || r.time_s->median <= 0) return "-";
  return fmt::format("{:.1f}", (r.time_s->max - r.time_s->min) / 2 / r.time_s->median * 100);
}

std::string hop_name(const run::Hop& hop, const ops::RunDocument& document) {
  const int workers = document.workers() > 0 ? document.workers() : INT_MAX;
  const auto end = [&](int rank) {
    std::string name =
        rank < workers ? fmt::format("{}", rank) : fmt::format("aggregator {}", rank - workers);
    if (std::size_t(rank) < document.rank_nodes.size())
      name += fmt::format(" ({})", document.rank_nodes[std::size_t(rank)]);
    return name;
  };
  return fmt::format("{} > {}", end(hop.source), end(hop.destination));
}

// A line for the nodes that went alike: "RDMA on 8 nodes: mlx5_0:1, path MTU 4096, memory: host".
std::string rdma_text(const std::vector<run::RdmaUse>& rows) {
  AlikeNodes alike;
  for (const run::RdmaUse& row : rows) {
    std::string how;
    for (const run::RdmaPort& port : row.ports) how += (how.empty() ? "" : " ") + to_text(port);
    if (row.mtu > 0) how += fmt::format(", path MTU {}", row.mtu);
    how += fmt::format(", memory: {}", row.memory);
    alike.add(how, row.gid.empty() ? row.node : fmt::format("{} ({})", row.node, row.gid));
  }
  std::string out;
  for (const auto& [how, nodes] : alike.all())
    out += fmt::format("RDMA on {}: {}\n",
                       nodes.size() == 1 ? nodes[0] : fmt::format("{} nodes", nodes.size()), how);
  return out;
}

// "GPU 0 of node1 (NVIDIA H100 80GB HBM3, GPU-8d1c...): ranks 0, 1; kernel, same-gpu".
std::string gpus_text(const std::vector<run::GpuUse>& rows) {
  std::string out;
  for (const run::GpuUse& row : rows) {
    out +=
        fmt::format("GPU {} of {} ({}, {}): {} {}; {}", row.index, row.node, row.name, row.uuid,
                    row.ranks.size() == 1 ? "rank" : "ranks", fmt::join(row.ranks, ", "), key_of(row.play));
    for (const run::GpuWay way : row.ways) out.append(", ").append(key_of(way));
    out += "\n";
  }
  return out;
}

std::string name_of(const run::Reference& reference) {
  return reference.how.empty() ? reference.library : fmt::format("{} ({})", reference.library, reference.how);
}

std::string hops_text(const ops::RunDocument& document, const Style& style) {
  std::vector<std::pair<double, const run::Hop*>> rated;
  for (const run::Hop& hop : document.hops)
    if (const auto rate = hop.rate()) rated.emplace_back(rate->value, &hop);
  // In shared memory the rates of hops are those of one and the same memory.
  if (rated.size() < 2 || document.results.empty() ||
      document.results.back().transports == std::vector{run::Transport::shm})
    return "";
  std::stable_sort(rated.begin(), rated.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const double median = rated[rated.size() / 2].first;
  std::string out = style.fit(fmt::format("\nSlowest hops while they carried data (median of {}: {}):\n",
                                          rated.size(), rate_text(median)));
  Table table({left("hop"), "rate", "of median", "busy", "bytes"});
  for (std::size_t i = 0; i < std::min<std::size_t>(rated.size(), 4); ++i) {
    const auto& [rate, hop] = rated[i];
    table.row({hop_name(*hop, document), rate_text(rate), percent_text(rate / median), to_text(hop->busy),
               fmt::format("{}", hop->bytes.value)});
  }
  return out + table.text(2);
}

// A row a result, nccl-tests' columns. A model is exact and checks nothing, and all of its rows are of one
// type.
std::string results_text(const ops::RunDocument& document, const Unit& unit, bool live, const Style& style) {
  std::vector<Table::Column> columns = {left("algorithm"), "size (B)"};
  if (document.simulated) {
    columns.insert(columns.end(), {"time\n(us)",
                                   {fmt::format("algbw\n({})", unit.name)},
                                   {fmt::format("busbw\n({})", unit.name)},
                                   "ideal",
                                   "% of\nideal",
                                   "messages"});
  } else {
    columns.insert(columns.end(), {"count",
                                   "type",
                                   "redop",
                                   "time (us)",
                                   "+- %",
                                   {fmt::format("algbw ({})", unit.name)},
                                   {fmt::format("busbw ({})", unit.name)},
                                   "ideal",
                                   "% of ideal",
                                   "#wrong"});
  }
  // Of algorithm, size, count, type, redop, time, spread, algbw, busbw, ideal, % of ideal, #wrong.
  constexpr std::size_t widths[] = {9, 11, 10, 8, 5, 9, 5, 12, 12, 6, 10, 6};
  for (std::size_t c = 0; live && c < std::min(columns.size(), std::size(widths)); ++c)
    columns[c].header = columns[c].align == Table::Align::left
                            ? fmt::format("{:<{}}", columns[c].header, widths[c])
                            : fmt::format("{:>{}}", columns[c].header, widths[c]);
  Table table(columns);
  const auto add = [&](const ops::RunResult& r, std::string name) {
    const std::string time = r.time_s ? number(r.time_s->median * 1e6) : "-";
    const std::vector<std::string> rates = {in(unit, r.algbw_Bps), in(unit, r.busbw_Bps),
                                            in(unit, r.ideal_busbw_Bps), ratio_cell(r, style)};
    std::vector<std::string> row = {std::move(name), fmt::format("{}", r.bytes)};
    if (!document.simulated) row.insert(row.end(), {fmt::format("{}", r.count), r.type, r.op});
    row.push_back(time);
    if (!document.simulated) row.push_back(spread_cell(r));
    row.insert(row.end(), rates.begin(), rates.end());
    row.push_back(!document.simulated ? wrong_cell(r, style)
                  : r.messages        ? fmt::format("{}", *r.messages)
                                      : "-");
    table.row(std::move(row));
  };
  for (std::size_t i = 0; i < document.results.size(); ++i) {
    add(document.results[i], key_of(document.results[i].algorithm));
    if (i < document.rings.size()) add(document.rings[i], key_of(document.rings[i].algorithm));
    if (i < document.references.size() && document.references[i].reference.why_not.empty())
      add(document.references[i].result, name_of(document.references[i].reference));
  }
  return table.text();
}

std::string model_text(const ops::Simulated& model, const std::string& algorithm, std::uint64_t bytes) {
  std::string out;
  if (!model.method.empty()) out += fmt::format("method: {}; links: {}\n", model.method, model.sharing);
  if (const auto& c = model.calibration) {
    out += fmt::format("calibrated by {}{}: {} after {}, {} a slice{}; off by up to {:.1f} %\n", c->file,
                       c->of_model ? " (simulated, nothing measured)" : "", to_text(c->rate),
                       to_text(c->latency), to_text(c->overhead),
                       c->bucket.value > 0 ? fmt::format(", a bucket of {}", to_text(c->bucket)) : "",
                       c->worst * 100);
    for (const ops::Calibrated::Sample& s : c->samples) {
      out += fmt::format("  {} of {}: {} {}, simulated {}, {:+.1f} %\n", s.algorithm, to_text(Bytes(s.bytes)),
                         c->of_model ? "there" : "measured", to_text(s.measured), to_text(s.simulated),
                         s.deviation() * 100);
    }
  }
  for (const std::string& fault : model.faults) out += fmt::format("fault: {}\n", fault);
  if (const auto& c = model.comparison) {
    out += fmt::format("{} takes {} for {} bytes; {} takes {:.3g} times as long", c->algorithm,
                       to_text(Seconds(c->time_s)), bytes, algorithm, c->ratio);
    if (c->published) {
      out += fmt::format(" (published for NCCL's ring against its double tree on 24,576 GPUs: up to {:g}x)",
                         *c->published);
    }
    out += "\n";
  }
  if (const auto& f = model.fix) {
    const auto time = [](const std::optional<double>& t) {
      return t ? to_text(Seconds(*t)) : std::string("never completes");
    };
    out += fmt::format("without {}: {} -> {}", fmt::join(f->faults, "; "), time(f->time_s),
                       time(f->fixed_time_s));
    if (f->gain) out += fmt::format(", {:.1f} % faster", *f->gain * 100);
    out += "\n";
  }
  return out;
}

}  // namespace

std::string RunLines::next(const ops::RunDocument& document) {
  if (document.results.size() <= rows_) return "";
  std::string out;
  if (rows_ == 0) {
    const ops::RunResult& first = document.results.front();
    out += style_.paint(fmt::format("{}{}, {}", document.simulated ? "Simulated: " : "", document.where,
                                    transport_text(first.transports)),
                        Ink::bold);
    if (!first.congestion.empty()) out += fmt::format(" ({})", first.congestion);
    out += "\n";
    // The reason begins with the algorithm's name and the size.
    for (; choices_ < document.choices.size(); ++choices_)
      out += fmt::format("auto: {}\n", document.choices[choices_].made.reason);
    if (document.simulated) out += fmt::format("of {}, {}\n", first.type, first.op);
    out = style_.fit(out);
    giga_ = is_fast(document.results, live_);
  }
  const std::string table = results_text(document, unit_of(giga_), live_, style_);
  out += behind(table, lines_);
  lines_ = std::size_t(std::count(table.begin(), table.end(), '\n'));
  rows_ = document.results.size();
  return out;
}

std::string RunLines::rest(const ops::RunDocument& document) {
  std::string above = next(document), out;
  if (!document.results.empty()) {
    for (; choices_ < document.choices.size(); ++choices_)
      out += fmt::format("auto: {}\n", document.choices[choices_].made.reason);
    const ops::RunResult& last = document.results.back();
    if (last.attainable_busbw_Bps || last.bound_busbw_Bps) {
      out += fmt::format("attainable {}, bound {}\n", rate_text(last.attainable_busbw_Bps),
                         rate_text(last.bound_busbw_Bps));
    }
    std::vector<ops::RunResult> all = document.results;
    all.insert(all.end(), document.rings.begin(), document.rings.end());
    for (const ops::RunResult& r : all) {
      if (r.wrong.value_or(0) == 0) continue;
      std::string ranks;
      for (std::size_t rank = 0; rank < r.wrong_by_rank.size(); ++rank) {
        if (r.wrong_by_rank[rank] > 0) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
      }
      out += style_.line(fmt::format("wrong results: {} at {}: {}, on rank {}", key_of(r.algorithm),
                                     plural(r.bytes, "byte"), plural(*r.wrong, "element"), ranks),
                         Ink::red);
    }
    for (const ops::RunResult& r : all) {
      if (!r.above || !r.busbw_Bps || !r.ideal_busbw_Bps) continue;
      out += style_.line(
          fmt::format("{} of {} bytes: {}", key_of(r.algorithm), r.bytes,
                      r.above->text(BytesPerSecond(*r.busbw_Bps), BytesPerSecond(*r.ideal_busbw_Bps))),
          Ink::yellow);
    }
    out += gpus_text(document.gpus);
    out += rdma_text(document.rdma);
    out += networks_text(document.networks);
    if (document.simulated) out += model_text(document.model, key_of(last.algorithm), last.bytes);
    out += counters_text(document.counters, "during the run", style_);
    if (last.rejected_connections > 0) {
      out += style_.line(
          fmt::format("rejected {}", plural(last.rejected_connections, "unauthenticated data connection")),
          Ink::yellow);
    }
    above += style_.fit(out);
    out.clear();
    if (last.omni) above += omni_text(last, style_);
    above += hops_text(document, style_);
  }
  out += notes_text(document.notes, style_);
  if (document.error)
    out += failures_text(*document.error, style_) + deadlines_text(document.deadlines, *document.error);
  return above + style_.fit(out);
}

std::string text(const ops::RunDocument& document, const Style& style) {
  RunLines lines(style);
  return lines.rest(document);
}

}  // namespace ringtrue::report
