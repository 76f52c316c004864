#include "topology/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "topology/fields.h"
#include "topology/pci_tree.h"
#include "topology/rails.h"

namespace ringtrue::topology {
namespace {

struct Generation {
  double GTps;
  double payload;  // of the line code
};
constexpr Generation generations[] = {{2.5, 0.8},       {5, 0.8},         {8, 128. / 130},
                                      {16, 128. / 130}, {32, 128. / 130}, {64, 242. / 256}};

bool is_width(int lanes) {
  constexpr std::array widths = {1, 2, 4, 8, 12, 16, 32};
  return std::find(widths.begin(), widths.end(), lanes) != widths.end();
}

std::string text_of(const Fact<double>& speed, const Fact<int>& width, const Fact<BytesPerSecond>& rate) {
  if (speed.known() && width.known()) return fmt::format("{:g} GT/s x{}", *speed, *width);
  if (speed.known()) return fmt::format("{:g} GT/s", *speed);
  if (width.known()) return fmt::format("x{}", *width);
  return rate.known() ? to_text(*rate) : "unknown";
}

Fact<BytesPerSecond> derived(std::optional<BytesPerSecond> rate, const std::string& from) {
  return rate ? Fact<BytesPerSecond>(*rate, from) : Fact<BytesPerSecond>();
}

Fact<BytesPerSecond> fact_of(std::optional<BytesPerSecond> rate, const PciLink& link) {
  return derived(rate, link.speed_GTps.known() && link.width.known() ? link.speed_GTps.origin
                       : link.rate.known()                           ? link.rate.origin
                                                                     : origin::derived);
}

void add_pcie(const PciTree& tree, std::vector<Link>& all) {
  const Node& node = tree.node();
  std::set<const PciDevice*> wanted;  // what is worth a line: the devices, and all bridges above them
  const auto want = [&](const std::string& address) {
    for (const PciDevice* device : tree.up(address))
      if (!wanted.insert(device).second) break;
  };
  for (const Gpu& gpu : node.gpus) want(gpu.address);
  for (const NvSwitch& nvswitch : node.nvswitches) want(nvswitch.address);
  for (const Nic& nic : node.nics)
    if (!is_virtual(node, nic)) want(nic.address);
  for (const PciDevice& device : node.pci) {
    if (!wanted.count(&device) || !tree.has_link(device)) continue;
    const PciDevice* port = tree.port_above(device);
    Link link;
    link.from = tree.name(device.address);
    link.to = device.parent.empty() ? "host" : device.parent;
    const PciLink& end = tree.slower_end(device);
    link.rate = fact_of(pci_rate(end), end);
    auto best = pci_max_rate(device.link);
    if (const auto other = port ? pci_max_rate(port->link) : std::nullopt; other)
      best = best ? std::min(*best, *other) : *other;
    link.max_rate = derived(best, device.link.max_speed_GTps.known() ? device.link.max_speed_GTps.origin
                                  : port                             ? port->link.max_speed_GTps.origin
                                                                     : origin::unknown);
    link.text = pci_text(end);
    if (const std::string most = pci_max_text(device.link); most != "unknown") link.text += " of " + most;
    all.push_back(std::move(link));
  }
}

void add_nvlinks(const PciTree& tree, std::vector<Link>& all) {
  std::set<std::pair<std::string, std::string>> told;  // pairs of GPUs: either of them may know
  for (const Gpu& gpu : tree.node().gpus) {
    if (!gpu.nvlinks) continue;
    std::vector<std::pair<std::string, std::vector<const NvLink*>>> bundles;
    for (const NvLink& link : *gpu.nvlinks) {
      const std::string to = link.remote == Remote::cpu        ? "host"
                             : !link.remote_address.empty()    ? tree.name(link.remote_address)
                             : link.remote == Remote::nvswitch ? "NVSwitch"
                                                               : "unknown";
      auto bundle =
          std::find_if(bundles.begin(), bundles.end(), [&](const auto& b) { return b.first == to; });
      if (bundle == bundles.end()) bundle = bundles.insert(bundles.end(), {to, {}});
      bundle->second.push_back(&link);
    }
    for (const auto& [to, ends] : bundles) {
      if (told.count({to, gpu.name})) continue;
      told.insert({gpu.name, to});
      all.push_back(bundle_of(*gpu.nvlinks, ends));
      all.back().from = gpu.name;
      all.back().to = to;
    }
  }
}

void add_ports(const PciTree& tree, std::vector<Link>& all) {
  for (const Nic& nic : tree.node().nics) {
    if (is_virtual(tree.node(), nic)) continue;
    for (const Port& port : nic.ports) {
      const bool infiniband =
          port.layer == LinkLayer::infiniband || (port.layer == LinkLayer::unknown && port.speed.known());
      Link link;
      link.kind = infiniband ? LinkKind::infiniband : LinkKind::ethernet;
      link.from = nic.rdma.empty() ? nic.name : fmt::format("{}/{}", nic.name, port.number);
      link.to = port.peer;
      link.rate = port.rate;
      if (infiniband && port.speed.known() && port.width.known())
        link.rate.offer(infiniband_rate(*port.speed, *port.width), origin::derived);
      link.max_rate = port.max_rate;
      link.up = !port.state.known() || *port.state == "active";
      if (infiniband && port.speed.known() && port.width.known())
        link.text = fmt::format("{} {}x", *port.speed, *port.width);
      else
        link.text = link.rate.known() ? fmt::format("{:g} Gbit/s", link.rate->value * 8 / 1e9) : "unknown";
      if (port.state.known()) link.text += ", " + *port.state;
      all.push_back(std::move(link));
    }
  }
}

}  // namespace

int pci_generation(double speed_GTps) {
  int generation = 0;
  for (const Generation& g : generations) {
    ++generation;
    if (std::abs(speed_GTps - g.GTps) < 0.05) return generation;
  }
  return 0;
}

std::optional<BytesPerSecond> pci_rate(double speed_GTps, int width) {
  const int generation = pci_generation(speed_GTps);
  if (generation == 0 || !is_width(width)) return {};
  const Generation& g = generations[generation - 1];
  return BytesPerSecond(g.GTps * 1e9 * g.payload * width / 8);
}

std::optional<BytesPerSecond> pci_rate(const PciLink& link) {
  if (link.speed_GTps.known() && link.width.known())
    if (const auto rate = pci_rate(*link.speed_GTps, *link.width)) return rate;
  return link.rate.known() && link.rate->value > 0 ? link.rate.value : std::nullopt;
}

std::optional<BytesPerSecond> pci_max_rate(const PciLink& link) {
  if (!link.max_speed_GTps.known() || !link.max_width.known()) return {};
  return pci_rate(*link.max_speed_GTps, *link.max_width);
}

std::string pci_text(const PciLink& link) {
  return text_of(link.speed_GTps, link.width, link.rate);
}

std::string pci_max_text(const PciLink& link) {
  return text_of(link.max_speed_GTps, link.max_width, {});
}

std::optional<BytesPerSecond> infiniband_rate(const std::string& speed, int width) {
  constexpr std::pair<std::string_view, double> lanes_Gbit[] = {{"SDR", 2},    {"DDR", 4},      {"QDR", 8},
                                                                {"FDR10", 10}, {"FDR", 13.625}, {"EDR", 25},
                                                                {"HDR", 50},   {"NDR", 100},    {"XDR", 200}};
  if (!is_width(width) || width > 12) return {};
  for (const auto& [name, Gbit] : lanes_Gbit)
    if (speed == name) return BytesPerSecond(Gbit * width * 1e9 / 8);
  return {};
}

std::optional<BytesPerSecond> nvlink_rate(int version) {
  constexpr double rates[] = {20e9, 25e9, 25e9, 25e9, 50e9, 50e9};
  if (version < 1 || version > 6) return {};
  return BytesPerSecond(rates[version - 1]);
}

std::vector<Link> links(const Node& node) {
  const PciTree tree(node);
  std::vector<Link> all;
  add_pcie(tree, all);
  add_nvlinks(tree, all);
  add_ports(tree, all);
  return all;
}

Counts counts(const Node& node) {
  Counts c;
  c.nodes = 1;
  c.gpus = int(node.gpus.size());
  c.nvswitches = int(node.nvswitches.size());
  std::set<std::string> seen;
  for (const Nic& nic : node.nics) {
    seen.insert(nic.address);
    if (is_virtual(node, nic)) {
      ++c.virtual_nics;
    } else {
      ++c.nics;
      c.ports += int(nic.ports.size());
    }
  }
  for (const PciDevice& device : node.pci) {
    c.pcie_switches += device.kind == PciKind::switch_upstream;
    // A virtual function that was given away has no NIC's name.
    c.virtual_nics += device.virtual_function && is_nic(device) && !seen.count(device.address);
  }
  for (const Gpu& gpu : node.gpus)
    if (gpu.nvlinks) {
      c.nvlinks += int(gpu.nvlinks->size());
      for (const NvLink& link : *gpu.nvlinks) c.nvlinks_up += link.up.is(true);
    }
  return c;
}

Counts counts(const Cluster& cluster) {
  Counts all;
  for (const Node& node : cluster.nodes) {
    const Counts one = counts(node);
    fields([](const char*, const About&, int& sum, const int& count) { sum += count; }, all, one);
  }
  if (!cluster.fabric) return all;
  const Fabric& fabric = *cluster.fabric;
  all.fabric_switches = int(fabric.switches.size());
  all.fabric_hosts = int(std::count_if(fabric.hosts.begin(), fabric.hosts.end(),
                                       [](const FabricHost& host) { return !host.aggregation; }));
  all.trunks = int(trunks(fabric).size());
  return all;
}

std::vector<const FabricLink*> trunks(const Fabric& fabric) {
  std::set<std::string> switches;
  for (const FabricSwitch& s : fabric.switches) switches.insert(s.guid);
  std::vector<const FabricLink*> found;
  for (const FabricLink& link : fabric.links)
    if (switches.count(link.a.guid) && switches.count(link.b.guid)) found.push_back(&link);
  return found;
}

std::unordered_map<std::string, std::string> fabric_names(const Fabric& fabric) {
  std::unordered_map<std::string, int> uses;
  for (const FabricSwitch& s : fabric.switches) ++uses[s.name];
  for (const FabricHost& h : fabric.hosts) ++uses[h.name];
  std::unordered_map<std::string, std::string> names;
  const auto add = [&](const std::string& guid, const std::string& name) {
    names[guid] = name.empty() || uses[name] > 1 ? guid : name;
  };
  for (const FabricSwitch& s : fabric.switches) add(s.guid, s.name);
  for (const FabricHost& h : fabric.hosts) add(h.guid, h.name);
  return names;
}

}  // namespace ringtrue::topology
