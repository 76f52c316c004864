#include "report/json/json.h"
#include "report/json/value.h"

namespace ringtrue::report {
namespace {

Json matrix(const std::vector<std::vector<Maybe>>& rows) {
  Json out = Json::array();
  for (const auto& row : rows) {
    Json cells = Json::array();
    for (const Maybe& cell : row) cells.push_back(maybe(cell));
    out.push_back(std::move(cells));
  }
  return out;
}

Json end_value(const SweepEnd& end) {
  return {{"node", end.node}, {"port", end.port ? Json(to_text(*end.port)) : Json(nullptr)}};
}

}  // namespace

std::string json(const SweepDocument& document) {
  Json ports = Json::array(), pairs = Json::array();
  long measured = 0;
  for (const SweepEnd& end : document.ports) ports.push_back(end_value(end));
  for (const SweepPair& p : document.pairs) {
    measured += p.source.port && p.source.node != p.destination.node && p.rate_Bps;
    pairs.push_back({{"source", end_value(p.source)},
                     {"destination", end_value(p.destination)},
                     {"rate_Bps", maybe(p.rate_Bps)},
                     {"latency_s", maybe(p.latency_s)},
                     {"ratio", maybe(p.ratio)},
                     {"counters", counters_value(p.counters)},
                     {"error", p.error.empty() ? Json(nullptr) : Json(p.error)}});
  }
  return dump({{"schema", "ringtrue.sweep/1"},
               {"nodes", document.nodes},
               {"bytes", document.bytes},
               {"transport", document.transport},
               {"expected_Bps", maybe(document.expected_Bps)},
               {"expected_origin", document.expected_origin},
               {"rate_Bps", matrix(document.rate_Bps)},
               {"latency_s", matrix(document.latency_s)},
               {"latency_origin", document.latency_origin},
               {"ports", ports},
               {"pairs", pairs},
               {"coverage", {{"port_pairs_measured", measured}, {"port_pairs", document.port_pairs}}},
               {"notes", document.notes},
               {"error", maybe_error(document.error)}});
}

}  // namespace ringtrue::report
