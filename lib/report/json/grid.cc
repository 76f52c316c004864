#include "report/json/json.h"
#include "report/json/value.h"

namespace ringtrue::report {
namespace {

Json time_value(const ops::GridTime& time) {
  return {{"time_s", time.time_s}, {"deviation", time.deviation}};
}

Json cell_value(const ops::GridCell& c) {
  return {{"workers", c.workers},
          {"aggregators", c.aggregators},
          {"rate_Bps", c.rate_Bps},
          {"density", c.density},
          {"density_union", c.density_union},
          {"block", c.block},
          {"streams", c.streams},
          {"fusion", c.fusion},
          {"model_s", c.model_s},
          {"model_applies", c.applies},
          {"on_wire_s", c.on_wire_s},
          {"on_wire_deviation", c.on_wire_deviation},
          {"even", time_value(c.even)},
          {"drawn", time_value(c.drawn)},
          {"search_s", c.search_s},
          {"ring_s", c.ring_s},
          {"speedup", maybe(c.speedup)},
          {"model_speedup", maybe(c.model_speedup)}};
}

}  // namespace

std::string json(const ops::GridDocument& document) {
  return dump({{"schema", "ringtrue.grid/1"},
               {"simulated", true},
               {"bytes", document.bytes},
               {"placement", document.placement},
               {"overlap", key_of(document.overlap)},
               {"latency_s", document.latency_s},
               {"search_threads", document.search_threads},
               {"least_round_trips", document.min_round_trips},
               {"most_first_blocks", document.max_first_blocks},
               {"worst_deviation", maybe(document.worst)},
               {"worst_on_wire_deviation", maybe(document.worst_on_wire)},
               {"cells", array(document.cells, cell_value)}});
}

}  // namespace ringtrue::report
