#include "report/json/json.h"
#include "report/json/value.h"

namespace ringtrue::report {
namespace {

Json spread_value(const std::optional<ops::Spread>& spread) {
  if (!spread) return nullptr;
  return {{"min", spread->min}, {"median", spread->median}, {"max", spread->max}};
}

Json model_value(const ops::OmniModel& m) {
  return {{"time_s", m.time_s},
          {"speedup", maybe(m.speedup)},
          {"dedicated_s", maybe(m.dedicated_s)},
          {"colocated_s", maybe(m.colocated_s)},
          {"on_wire_s", maybe(m.on_wire_s)}};
}

Json ring_value(const ops::OmniRing& r) {
  return {{"transport", transport_text(r.transports)},
          {"time_s", r.time_s},
          {"algbw_Bps", maybe(r.algbw_Bps)},
          {"speedup", maybe(r.speedup)},
          {"wrong", maybe(r.wrong)}};
}

Json receive_value(const ops::OmniReceive& r) {
  return {
      {"rank", r.rank}, {"node", text_or_null(r.node)}, {"bytes", r.bytes}, {"rate_Bps", maybe(r.rate_Bps)}};
}

void add_omni_counts(Json& out, const ops::OmniResult& omni, bool simulated) {
  add_counts(out, omni.counts);
  if (!simulated) return;
  out["streams"] = array(omni.order, [](const auto& stream) -> Json {
    return {{"rounds", stream.rounds}, {"order", stream.order}};
  });
}

Json omni_value(const ops::OmniResult& omni) {
  Json out = record_value(omni.shape);
  const bool pairs = omni.shape.pairs > 0;
  if (!pairs) out["key_bytes"] = nullptr;
  out.update({{"format", pairs ? "pairs" : "block"},
              {"format_why", text_or_null(omni.format_why)},
              {"value_density", maybe(omni.value_density)},
              {"value_density_union", maybe(omni.value_density_union)},
              {"worker_pairs", omni.counts.worker_pairs},
              {"placement", omni.placement},
              {"density", maybe(omni.density)},
              {"density_union", maybe(omni.density_union)},
              {"resent", omni.counts.resent},
              {"dropped", omni.counts.dropped},
              {"bytes_sent", omni.bytes_sent},
              {"bytes_dense", omni.bytes_dense},
              {"model", omni.model ? model_value(*omni.model) : Json(nullptr)},
              {"ring", omni.ring ? ring_value(*omni.ring) : Json(nullptr)},
              {"share", maybe(omni.share)},
              {"receive", array(omni.receive, receive_value)}});
  return out;
}

void add_simulated(Json& out, const ops::Simulated& model) {
  out["method"] = text_or_null(model.method);
  out["sharing"] = text_or_null(model.sharing);
  out["faults"] = model.faults;
  if (const auto& c = model.comparison) {
    out["comparison"] = {{"algorithm", c->algorithm},
                         {"time_s", c->time_s},
                         {"ratio", c->ratio},
                         {"published_ratio", maybe(c->published)}};
  }
  if (const auto& c = model.calibration) {
    const auto sample = [](const ops::Calibrated::Sample& s) -> Json {
      return {{"algorithm", s.algorithm},
              {"bytes", s.bytes},
              {"measured_s", s.measured.value},
              {"simulated_s", s.simulated.value},
              {"deviation", s.deviation()}};
    };
    out["calibration"] = {{"file", c->file},
                          {"of_model", c->of_model},
                          {"latency_s", c->latency.value},
                          {"rate_Bps", c->rate.value},
                          {"overhead_s", c->overhead.value},
                          {"bucket_bytes", c->bucket.value},
                          {"worst", c->worst},
                          {"samples", array(c->samples, sample)}};
  }
  if (const auto& f = model.fix) {
    out["fix"] = {{"place", f->place},
                  {"faults", f->faults},
                  {"time_s", maybe(f->time_s)},
                  {"fixed_time_s", maybe(f->fixed_time_s)},
                  {"gain", maybe(f->gain)}};
  }
}

Json result_value(const ops::RunResult& r, bool simulated) {
  Json out = {{"algorithm", key_of(r.algorithm)},
              {"transport", transport_text(r.transports)},
              {"congestion", text_or_null(r.congestion)},
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
              {"ideal_origin", text_or_null(r.ideal_origin)},
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

// There may be millions.
Json hop_value(const run::Hop& hop, const ops::RunDocument& document, int workers) {
  const auto node_of = [&](int rank) -> Json {
    if (rank < 0 || std::size_t(rank) >= document.rank_nodes.size()) return nullptr;
    return document.rank_nodes[std::size_t(rank)];
  };
  Json row = Json::object();
  row.emplace("source", hop.source);
  row.emplace("destination", hop.destination);
  row.emplace("source_node", node_of(hop.source));
  row.emplace("destination_node", node_of(hop.destination));
  row.emplace("bytes", hop.bytes.value);
  const bool timed = hop.busy.value > 0 || hop.bytes.value == 0;
  row.emplace("busy_s", timed ? Json(hop.busy.value) : Json(nullptr));
  row.emplace("rate_Bps", maybe(hop.rate()));
  row.emplace("retransmits", hop.tcp ? Json(hop.tcp->retransmits) : Json(nullptr));
  if (hop.rdma) {
    Json rdma = record_value(*hop.rdma);
    rdma.erase("busy_s");
    for (std::size_t i = 0; i < hop.rdma->rails.size(); ++i) {
      const run::RdmaRail& rail = hop.rdma->rails[i];
      const bool busy = rail.busy.value > 0;
      rdma["rails"][i]["rate_Bps"] = busy ? Json((rail.bytes / rail.busy).value) : Json(nullptr);
    }
    row["rdma"] = std::move(rdma);
  }
  if (workers == 0) return row;
  row["source_role"] = hop.source < workers ? "worker" : "aggregator";
  row["destination_role"] = hop.destination < workers ? "worker" : "aggregator";
  return row;
}

Json choice_value(const ops::Choice& choice) {
  Json predictions = Json::object();
  for (const auto& [algorithm, time] : choice.made.predictions) predictions[key_of(algorithm)] = time.value;
  return {{"bytes", choice.bytes},
          {"algorithm", key_of(choice.made.algorithm->id)},
          {"reason", choice.made.reason},
          {"predicted_s", predictions}};
}

Json reference_value(const ops::ReferenceResult& r) {
  return {{"library", text_or_null(r.reference.library)},
          {"how", text_or_null(r.reference.how)},
          {"bytes", r.result.bytes},
          {"time_s", spread_value(r.result.time_s)},
          {"algbw_Bps", maybe(r.result.algbw_Bps)},
          {"busbw_Bps", maybe(r.result.busbw_Bps)},
          {"wrong", maybe(r.result.wrong)},
          {"why_not", text_or_null(r.reference.why_not)}};
}

}  // namespace

void add_counts(Json& out, const ops::OmniCounts& counts) {
  out["worker_packets"] = counts.worker_packets;
  out["worker_blocks"] = counts.worker_blocks;
  out["multicasts"] = counts.multicasts;
  out["aggregator_packets"] = counts.aggregator_packets();
}

std::string json(const ops::RunDocument& document) {
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
  if (!document.choices.empty()) out["choice"] = array(document.choices, choice_value);
  out["results"] =
      array(document.results, [&](const ops::RunResult& r) { return result_value(r, document.simulated); });
  const auto workers = document.workers();
  out["hops"] = array(document.hops, [&](const run::Hop& hop) { return hop_value(hop, document, workers); });
  if (!document.networks.empty()) out["networks"] = networks_value(document.networks);
  if (!document.rdma.empty()) {
    Json rdma = Json::array();
    for (const run::RdmaUse& use : document.rdma) {
      Json& row = rdma.emplace_back(record_value(use));
      row["gid"] = text_or_null(use.gid);
      if (use.mtu <= 0) row["path_mtu"] = nullptr;
    }
    out["rdma"] = std::move(rdma);
  }
  if (!document.references.empty()) out["references"] = array(document.references, reference_value);
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
