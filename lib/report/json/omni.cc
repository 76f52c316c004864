#include "report/json/json.h"
#include "report/json/value.h"

namespace ringtrue::report {
namespace {

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

}  // namespace

void add_counts(Json& out, const ops::OmniCounts& counts) {
  out["worker_packets"] = counts.worker_packets;
  out["worker_blocks"] = counts.worker_blocks;
  out["multicasts"] = counts.multicasts;
  out["aggregator_packets"] = counts.aggregator_packets();
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
  out.update({{"placement", omni.placement},
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

}  // namespace ringtrue::report
