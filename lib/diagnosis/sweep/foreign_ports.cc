#include "diagnosis/sweep/foreign_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/ip.h"

namespace ringtrue::diagnosis {

void drop_foreign_ports(topology::Cluster& cluster, const Addresses& addresses) {
  std::map<IpBytes, std::string> owner;
  for (const auto& [node, address] : addresses)
    if (const auto raw = parse_ip(address)) owner.emplace(*raw, node);
  for (topology::Node& node : cluster.nodes) {
    const auto foreign = [&](const topology::Port& port) {
      return std::any_of(port.gids.begin(), port.gids.end(), [&](const std::string& gid) {
        const auto raw = parse_ip(gid);
        const auto found = raw ? owner.find(*raw) : owner.end();
        return found != owner.end() && found->second != node.name;
      });
    };
    std::set<std::string> gone;  // devices of counters
    std::erase_if(node.nics, [&](topology::Nic& nic) {
      const std::size_t before = nic.ports.size();
      std::erase_if(nic.ports, [&](const topology::Port& port) {
        return foreign(port) && gone.insert(fmt::format("{}/{}", nic.name, port.number)).second;
      });
      if (before == 0 || !nic.ports.empty()) return false;
      gone.insert(nic.netdevs.begin(), nic.netdevs.end());
      return true;
    });
    std::erase_if(node.counters, [&](const auto& set) { return gone.contains(set.device); });
    if (node.window)
      std::erase_if(node.window->changes, [&](const auto& change) { return gone.contains(change.device); });
  }
}

Ports active_ports(const topology::Cluster& cluster, const std::vector<std::string>& nodes) {
  Ports ports(nodes.size());
  for (const topology::Node& node : cluster.nodes) {
    const auto at = std::find(nodes.begin(), nodes.end(), node.name);
    if (at == nodes.end()) continue;
    auto& list = ports[std::size_t(at - nodes.begin())];
    for (const topology::Nic& nic : node.nics)
      for (const topology::Port& port : nic.ports)
        if (!nic.rdma.empty() && port.state.is("active")) list.push_back({nic.rdma, port.number});
    std::sort(list.begin(), list.end());
  }
  return ports;
}

Ports take_other_layers(const topology::Cluster& cluster, const std::vector<std::string>& nodes,
                        const Ports& rails, Ports& ports) {
  std::map<std::pair<std::size_t, RdmaPort>, topology::LinkLayer> layers;
  for (const topology::Node& node : cluster.nodes) {
    const auto at = std::size_t(std::find(nodes.begin(), nodes.end(), node.name) - nodes.begin());
    for (const topology::Nic& nic : node.nics)
      for (const topology::Port& port : nic.ports) layers[{at, {nic.rdma, port.number}}] = port.layer;
  }
  const auto layer = [&](std::size_t node, const RdmaPort& port) {
    const auto known = layers.find({node, port});
    return known == layers.end() ? topology::LinkLayer::unknown : known->second;
  };
  std::set<topology::LinkLayer> used;
  for (std::size_t node = 0; node < rails.size(); ++node)
    for (const RdmaPort& port : rails[node]) used.insert(layer(node, port));
  Ports taken(ports.size());
  if (used.empty() || used.count(topology::LinkLayer::unknown)) return taken;
  for (std::size_t node = 0; node < ports.size(); ++node) {
    std::erase_if(ports[node], [&](const RdmaPort& port) {
      const bool other =
          used.count(layer(node, port)) == 0 && layer(node, port) != topology::LinkLayer::unknown;
      if (other) taken[node].push_back(port);
      return other;
    });
  }
  return taken;
}

}  // namespace ringtrue::diagnosis
