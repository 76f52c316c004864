#include "report/json/json.h"
#include "report/json/value.h"
#include "run/counter_window.h"
#include "topology/counters.h"

namespace ringtrue::report {
namespace {

Json rate(const std::optional<BytesPerSecond>& r) {
  return r ? Json(r->value) : Json(nullptr);
}

Json node_value(const ideal::NodeFacts& node) {
  Json rails = Json::array();
  for (const ideal::Rail& rail : node.rails) {
    rails.push_back({{"nic", rail.nic},
                     {"port", rail.port},
                     {"port_Bps", rate(rail.port_rate)},
                     {"pcie_Bps", rate(rail.pcie)},
                     {"rate_Bps", rate(rail.rate)},
                     {"limit", rail.limit}});
  }
  return {{"node", node.node},
          {"gpus", node.gpus},
          {"intra_Bps", rate(node.intra)},
          {"intra_arithmetic", node.intra_arithmetic},
          {"inter_Bps", rate(node.inter)},
          {"inter_arithmetic", node.inter_arithmetic},
          {"rails_sum_Bps", rate(node.sum ? node.sum : node.inter)},
          {"rails", rails}};
}

}  // namespace

std::string json(const IdealDocument& document) {
  const ideal::Ideal& ideal = document.ideal;
  Json algorithms = Json::object(), attainable = Json::object(), in_network = Json::object(),
       inputs = Json::object(), by_algorithm = Json::object(), nodes = Json::array();
  for (const auto& a : ideal.algorithms) {
    const char* const name = key_of(a.algorithm);
    algorithms[name] = rate(a.busbw);
    attainable[name] = rate(a.attainable);
    by_algorithm[name] = a.arithmetic;
  }
  for (const auto& a : ideal.in_network) {
    in_network[a.name] = a.busbw.value;
    by_algorithm[a.name] = a.arithmetic;
  }
  for (const auto& input : ideal::list(document.inputs)) {
    inputs[input.name] = {{"value", maybe(input.value)}, {"origin", key_of(input.origin)}};
    if (!input.source.empty()) inputs[input.name]["source"] = input.source;
  }
  Json arithmetic = Json::array(), notes = Json::array();
  if (document.facts) {
    for (const auto& line : document.facts->arithmetic) arithmetic.push_back(line);
    for (const auto& line : document.facts->notes) notes.push_back(line);
    for (const auto& node : document.facts->nodes) nodes.push_back(node_value(node));
  }
  for (const auto& line : ideal.arithmetic) arithmetic.push_back(line);
  for (const auto& line : ideal.notes) notes.push_back(line);
  return dump({{"schema", "ringtrue.ideal/1"},
               {"bound_busbw_Bps", rate(ideal.bound)},
               {"inter_node_Bps", rate(ideal.inter_node)},
               {"intra_node_Bps", rate(ideal.intra_node)},
               {"bound_may_be_passed", ideal.may_be_passed},
               {"algorithms", algorithms},
               {"attainable", attainable},
               {"in_network", in_network},
               {"algorithm_arithmetic", by_algorithm},
               {"inputs", inputs},
               {"nodes", nodes},
               {"arithmetic", arithmetic},
               {"notes", notes}});
}

Json counters_value(const std::map<std::string, run::CounterWindow>& counters) {
  Json out = Json::array();
  for (const auto& [node, window] : counters) {
    Json changes = Json::array();
    for (const run::CounterChange& c : window.changes) {
      changes.push_back({{"device", c.device},
                         {"counter", c.counter},
                         {"class", key_of(topology::counter_class(c.counter))},
                         {"before", c.before},
                         {"after", c.after},
                         {"delta", topology::rise(c)},
                         {"saturated", c.saturated},
                         {"reset", c.reset}});
    }
    out.push_back({{"node", node}, {"seconds", window.seconds}, {"changes", changes}});
  }
  return out;
}

Json above_value(const std::optional<ideal::AboveIdeal>& above) {
  if (!above) return nullptr;
  return {{"likely", above->likely}, {"wrong_model", above->wrong_model}};
}

}  // namespace ringtrue::report
