#include "diagnosis/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "diagnosis/findings/findings.h"
#include "diagnosis/findings/trunk_findings.h"

namespace ringtrue::diagnosis {
namespace {

constexpr double hardly_anything = 0.6;  // of what is typical: a port seen once is told below it
constexpr double far_slower = 0.8;       // and a hop

Measured measured(const Evidence& evidence, const Structure& fabric, const Inference& inference) {
  return {evidence,  inference.rated(evidence.readings),
          inference, inference.thresholds,
          fabric,    evidence.latencies.late(fabric, int(evidence.names.size()))};
}

void add_trunks(const Evidence& evidence, const Inference& inference, const Thresholds& thresholds,
                Diagnosis& to) {
  add_trunks({*evidence.crossings, evidence.trunks, inference.reference.rate, evidence.unmet}, thresholds,
             to);
  if (to.rates.empty()) return;
  for (const auto& seen : evidence.over_trunks) {
    for (const HopReading& hop : seen.observation.hops) {
      auto& known = to.rates[std::size_t(hop.source)][std::size_t(hop.destination)];
      const auto rate = hop.rate();
      if (evidence.readings.of(hop.source, hop.destination).empty() && rate &&
          (!known || known->value < *rate))
        known = BytesPerSecond(*rate);
    }
  }
}

Expected expected(const Evidence& evidence, const Standards& standards, const Inference& inference) {
  const Reference& r = inference.reference;
  Expected out = standards.declared();
  if (r.rate <= 0) return out;
  if (const auto attainable = standards.attainable()) {
    if (r.rate != *attainable) out.of_most = BytesPerSecond(r.rate);
    return out;
  }
  const auto nodes = evidence.names.size();
  return {BytesPerSecond(r.rate), ideal::Origin::fleet_majority,
          nodes == 2
              ? std::string("the faster of the two directions")
              : fmt::format("upper median of what {} nodes send and receive at their best{}", nodes,
                            inference.generations.empty() ? "" : ", slower generations for their ports")};
}

// What findings are added to.
Diagnosis nothing_found(const Evidence& evidence, const Standards& standards, const Inference& inference) {
  Diagnosis out;
  out.nodes = evidence.names;
  out.rails = evidence.rails;
  out.ring_busbw = evidence.ring_busbw;
  out.expected = expected(evidence, standards, inference);
  return out;
}

// Hints that nothing was measured for.
void add_seen_once(const Evidence& evidence, const Inference& inference, Diagnosis& to) {
  const auto& slowest = evidence.slowest_hop;
  if (slowest && slowest->rate < far_slower * slowest->typical &&
      evidence.readings.of(slowest->source, slowest->destination).empty()) {
    to.not_checked.push_back(
        {StatementKind::seen_once,
         {to.nodes[std::size_t(slowest->source)], to.nodes[std::size_t(slowest->destination)]},
         {{"rate_Bps", slowest->rate}, {"typical_Bps", slowest->typical}}});
  }
  for (const PortReading& port : evidence.ports) {
    const auto& side = port.receives ? inference.receives : inference.sends;
    if (port.rate >= hardly_anything * port.typical || side[std::size_t(port.node)]) continue;
    to.not_checked.push_back(
        {StatementKind::port_seen_once,
         {to.nodes[std::size_t(port.node)]},
         {{"receives", port.receives}, {"rate_Bps", port.rate}, {"typical_Bps", port.typical}}});
  }
}

}  // namespace

std::optional<double> Standards::attainable() const {
  if (!link_rate) return std::nullopt;
  return link_rate->value * (efficiency ? *efficiency : *ideal::ethernet_tcp()).share;
}

Expected Standards::declared() const {
  const auto rate = attainable();
  if (!rate) return {};
  const ideal::Efficiency by = efficiency ? *efficiency : *ideal::ethernet_tcp();
  return {BytesPerSecond(*rate), ideal::Origin::declared,
          fmt::format("link rate {} x {:.1f} % ({}) = {}", to_text(*link_rate), by.share * 100, by.source,
                      to_text(BytesPerSecond(*rate)))};
}

Inference infer(const Evidence& evidence, const Structure& fabric, const Standards& standards) {
  std::optional<double> nominal;
  if (standards.link_rate) nominal = standards.link_rate->value;
  Inference out =
      infer(evidence.readings, evidence.alone, standards.attainable(), nominal, standards.thresholds, fabric);
  std::erase_if(out.suspects, [&](const Suspect& s) {
    return evidence.is_dead(s.node) || (s.peer >= 0 && evidence.is_dead(s.peer));
  });
  return out;
}

Diagnosis found_so_far(const Evidence& evidence, const Structure& fabric, const Standards& standards,
                       const Inference& inference) {
  Diagnosis out = nothing_found(evidence, standards, inference);
  conclude(measured(evidence, fabric, inference), out);
  if (evidence.crossings) add_trunks(evidence, inference, standards.thresholds, out);
  return out;
}

Diagnosis diagnose(const Evidence& evidence, const Structure& fabric, const Standards& standards) {
  const Inference inference = infer(evidence, fabric, standards);
  Diagnosis out = nothing_found(evidence, standards, inference);
  out.counters = evidence.counters;
  out.runs = evidence.runs;
  out.cost = evidence.cost;
  out.error = evidence.error;
  out.not_checked = evidence.not_checked;
  const int n = int(out.nodes.size());
  if (n < 2) out.not_checked.push_back({StatementKind::no_wire, {}, {{"members", n}}});
  if (n == 2 && !standards.link_rate && !out.error)
    out.not_checked.push_back(StatementKind::alike_directions);
  add_seen_once(evidence, inference, out);
  conclude(measured(evidence, fabric, inference), out);
  if (evidence.crossings) add_trunks(evidence, inference, standards.thresholds, out);
  add_losses(
      evidence.losses, out.counters, out.rails, [&](const Scope& s) { return pace(s, evidence, inference); },
      inference.thresholds, out);
  evidence.time_to_detect.tell(out.findings, out.cost.runs);
  out.plans = advise(out);
  join_counters(out.counters, out.rails, "during the check", out.findings);
  if (out.coverage.pairs_measured < out.coverage.pairs && n >= 2) {
    out.not_checked.push_back(
        {StatementKind::single_paths,
         {},
         {{"pairs_measured", out.coverage.pairs_measured}, {"pairs", out.coverage.pairs}}});
  }
  return out;
}

Pace pace(const Scope& scope, const Evidence& evidence, const Inference& inference) {
  std::vector<double> rates;
  evidence.readings.each_pair([&](int x, int y) {
    if (!covers(scope, x, y)) return;
    for (const Reading& r : evidence.readings.of(x, y)) rates.push_back(r.rate);
  });
  if (rates.empty()) return {};
  const auto quarter = rates.begin() + std::ptrdiff_t(rates.size() / 4);
  std::nth_element(rates.begin(), quarter, rates.end(), std::greater<>());
  return {*quarter, inference.reference.rate};
}

}  // namespace ringtrue::diagnosis
