#include "report/json/json.h"
#include "report/json/omni.h"
#include "report/json/record.h"
#include "report/json/simulated.h"
#include "report/json/value.h"
#include "run/trace.h"

namespace ringtrue::report {
namespace {

Json spread_value(const std::optional<Spread>& spread) {
  if (!spread) return nullptr;
  return {{"min", spread->min}, {"median", spread->median}, {"max", spread->max}};
}

Json result_value(const RunResult& r, bool simulated) {
  Json out = {{"algorithm", key_of(r.algorithm)},
              {"transport", transport_text(r.transports)},
              {"congestion", r.congestion.empty() ? Json(nullptr) : Json(r.congestion)},
              {"ranks", r.ranks},
              {"bytes", r.bytes},
              {"count", r.count},
              {"type", r.type},
              {"op", r.op},
              {"iterations", r.iterations},
              {"batch", r.batch},
              {"time_s", spread_value(r.time_s)},
              {"algbw_Bps", maybe(r.algbw_Bps)},
              {"busbw_Bps", maybe(r.busbw_Bps)},
              {"ideal_busbw_Bps", maybe(r.ideal_busbw_Bps)},
              {"attainable_busbw_Bps", maybe(r.attainable_busbw_Bps)},
              {"bound_busbw_Bps", maybe(r.bound_busbw_Bps)},
              {"ideal_origin", r.ideal_origin.empty() ? Json(nullptr) : Json(r.ideal_origin)},
              {"ratio", maybe(r.ratio)},
              {"above_ideal", above_value(r.above)},
              {"cpu_s", maybe(r.cpu_s)},
              {"wrong", maybe(r.wrong)},
              {"wrong_by_rank", r.wrong_by_rank}};
  if (simulated) {
    out["simulated"] = true;
    out["messages"] = maybe(r.messages);
    out["bytes_sent"] = maybe(r.bytes_sent);
  } else {
    out["strangers"] = r.rejected_connections;
  }
  if (r.omni) {
    add_omni_counts(out, *r.omni, simulated);
    out["omnireduce"] = omni_value(*r.omni);
  }
  return out;
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

}  // namespace

std::string json(const RunDocument& document) {
  Json results = Json::array(), hops = Json::array(), choices = Json::array();
  for (const RunResult& r : document.results) results.push_back(result_value(r, document.simulated));
  const int workers = document.workers();
  for (const HopRow& hop : document.hops) {
    Json& row = hops.emplace_back(Json::object());  // there may be millions
    row.emplace("source", hop.source);
    row.emplace("destination", hop.destination);
    row.emplace("source_node", text_or_null(hop.source_node));
    row.emplace("destination_node", text_or_null(hop.destination_node));
    row.emplace("bytes", hop.bytes);
    row.emplace("busy_s", maybe(hop.busy_s));
    row.emplace("rate_Bps", maybe(hop.rate_Bps));
    row.emplace("retransmits", maybe(hop.retransmits));
    if (hop.rdma) {
      Json rails = Json::array();
      for (const run::RdmaRail& rail : hop.rdma->rails) {
        Json& part = rails.emplace_back(record_value(rail));
        part["rate_Bps"] = rail.busy.value > 0 ? Json((rail.bytes / rail.busy).value) : Json(nullptr);
      }
      row["rdma"] = {{"writes", hop.rdma->writes},
                     {"credit_limited_s", hop.rdma->credit_limited.value},
                     {"queue_limited_s", hop.rdma->queue_limited.value},
                     {"rails", std::move(rails)}};
    }
    if (workers == 0) continue;
    row["source_role"] = hop.source < workers ? "worker" : "aggregator";
    row["destination_role"] = hop.destination < workers ? "worker" : "aggregator";
  }
  for (const Choice& choice : document.choices) {
    Json predictions = Json::object();
    for (const auto& [algorithm, seconds] : choice.predictions) predictions[key_of(algorithm)] = seconds;
    choices.push_back({{"bytes", choice.bytes},
                       {"algorithm", key_of(choice.algorithm)},
                       {"reason", choice.reason},
                       {"predicted_s", predictions}});
  }
  Json out = {{"schema", document.simulated ? "ringtrue.simulate/1" : "ringtrue.run/1"},
              {"simulated", document.simulated}};
  if (!document.nodes.empty()) out["nodes"] = document.nodes;
  if (document.simulated && !document.results.empty()) {
    // Of the last result, where one would look for them first.
    out["messages"] = maybe(document.results.back().messages);
    out["bytes_sent"] = maybe(document.results.back().bytes_sent);
  }
  if (document.simulated) add_simulated(out, document.model);
  if (!document.results.empty() && document.results.back().omni)
    add_omni_counts(out, *document.results.back().omni, document.simulated);
  if (!document.notes.empty()) out["notes"] = document.notes;
  if (!choices.empty()) out["choice"] = choices;
  out["results"] = std::move(results);
  out["hops"] = std::move(hops);
  if (!document.rdma.empty()) {
    Json rdma = Json::array();
    for (const run::RdmaUse& use : document.rdma) {
      Json& row = rdma.emplace_back(record_value(use));
      row["gid"] = text_or_null(use.gid);
      if (use.mtu <= 0) row["path_mtu"] = nullptr;
    }
    out["rdma"] = std::move(rdma);
  }
  if (!document.references.empty()) {
    Json references = Json::array();
    for (const ReferenceRow& r : document.references)
      references.push_back({{"library", text_or_null(r.library)},
                            {"how", text_or_null(r.how)},
                            {"bytes", r.bytes},
                            {"time_s", spread_value(r.time_s)},
                            {"algbw_Bps", maybe(r.algbw_Bps)},
                            {"busbw_Bps", maybe(r.busbw_Bps)},
                            {"wrong", maybe(r.wrong)},
                            {"why_not", text_or_null(r.why_not)}});
    out["references"] = std::move(references);
  }
  if (!document.gpus.empty()) out["gpus"] = record_value(document.gpus);
  if (!document.events.empty()) out["events"] = record_value(document.events);
  if (!document.simulated) {
    out["counters"] = counters_value(document.counters);
    out["deadlines"] = maybe_deadlines(document.deadlines);
  }
  out["error"] = maybe_error(document.error);
  return dump(out);
}

}  // namespace ringtrue::report
