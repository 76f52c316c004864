// Ports of NICs: down, not active, slower than they can be, unlike their sisters.
#include <algorithm>
#include <array>

#include "diagnosis/inspect/rule_context.h"

namespace ringtrue::diagnosis {
namespace {

using namespace topology;

struct Tally {
  int active = 0, down = 0;
};

bool is_up(const Port& port) {
  return port.state.is("active");
}

template <class Look>
void each_port(const NodeView& node, Look look) {
  for (const Nic& nic : node.node.nics) {
    if (!node.has_hardware(nic)) continue;
    const std::string kind = kind_of(nic, node.place(nic.address));
    for (const Port& port : nic.ports) look(nic, port, kind);
  }
}

// The same socket for a cable on another card of this node: function and port number.
std::string position(const Nic& nic, const Port& port, const std::string& kind) {
  const auto dot = nic.address.rfind('.');
  return fmt::format("{}|{}/{}", kind, dot == std::string::npos ? "" : nic.address.substr(dot), port.number);
}
// The same socket on the same card of another node.
std::string slot(const Nic& nic, const Port& port, const std::string& kind) {
  return fmt::format("{}|{}/{}", kind, nic.address.empty() ? nic.name : nic.address, port.number);
}

std::vector<Quantity> state_values(const Port& port) {
  return {{"state", *port.state}, {"origin", port.state.origin}, {"wire_state", port.physical_state.value}};
}

void report_port(RuleContext& context, const NodeView& node, const Nic& nic, const Port& port,
                 Severity severity, const std::vector<Quantity>& beside) {
  std::vector<Quantity> values = state_values(port);
  values.emplace_back("disabled", port.physical_state.is("disabled"));
  values.insert(values.end(), beside.begin(), beside.end());
  context.report(&node, port_name(nic, port),
                 {.severity = severity,
                  .values = std::move(values),
                  .measured = BytesPerSecond(0),
                  .expected = port.max_rate.known() ? best_rate(port) : std::nullopt,
                  .sure = by_comparison});
}

// A kind of NIC of which no port on the node is up.
bool all_down_matters(const NodeView& node, const Nic& nic, const Port& port, const std::string& kind) {
  bool matters = true;
  each_port(node, [&](const Nic& other, const Port& p, const std::string& k) {
    if (k == kind) return;
    // Beside NICs with RDMA, up or down, one without is for management.
    if (nic.rdma.empty() && !other.rdma.empty()) matters = false;
    if (!is_up(p)) return;
    // The node talks by others: fine where these are not the lesser ones.
    if (nic.rdma.empty())
      matters = false;
    else if (!other.rdma.empty() &&
             (port.max_rate.known() ? best_rate(p).value_or(BytesPerSecond(0)) >= *port.max_rate
                                    : port.layer != LinkLayer::infiniband))
      matters = false;
  });
  return matters;
}

void down(RuleContext& context) {
  std::unordered_map<std::string, Tally> fleet;
  if (context.nodes.size() >= 3)
    for (const NodeView& node : context.nodes)
      each_port(node, [&](const Nic& nic, const Port& port, const std::string& kind) {
        Tally& t = fleet[slot(nic, port, kind)];
        (is_up(port) ? t.active : t.down) += port.state.known();
      });
  for (const NodeView& node : context.nodes) {
    std::map<std::string, Tally> sisters, kinds;
    each_port(node, [&](const Nic& nic, const Port& port, const std::string& kind) {
      for (Tally* t : {&sisters[position(nic, port, kind)], &kinds[kind]})
        (is_up(port) ? t->active : t->down) += port.state.known();
    });
    std::set<std::string> cards;  // of which one port was named: the first is the one in use
    each_port(node, [&](const Nic& nic, const Port& port, const std::string& kind) {
      const bool rail = node.is_rail(nic);
      if (rail) context.applies();
      if (!port.state.known()) {
        if (rail) context.cannot(&node, port_name(nic, port), "the state of the port is unknown");
        return;
      }
      if (!port.state.is("down")) return;
      const Tally all = kinds[kind], same = sisters[position(nic, port, kind)];
      const auto others = fleet.find(slot(nic, port, kind));
      const int seen = others == fleet.end() ? 0 : others->second.active + others->second.down;
      if (all.active == 0) {
        if (!all_down_matters(node, nic, port, kind)) return;
        const std::string card = nic.address.substr(0, nic.address.rfind('.'));
        if (!card.empty() && !cards.insert(card).second) return;
        // Netdevs without a wire may be nobody's business; of those that somebody plugged in, one should
        // talk.
        const Severity severity = !nic.rdma.empty() ? Severity::critical
                                  : port.physical_state.known() && !port.physical_state.is("disabled")
                                      ? Severity::warning
                                      : Severity::info;
        report_port(context, node, nic, port, severity, {});
      } else if (seen >= 3) {
        if (others->second.active <= context.limits.majority * seen || !(rail || !nic.rdma.empty())) return;
        report_port(context, node, nic, port, rail ? Severity::critical : Severity::warning,
                    {{"active", others->second.active}, {"of_nodes", seen}});
      } else if (rail && same.active >= same.down) {
        report_port(context, node, nic, port, Severity::critical,
                    {{"active", same.active}, {"of_ports", same.active + same.down}});
      }
    });
  }
}

void not_active(RuleContext& context) {
  for (const NodeView& node : context.nodes)
    each_port(node, [&](const Nic& nic, const Port& port, const std::string&) {
      if (nic.rdma.empty()) return;
      context.applies();
      if (!port.state.known() || is_up(port) || port.state.is("down")) return;
      std::vector<Quantity> values = state_values(port);
      values.emplace_back("infiniband", port.layer == LinkLayer::infiniband);
      context.report(&node, port_name(nic, port), {.values = std::move(values)});
    });
}

// How many lanes the port has. Where nobody tells: InfiniBand's ports have four, and one that uses fewer is
// degraded, but for half of them from HDR on: cables that split a port are sold.
Fact<int> lanes_of(const Port& port) {
  if (port.max_width.known() || port.layer != LinkLayer::infiniband || !port.width.known())
    return port.max_width;
  const bool split = *port.width == 2 && port.speed.known() &&
                     std::ranges::count(std::array{"HDR", "NDR", "XDR"}, *port.speed) > 0;
  return split ? Fact<int>() : Fact<int>(4, "as InfiniBand's ports have");
}

void rate_degraded(RuleContext& context) {
  struct Kind {
    std::map<double, int> rates;
    int ports = 0;
  };
  std::unordered_map<std::string, Kind> kinds;
  for (const NodeView& node : context.nodes)
    each_port(node, [&](const Nic&, const Port& port, const std::string& kind) {
      if (!is_up(port) || !port.rate.known()) return;
      Kind& k = kinds[kind];
      ++k.rates[port.rate->value];
      ++k.ports;
    });
  for (const NodeView& node : context.nodes)
    each_port(node, [&](const Nic& nic, const Port& port, const std::string& kind) {
      const bool rail = node.is_rail(nic);
      if (rail) context.applies();
      if (port.state.known() && !is_up(port)) return;
      const Fact<int> lanes = lanes_of(port);
      const bool narrow = port.width.known() && lanes.known() && *port.width > 0 && *port.width < *lanes;
      const bool slow = port.rate.known() && port.max_rate.known() &&
                        port.rate->value < port.max_rate->value * context.limits.pci_warning;
      if (!narrow && !slow) {
        if (rail && !(port.rate.known() && port.max_rate.known()) &&
            !(port.width.known() && port.max_width.known()))
          context.cannot(
              &node, port_name(nic, port),
              port.rate.known() ? "what the port can do is unknown" : "the port's rate is unknown");
        return;
      }
      const auto group = kinds.find(kind);
      const bool alike = group != kinds.end() && group->second.ports > 1 && group->second.rates.size() == 1 &&
                         !(narrow && *port.width == 1);
      double share = slow ? *port.rate / *port.max_rate : 1;
      if (narrow) share = std::min(share, double(*port.width) / *lanes);
      context.report(&node, port_name(nic, port),
                     {.severity = alike || !rail                         ? Severity::info
                                  : share <= context.limits.pci_critical ? Severity::critical
                                                                         : Severity::warning,
                      .values = {{"speed", port.speed.value},
                                 {"lanes_used", port.width.value},
                                 {"origin", port.rate.known() ? port.rate.origin : port.width.origin},
                                 {"max_origin", port.max_rate.known() ? port.max_rate.origin : ""},
                                 {"lanes", narrow ? lanes.value : std::nullopt},
                                 {"lanes_origin", lanes.origin},
                                 {"alike", alike ? std::optional(group->second.ports) : std::nullopt},
                                 {"rail", rail},
                                 {"carried_percent", share * 100}},
                      .measured = port.rate.value,
                      .expected = port.max_rate.value,
                      .sure = slow || port.max_width.known() ? 1 : by_comparison});
    });
}

// "HDR 2x", of InfiniBand; empty: unknown.
std::string speed_text(const Nic& nic) {
  const Port& port = nic.ports[0];
  return port.speed.known() && port.width.known() ? fmt::format("{} {}x", *port.speed, *port.width) : "";
}

struct Rail {
  const NodeView* node;
  const Nic* nic;
};
using Rails = std::vector<Rail>;
using RateOf = std::optional<BytesPerSecond> (*)(const NodeView&, const Nic&);

std::optional<BytesPerSecond> ports_rate(const NodeView&, const Nic& nic) {
  std::optional<BytesPerSecond> sum;
  for (const Port& port : nic.ports)
    if (port.rate.known() && (is_up(port) || !port.state.known()))
      sum = sum.value_or(BytesPerSecond(0)) + *port.rate;
  return sum;
}

std::optional<BytesPerSecond> pcie_rate(const NodeView& node, const Nic& nic) {
  const auto* place = node.place(nic.address);
  return place && !place->device->power.is("suspended") ? pci_rate(place->device->link) : std::nullopt;
}

// One value for a rail: lower than most of its sisters', on its node or in the fleet, is unlike them.
void compare(RuleContext& context, const Rails& rails, bool fleet, const char* what, RateOf rate_of) {
  std::map<double, int> votes;
  for (const Rail& rail : rails)
    if (const auto rate = rate_of(*rail.node, *rail.nic)) ++votes[rate->value];
  const double* most = majority(votes, fleet ? context.limits.majority : 0.5);
  if (!most) return;
  const Rail sister = *std::ranges::find_if(rails, [&](const Rail& rail) {
    const auto rate = rate_of(*rail.node, *rail.nic);
    return rate && rate->value == *most;
  });
  for (const auto& [node, nic] : rails) {
    const auto rate = rate_of(*node, *nic);
    if (!rate || rate->value >= *most * context.limits.pci_warning) continue;
    if (context.reported(node, nic->name, "pcie-") || context.reported(node, nic->name, "nic-") ||
        context.reported(node, port_name(*nic, nic->ports[0]), "port-"))
      continue;
    // A lower speed may be that of another network; lanes that its sisters use at the same speed are lost.
    const std::string here = speed_text(*nic), there = speed_text(*sister.nic);
    const Port &port = nic->ports[0], &like = sister.nic->ports[0];
    const bool lanes =
        !here.empty() && !there.empty() && port.speed == like.speed && *port.width < *like.width;
    const double striped = fleet ? 1 : double(rails.size());
    std::vector<Quantity> values = {{"compared", what},
                                    {"fleet", fleet},
                                    {"alike", votes.at(*most)},
                                    {"rails", rails.size()},
                                    {"all_rails_Bps", *rate * striped},
                                    {"all_rails_expected_Bps", *most * striped}};
    if (here != there)
      values.insert(values.end(), {{"mode", here},
                                   {"sister", sister.nic->name},
                                   {"sister_node", sister.node->node.name},
                                   {"sister_mode", there}});
    context.report(node, nic->name,
                   {.severity = lanes ? Severity::critical : Severity::warning,
                    .values = std::move(values),
                    .measured = rate,
                    .expected = BytesPerSecond(*most),
                    .sure = by_comparison});
  }
}

// Below one switch with a GPU: such NICs are placed alike, and unlike those of the same kind elsewhere.
bool beside_gpu(const NodeView& node, const Nic& nic) {
  return std::ranges::any_of(node.way_up(nic.address), [&](const NodeView::Place* place) {
    return place->device->kind != PciKind::root_port &&
           std::ranges::any_of(place->parts, [](const Part* part) { return part->gpu; });
  });
}

void unlike_sisters(RuleContext& context) {
  std::map<std::string, Rails> fleet;  // of nodes with too few rails to compare among themselves
  for (const NodeView& node : context.nodes) {
    std::map<std::string, Rails> kinds;
    for (const Nic* nic : node.rails)
      if (!nic->ports.empty()) kinds[kind_of(*nic, node.place(nic->address))].push_back({&node, nic});
    for (const auto& [kind, rails] : kinds) {
      if (rails.size() < 3) {
        fleet[kind].insert(fleet[kind].end(), rails.begin(), rails.end());
        continue;
      }
      context.applies();
      compare(context, rails, false, "ports' rate", ports_rate);
      for (const bool beside : {true, false}) {
        Rails alike;
        std::ranges::copy_if(rails, std::back_inserter(alike),
                             [&](const Rail& rail) { return beside_gpu(node, *rail.nic) == beside; });
        if (alike.size() >= 3) compare(context, alike, false, "PCIe rate", pcie_rate);
      }
    }
  }
  for (const auto& [kind, rails] : fleet) {
    if (rails.size() < 3) continue;
    context.applies();
    compare(context, rails, true, "ports' rate", ports_rate);
  }
}

constexpr Rule port_table[] = {
    {FindingKind::port_down, Severity::critical, ScopeType::port, down},
    {FindingKind::port_not_active, Severity::critical, ScopeType::port, not_active},
    {FindingKind::port_rate_degraded, Severity::critical, ScopeType::port, rate_degraded},
    {FindingKind::rail_unlike_sisters, Severity::critical, ScopeType::nic, unlike_sisters},
};

}  // namespace

const std::span<const Rule> port_rules = port_table;

}  // namespace ringtrue::diagnosis
