#include <fmt/format.h>

#include "base/hostlist.h"
#include "base/plural.h"
#include "report/table.h"
#include "report/text/text.h"
#include "report/text/wording.h"
#include "run/counter_window.h"
#include "run/gpu.h"
#include "topology/counters.h"

namespace ringtrue::report {
namespace {

constexpr std::size_t shown_pairs = 64;

std::string name(const ops::SweepEnd& end) {
  return end.port ? fmt::format("{} {}", end.node, to_text(*end.port)) : end.node;
}

std::string counters_line(const ops::SweepPair& pair) {
  std::string out = pair.error;
  for (const auto& [node, window] : pair.counters)
    for (const run::CounterChange& change : window.changes)
      out += fmt::format("{}{} {}", out.empty() ? "" : "; ", node, topology::text(change));
  return out;
}

// Ports by themselves; where there are very many, those that have something to say.
std::string pairs_text(const ops::SweepDocument& document, const Style& style) {
  const bool many = document.pairs.size() > shown_pairs;
  Table table({left("from"), left("to"), "rate", "latency, us", "of expected",
               left("counters that changed, or the error")});
  std::size_t rows = 0, left_out = 0;
  for (const ops::SweepPair& pair : document.pairs) {
    const std::string counters = counters_line(pair);
    const char mark = mark_of(pair.ratio, document.warning, document.critical);
    // Whole nodes are in the matrix.
    if (!pair.source.port && counters.empty()) continue;
    if (many && ((mark == ' ' && counters.empty()) || rows == shown_pairs)) {
      ++left_out;
      continue;
    }
    ++rows;
    table.row({name(pair.source), name(pair.destination), marked(rate_text(pair.rate_Bps), mark, style),
               pair.latency_s ? fmt::format("{:.1f}", *pair.latency_s * 1e6) : "-", percent_text(pair.ratio),
               counters});
  }
  std::string out;
  if (rows > 0) out += fmt::format("\n{}", table.text(2));
  if (left_out > 0) out += fmt::format("  and {}; --json has all\n", plural(left_out, "more pair"));
  return out;
}

}  // namespace

std::string text(const ops::SweepDocument& document, const Style& style) {
  std::string out;
  const std::size_t n = document.nodes.size();
  const std::string map = heat_map(document.nodes, document.rate_Bps,
                                   {document.expected_Bps, document.warning, document.critical}, style);
  if (!map.empty() || !document.pairs.empty()) {
    out += style.fit(
        style.paint(fmt::format("{}, {}, {} a pair, {}", plural(n, "node"), fold_hostlist(document.nodes),
                                to_text(Bytes(document.bytes)), document.transport),
                    Ink::bold));
    out += fmt::format("\n{}{}", map.empty() ? "" : "\n", map);
    if (document.expected_Bps) {
      out += style.fit(
          fmt::format("  expected: {} ({})\n", rate_text(document.expected_Bps), document.expected_origin));
    }
  }
  bool any_latency = false;
  std::vector<std::vector<std::string>> cells(n, std::vector<std::string>(n, "."));
  for (std::size_t i = 0; i < document.latency_s.size(); ++i) {
    for (std::size_t j = 0; j < document.latency_s[i].size(); ++j) {
      const Maybe& latency = document.latency_s[i][j];
      if (!latency) continue;
      any_latency = true;
      cells[i][j] = fmt::format("{:.{}f}", *latency * 1e6, *latency < 100e-6 ? 1 : 0);
    }
  }
  if (any_latency)
    out += fmt::format("\n{}, us\n{}", document.latency_origin, matrix_text(document.nodes, cells));
  out += pairs_text(document, style);
  if (document.port_pairs > 0) {
    const long measured = document.port_pairs_measured();
    out += style.fit(style.line(
        fmt::format("pairs of ports of different nodes: {} of {} measured{}", measured, document.port_pairs,
                    measured < document.port_pairs && !document.error ? "; --per-port measures all" : ""),
        Ink::dim));
  }
  out += style.fit(networks_text(document.networks));
  out += style.fit(notes_text(document.notes, style));
  if (document.error) out += failures_text(*document.error, style);
  return out;
}

namespace {

std::string way_of(const diagnosis::GpuRate& r) {
  const run::GpuLimit& limit = r.limit;
  if (limit.peer.index >= 0) return fmt::format("GPU {} with {}", limit.gpu.index, limit.peer.index);
  std::string way = fmt::format("GPU {}", limit.gpu.index);
  if (limit.host != run::GpuLimit::Host::none) way.append(", ").append(key_of(limit.host));
  if (limit.numa >= 0) way += fmt::format(", NUMA {}", limit.numa);
  if (r.near) way += *r.near ? " (near)" : " (far)";
  return way;
}

Maybe value_of(const std::optional<BytesPerSecond>& rate) {
  return rate ? Maybe(rate->value) : std::nullopt;
}

}  // namespace

std::string text(const ops::GpuSweepDocument& document, const Style& style) {
  std::string out, node;
  Table table({left("node"), left("what"), left("between"), "rate", "ideal", "attainable", "of attainable",
               "latency, us", left("")});
  for (const diagnosis::GpuRate& r : document.limits.rates) {
    const char mark = mark_of(r.ratio, document.warning, document.critical);
    table.row({r.limit.node == node ? "" : r.limit.node, key_of(r.limit.kind), way_of(r),
               rate_text(value_of(r.limit.rate)), rate_text(value_of(r.ideal)),
               rate_text(value_of(r.attainable)), marked(percent_text(r.ratio), mark, style),
               r.limit.latency ? fmt::format("{:.1f}", r.limit.latency->value * 1e6) : "-",
               r.limit.why_not.empty() ? r.source : r.limit.why_not});
    node = r.limit.node;
  }
  if (!document.limits.rates.empty()) {
    out += style.line(fmt::format("GPUs of {}, copies of {}", plural(document.nodes.size(), "node"),
                                  amount_text(document.bytes)),
                      Ink::bold) +
           table.text();
  }
  out += findings_text(document.limits.findings, style);
  for (const diagnosis::NotChecked& told : document.limits.not_checked) {
    const NotCheckedText n = not_checked(told);
    out += style.fit(style.line(fmt::format("not checked: {}: {}", n.what, n.why), Ink::dim));
  }
  out += style.fit(notes_text(document.notes, style));
  if (document.error) out += failures_text(*document.error, style);
  return out;
}

}  // namespace ringtrue::report
