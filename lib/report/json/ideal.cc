#include "report/json/json.h"
#include "report/json/value.h"

namespace ringtrue::report {
namespace {

Json rail_value(const ideal::Rail& rail) {
  return {{"nic", rail.nic},
          {"port", rail.port},
          {"port_Bps", maybe(rail.port_rate)},
          {"pcie_Bps", maybe(rail.pcie)},
          {"rate_Bps", maybe(rail.rate)},
          {"limit", rail.limit}};
}

Json facts_value(const ideal::NodeFacts& node) {
  return {{"node", node.node},
          {"gpus", node.gpus},
          {"intra_Bps", maybe(node.intra)},
          {"intra_arithmetic", node.intra_arithmetic},
          {"inter_Bps", maybe(node.inter)},
          {"inter_arithmetic", node.inter_arithmetic},
          {"rails_sum_Bps", maybe(node.sum ? node.sum : node.inter)},
          {"rails", array(node.rails, rail_value)}};
}

}  // namespace

std::string json(const ops::IdealDocument& document) {
  const ideal::Ideal& ideal = document.ideal;
  Json algorithms = Json::object(), attainable = Json::object(), in_network = Json::object(),
       inputs = Json::object(), by_algorithm = Json::object();
  for (const auto& a : ideal.algorithms) {
    const char* const name = key_of(a.algorithm);
    algorithms[name] = maybe(a.busbw);
    attainable[name] = maybe(a.attainable);
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
  const ideal::Facts facts = document.facts.value_or(ideal::Facts());
  std::vector<std::string> arithmetic = facts.arithmetic, notes = facts.notes;
  arithmetic.insert(arithmetic.end(), ideal.arithmetic.begin(), ideal.arithmetic.end());
  notes.insert(notes.end(), ideal.notes.begin(), ideal.notes.end());
  return dump({{"schema", "ringtrue.ideal/1"},
               {"bound_busbw_Bps", maybe(ideal.bound)},
               {"inter_node_Bps", maybe(ideal.inter_node)},
               {"intra_node_Bps", maybe(ideal.intra_node)},
               {"bound_may_be_passed", ideal.may_be_passed},
               {"algorithms", algorithms},
               {"attainable", attainable},
               {"in_network", in_network},
               {"algorithm_arithmetic", by_algorithm},
               {"inputs", inputs},
               {"nodes", array(facts.nodes, facts_value)},
               {"arithmetic", arithmetic},
               {"notes", notes}});
}

Json above_value(const std::optional<ideal::AboveIdeal>& above) {
  if (!above) return nullptr;
  return {{"likely", above->likely}, {"wrong_model", above->wrong_model}};
}

}  // namespace ringtrue::report
