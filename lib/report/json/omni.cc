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

}  // namespace

void add_omni_counts(Json& out, const ops::OmniResult& omni, bool simulated) {
  out["worker_packets"] = omni.worker_packets;
  out["worker_blocks"] = omni.worker_blocks;
  out["multicasts"] = omni.multicasts;
  out["aggregator_packets"] = omni.aggregator_packets;
  if (!simulated) return;
  Json streams = Json::array();
  for (const ops::OmniStream& s : omni.order) streams.push_back({{"rounds", s.rounds}, {"order", s.order}});
  out["streams"] = std::move(streams);
}

Json omni_value(const ops::OmniResult& omni) {
  Json receive = Json::array();
  for (const ops::OmniReceive& r : omni.receive) {
    receive.push_back({{"rank", r.rank},
                       {"node", r.node.empty() ? Json(nullptr) : Json(r.node)},
                       {"bytes", r.bytes},
                       {"rate_Bps", maybe(r.rate_Bps)}});
  }
  return {{"workers", omni.workers},
          {"aggregators", omni.aggregators},
          {"placement", omni.placement},
          {"block", omni.block},
          {"streams", omni.streams},
          {"fusion", omni.fusion},
          {"acked", omni.acked},
          {"density", maybe(omni.density)},
          {"density_union", maybe(omni.density_union)},
          {"resent", omni.resent},
          {"dropped", omni.dropped},
          {"bytes_sent", omni.bytes_sent},
          {"bytes_dense", omni.bytes_dense},
          {"model", omni.model ? model_value(*omni.model) : Json(nullptr)},
          {"ring", omni.ring ? ring_value(*omni.ring) : Json(nullptr)},
          {"share", maybe(omni.share)},
          {"receive", std::move(receive)}};
}

}  // namespace ringtrue::report
