#include "diagnosis/sweep/foreign_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

namespace ringtrue::diagnosis {
namespace {

using Raw = std::array<std::uint16_t, 8>;

template <class T>
std::optional<T> number(std::string_view text, int base, T most) {
  unsigned value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || at != end || value > most) return std::nullopt;
  return T(value);
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (std::size_t at = text.find(by); at != text.npos; at = text.find(by)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  parts.push_back(text);
  return parts;
}

// Groups of four hexadecimal digits at most; nullopt where one is none, or there are more than eight.
std::optional<std::vector<std::uint16_t>> groups(std::string_view text) {
  std::vector<std::uint16_t> out;
  if (text.empty()) return out;
  for (const std::string_view part : split(text, ':')) {
    const auto group = number<std::uint16_t>(part, 16, 0xffff);
    if (!group || out.size() == 8) return std::nullopt;
    out.push_back(*group);
  }
  return out;
}

// As people write addresses, and as sysfs writes GIDs; IPv4 as RoCE has it, ::ffff:a.b.c.d.
std::optional<Raw> raw_gid(std::string_view text) {
  Raw raw{};
  if (text.find(':') == text.npos) {
    const auto parts = split(text, '.');
    if (parts.size() != 4) return std::nullopt;
    raw[5] = 0xffff;
    for (std::size_t i = 0; i < 4; ++i) {
      const auto byte = number<std::uint8_t>(parts[i], 10, 255);
      if (!byte) return std::nullopt;
      raw[6 + i / 2] = std::uint16_t(raw[6 + i / 2] << 8 | *byte);
    }
    return raw;
  }
  const std::size_t gap = text.find("::");
  const auto head = groups(text.substr(0, gap));
  const auto tail = groups(gap == text.npos ? std::string_view() : text.substr(gap + 2));
  if (!head || !tail) return std::nullopt;
  const std::size_t known = head->size() + tail->size();
  if (gap == text.npos ? known != 8 : known > 7) return std::nullopt;
  std::copy(head->begin(), head->end(), raw.begin());
  std::copy(tail->begin(), tail->end(), raw.end() - std::ptrdiff_t(tail->size()));
  return raw;
}

}  // namespace

void drop_foreign_ports(topology::Cluster& cluster, const Addresses& addresses) {
  std::map<Raw, std::string> owner;
  for (const auto& [node, address] : addresses)
    if (const auto raw = raw_gid(address)) owner.emplace(*raw, node);
  for (topology::Node& node : cluster.nodes) {
    const auto foreign = [&](const topology::Port& port) {
      return std::any_of(port.gids.begin(), port.gids.end(), [&](const std::string& gid) {
        const auto raw = raw_gid(gid);
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
