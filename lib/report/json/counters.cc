#include "topology/counters.h"
#include "report/json/value.h"

namespace ringtrue::report {

Json counters_value(const std::map<std::string, run::CounterWindow>& counters) {
  const auto change = [](const run::CounterChange& c) {
    Json out = record_value(c);
    out["class"] = key_of(topology::counter_class(c.counter));
    out["delta"] = topology::rise(c);
    return out;
  };
  Json out = Json::array();
  for (const auto& [node, window] : counters)
    out.push_back({{"node", node}, {"seconds", window.seconds}, {"changes", array(window.changes, change)}});
  return out;
}

}  // namespace ringtrue::report
