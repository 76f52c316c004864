#include "report/json/json.h"
#include "report/json/value.h"
#include "run/gpu.h"

namespace ringtrue::report {
namespace {

Json matrix(const std::vector<std::vector<Maybe>>& rows) {
  return array(rows,
               [](const auto& row) { return array(row, [](const Maybe& cell) { return maybe(cell); }); });
}

Json end_value(const ops::SweepEnd& end) {
  return {{"node", end.node}, {"port", end.port ? Json(to_text(*end.port)) : Json(nullptr)}};
}

Json pair_value(const ops::SweepPair& p) {
  return {{"source", end_value(p.source)}, {"destination", end_value(p.destination)},
          {"rate_Bps", maybe(p.rate_Bps)}, {"latency_s", maybe(p.latency_s)},
          {"ratio", maybe(p.ratio)},       {"counters", counters_value(p.counters)},
          {"error", text_or_null(p.error)}};
}

}  // namespace

std::string json(const ops::SweepDocument& document) {
  return dump(
      {{"schema", "ringtrue.sweep/1"},
       {"nodes", document.nodes},
       {"bytes", document.bytes},
       {"transport", document.transport},
       {"expected_Bps", maybe(document.expected_Bps)},
       {"expected_origin", document.expected_origin},
       {"rate_Bps", matrix(document.rate_Bps)},
       {"latency_s", matrix(document.latency_s)},
       {"latency_origin", document.latency_origin},
       {"ports", array(document.ports, end_value)},
       {"pairs", array(document.pairs, pair_value)},
       {"coverage",
        {{"port_pairs_measured", document.port_pairs_measured()}, {"port_pairs", document.port_pairs}}},
       {"notes", document.notes},
       {"networks", networks_value(document.networks)},
       {"error", maybe_error(document.error)}});
}

namespace {

Json end_value(const run::GpuLimit::End& end) {
  if (end.index < 0) return nullptr;
  return {{"gpu", end.index}, {"uuid", end.uuid}, {"pci", text_or_null(end.pci)}};
}

Json limit_value(const diagnosis::GpuRate& r) {
  const run::GpuLimit& limit = r.limit;
  return {{"node", limit.node},
          {"kind", key_of(limit.kind)},
          {"gpu", end_value(limit.gpu)},
          {"peer", end_value(limit.peer)},
          {"host", text_or_null(key_of(limit.host))},
          {"numa", limit.numa < 0 ? Json(nullptr) : Json(limit.numa)},
          {"near", maybe(r.near)},
          {"rate_Bps", maybe(limit.rate)},
          {"latency_s", maybe(limit.latency)},
          {"ideal_Bps", maybe(r.ideal)},
          {"attainable_Bps", maybe(r.attainable)},
          {"origin", key_of(r.origin)},
          {"source", text_or_null(r.source)},
          {"ratio", maybe(r.ratio)},
          {"why_not", text_or_null(limit.why_not)}};
}

}  // namespace

std::string json(const ops::GpuSweepDocument& document) {
  return dump({{"schema", "ringtrue.sweep-gpu/1"},
               {"nodes", document.nodes},
               {"bytes", document.bytes},
               {"limits", array(document.limits.rates, limit_value)},
               {"findings", array(document.limits.findings, finding_value)},
               {"not_checked", array(document.limits.not_checked, not_checked_value)},
               {"thresholds", {{"warning", document.warning}, {"critical", document.critical}}},
               {"notes", document.notes},
               {"error", maybe_error(document.error)}});
}

}  // namespace ringtrue::report
