#include "diagnosis/inspect/inspect.h"

#include <array>

#include "base/suggest.h"
#include "diagnosis/inspect/rule_context.h"

namespace ringtrue::diagnosis {
namespace {

struct Named {
  std::string_view name;
  double InspectThresholds::*value;
  double low, high;
};

constexpr double any = 1e18;
constexpr std::array thresholds{
    Named{"symbol_error_per_s", &InspectThresholds::symbol_error_per_s, 0, any},
    Named{"symbol_error_per_hour", &InspectThresholds::symbol_error_per_hour, 0, any},
    Named{"link_error_recovery_per_min", &InspectThresholds::link_error_recovery_per_min, 0, any},
    Named{"port_rcv_errors_per_s", &InspectThresholds::port_rcv_errors_per_s, 0, any},
    Named{"port_xmit_discards_per_s", &InspectThresholds::port_xmit_discards_per_s, 0, any},
    Named{"carrier_changes", &InspectThresholds::carrier_changes, 0, any},
    Named{"pci_correctable_per_s", &InspectThresholds::pci_correctable_per_s, 0, any},
    Named{"nvlink_crc_per_s", &InspectThresholds::nvlink_crc_per_s, 0, any},
    Named{"memlock_bytes", &InspectThresholds::memlock_bytes, 0, any},
    Named{"pci_warning", &InspectThresholds::pci_warning, 0, 1},
    Named{"pci_critical", &InspectThresholds::pci_critical, 0, 1},
    Named{"majority", &InspectThresholds::majority, 0.5, 1},
};

}  // namespace

std::vector<std::pair<std::string, double>> list(const InspectThresholds& t) {
  std::vector<std::pair<std::string, double>> out;
  for (const Named& n : thresholds) out.emplace_back(n.name, t.*n.value);
  return out;
}

Result<void> set(InspectThresholds& t, std::string_view name, double value) {
  std::vector<std::string> known;
  for (const Named& n : thresholds) {
    known.emplace_back(n.name);
    if (n.name != name) continue;
    if (!(value >= n.low && value <= n.high)) {
      return fail(Cause::bad_input, fmt::format("inspect.{} is {}", name, value), {},
                  n.high == any ? "give a number that is not negative"
                                : fmt::format("give a number from {} to {}", n.low, n.high));
    }
    t.*n.value = value;
    return {};
  }
  const auto meant = closest(name, known);
  return fail(Cause::bad_input, fmt::format("unknown threshold '{}'", name.substr(0, 64)), {},
              meant ? fmt::format("did you mean {}?", *meant) : "docs/rules.md lists them");
}

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

Inspection inspect(const topology::Cluster& cluster, const InspectThresholds& limits) {
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
