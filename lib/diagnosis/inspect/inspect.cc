#include "diagnosis/inspect/inspect.h"

#include "diagnosis/inspect/rule_context.h"

namespace ringtrue::diagnosis {

std::span<const Rule> rules() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> out;
    // Causes before what follows of them: a rule may keep quiet about a part that an earlier one named.
    for (const auto family : {pci_rules, nvlink_rules, gpu_rules, port_rules, counter_rules, affinity_rules,
                              system_rules, fleet_rules, fabric_rules})
      out.insert(out.end(), family.begin(), family.end());
    return out;
  }();
  return all;
}

Inspection inspect(const topology::Cluster& cluster, const run::InspectThresholds& limits) {
  Inspection out;
  std::vector<NodeView> nodes;
  nodes.reserve(cluster.nodes.size());
  for (const topology::Node& node : cluster.nodes) nodes.emplace_back(node, int(nodes.size()));
  RuleContext context(cluster, limits, nodes, out);
  for (const NodeView& seen : nodes) {
    const topology::Node& node = seen.node;
    const topology::Gap* const pci = node.find_gap(topology::gap::pci_devices);
    const topology::Gap* const netdevs = node.find_gap(topology::gap::netdevs);
    if (pci) context.missing(&seen, "", pci->why, pci->what);
    if (netdevs) context.missing(&seen, "", netdevs->why, netdevs->what);
    if (pci && netdevs) out.unread.push_back(node.name);
  }
  for (const Rule& rule : rules()) {
    context.begin(rule);
    rule.look(context);
  }
  context.end();
  return out;
}

}  // namespace ringtrue::diagnosis
