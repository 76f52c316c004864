#include "report/json/json.h"
#include "report/json/value.h"

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
       {"error", maybe_error(document.error)}});
}

}  // namespace ringtrue::report
