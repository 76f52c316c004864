#include "ideal/rails.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/plural.h"
#include "topology/path.h"
#include "topology/rails.h"

namespace ringtrue::ideal {
namespace {

using topology::Nic;
using topology::Node;
using topology::NoRail;
using topology::Port;

MaybeRate lower(MaybeRate a, MaybeRate b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

struct Way {
  Rail rail;
  std::vector<topology::PathLink> links;
  const Port* port = nullptr;
};

// PCIe links between GPUs and the root, by name.
std::set<std::string> links_above_gpus(const Node& node) {
  std::set<std::string> above;
  for (const topology::Gpu& gpu : node.gpus)
    if (const auto path = topology::path_to_root(node, gpu.name))
      for (const topology::PathLink& link : path->links) above.insert(link.name);
  return above;
}

bool gpudirect_works(const Node& node, const Nic& nic) {
  if (nic.gdr.known()) return *nic.gdr;
  return node.system.nvidia_peermem.is(true) || node.system.dmabuf.is(true);
}

// The links that a NIC's traffic passes. With GPUDirect it turns round in the switch that a GPU hangs below
// as well.
std::vector<topology::PathLink> links_of(const Node& node, const Nic& nic,
                                         const std::set<std::string>& above_gpus) {
  if (nic.address.empty()) return {};
  auto path = topology::path_to_root(node, nic.address);
  if (!path) return {};
  if (gpudirect_works(node, nic))
    std::erase_if(path->links, [&](const auto& link) { return above_gpus.contains(link.name); });
  return path->links;
}

std::vector<Way> ways_of(const Node& node, const std::vector<std::string>& names, NodeFacts& facts) {
  std::vector<Way> ways;
  const std::set<std::string> above_gpus = links_above_gpus(node);
  for (const auto& [nic, port, why_not] : topology::find_rails(node, names)) {
    const std::string name =
        nic->ports.size() > 1 ? fmt::format("{} port {}", nic->name, port->number) : nic->name;
    if (why_not == NoRail::down)
      facts.notes.push_back(fmt::format("{} is {} and no rail", name,
                                        port->state.known() ? *port->state : *port->physical_state));
    if (why_not != NoRail::none) continue;
    Way way{{nic->name, port->number, {}, {}, {}, {}}, links_of(node, *nic, above_gpus), port};
    if (topology::is_virtual(node, *nic) && !topology::is_passed_through(node, *nic))
      facts.notes.push_back(fmt::format("{} is virtual: what it says of its rate is invented", name));
    else
      way.rail.port_rate = port->rate.known() ? port->rate.value : port->max_rate.value;
    ways.push_back(std::move(way));
  }
  return ways;
}

// Ports of one card share its slot and all links above. Several cards may share the latter as well, but what
// passes them depends on where the data is (with GPUDirect little does), so they cap each card by itself: an
// ideal is what can be reached.
void cap_by_pcie(std::vector<Way>& ways) {
  std::map<std::string, int> ports;  // of a card, by the name of its slot's link
  for (const Way& way : ways)
    if (!way.links.empty()) ++ports[way.links.front().name];
  for (Way& way : ways) {
    Rail& rail = way.rail;
    std::string narrowest;
    for (const topology::PathLink& link : way.links) {
      if (!link.rate) continue;
      const int sharing = ports[way.links.front().name];
      const BytesPerSecond part = *link.rate / double(sharing);
      if (rail.pcie && part >= *rail.pcie) continue;
      rail.pcie = part;
      narrowest = link.name.substr(0, link.name.find(' '));
      if (sharing > 1) narrowest += fmt::format(", shared by {} ports", sharing);
    }
    rail.rate = lower(rail.port_rate, rail.pcie);
    rail.by_port = rail.port_rate && (!rail.pcie || *rail.port_rate <= *rail.pcie);
    rail.limit = rail.by_port ? "port" : rail.pcie ? "PCIe path at " + narrowest : "unknown";
  }
}

// Links above several cards that cannot carry all of their rails at once.
void note_shared_links(const std::vector<Way>& ways, NodeFacts& facts) {
  struct Load {
    MaybeRate rate;
    BytesPerSecond wanted;
    int rails = 0;
  };
  std::map<std::string, Load> loads;
  for (const Way& way : ways) {
    for (std::size_t i = 1; i < way.links.size(); ++i) {
      if (!way.rail.rate) continue;
      Load& load = loads[way.links[i].name];
      load.rate = way.links[i].rate;
      load.wanted += *way.rail.rate;
      ++load.rails;
    }
  }
  std::vector<std::string> tight;
  for (const auto& [name, load] : loads)
    if (load.rate && load.rails > 1 && load.wanted.value > load.rate->value * (1 + 1e-9))
      tight.push_back(fmt::format("{} ({}, {})", name.substr(0, name.find(' ')), gb(*load.rate),
                                  plural(load.rails, "rail")));
  if (!tight.empty())
    facts.notes.push_back(fmt::format(
        "through host memory, rails share PCIe links that cannot carry all of them: {}", listed(tight)));
}

// Rails held down by a link above a switch that a GPU hangs below as well: with GPUDirect their traffic turns
// round in the switch. What they carry then, as a note; false: there are none.
bool note_peer_traffic(const Node& node, const std::vector<Way>& ways, NodeFacts& facts) {
  const std::set<std::string> above_gpus = links_above_gpus(node);
  MaybeRate slowest;
  int direct = 0;
  for (const Way& way : ways) {
    MaybeRate rate = way.rail.port_rate;
    for (const topology::PathLink& link : way.links)
      if (!above_gpus.contains(link.name)) rate = lower(rate, link.rate);
    if (!rate) return false;
    direct += way.rail.rate && *rate > *way.rail.rate;
    slowest = lower(slowest, rate);
  }
  if (direct == 0) return false;
  facts.notes.push_back(fmt::format(
      "{} of {} lie behind PCIe links that traffic with a GPU below the same switch does not pass: with "
      "GPUDirect "
      "the rails may carry {} x {} = {}",
      direct, plural(ways.size(), "rail"), ways.size(), gb(*slowest), gb(*slowest * double(ways.size()))));
  return true;
}

// Of NICs whose layer no source tells, NVIDIA's alone may be InfiniBand that reduces.
std::optional<bool> is_infiniband(const Node& node, const std::vector<Way>& ways) {
  bool all = !ways.empty();
  for (const Way& way : ways) {
    if (way.port->layer == topology::LinkLayer::infiniband) continue;
    if (way.port->layer == topology::LinkLayer::ethernet) return false;
    const topology::Nic* nic = node.find_nic(way.rail.nic);
    const topology::PciDevice* device = nic ? node.find_pci(nic->address) : nullptr;
    constexpr std::uint32_t nvidia_networking = 0x15b3;
    if (device && device->vendor.known() && !device->vendor.is(nvidia_networking)) return false;
    all = false;
  }
  return all ? std::optional(true) : std::nullopt;
}

std::optional<Efficiency> efficiency_of(const std::vector<Way>& ways) {
  std::set<std::string> speeds;
  std::set<int> mtus;
  for (const Way& way : ways) {
    if (!way.rail.by_port) return std::nullopt;
    const Port& port = *way.port;
    if (port.layer == topology::LinkLayer::infiniband && port.speed.known())
      speeds.insert(*port.speed);
    else if (port.layer == topology::LinkLayer::ethernet && port.mtu.known())
      mtus.insert(*port.mtu);
    else
      return std::nullopt;
  }
  if (speeds.size() == 1 && mtus.empty()) return attainable(LinkFamily::infiniband, *speeds.begin());
  if (!speeds.empty() || mtus.size() != 1) return std::nullopt;
  auto tcp = ethernet_tcp(*mtus.begin());
  if (!tcp) return std::nullopt;
  tcp->origin = Origin::probed;
  return *tcp;
}

}  // namespace

void find_inter(const Node& node, const std::vector<std::string>& names, NodeFacts& facts) {
  std::vector<Way> ways = ways_of(node, names, facts);
  cap_by_pcie(ways);
  note_shared_links(ways, facts);
  facts.infiniband = is_infiniband(node, ways);
  std::vector<std::string> unrated, unknown;
  MaybeRate slowest;
  BytesPerSecond sum;
  std::string slow;
  std::set<std::string> origins;
  for (const Way& way : ways) {
    const Rail& rail = way.rail;
    facts.rails.push_back(rail);
    if (!rail.rate) {
      unknown.push_back(rail.nic);
      continue;
    }
    if (!rail.port_rate) unrated.push_back(rail.nic);
    if (rail.by_port)
      origins.insert(way.port->rate.known() ? way.port->rate.origin : way.port->max_rate.origin);
    sum += *rail.rate;
    if (slowest && *rail.rate >= *slowest) continue;
    slowest = rail.rate;
    slow = fmt::format("{}: {}", rail.nic, rail.limit);
  }
  if (ways.empty()) {
    facts.inter_arithmetic = node.nics.empty() ? "no NIC" : "no NIC with a port that is up";
    return;
  }
  if (!unknown.empty()) {
    facts.inter_arithmetic = fmt::format("the rates of {} are unknown", listed(unknown));
    if (unknown.size() < ways.size()) facts.notes.push_back(facts.inter_arithmetic + ", and so is I");
    return;
  }
  const bool peers = note_peer_traffic(node, ways, facts);
  if (!unrated.empty())
    facts.notes.push_back(fmt::format("the port rates of {} are unknown: their PCIe paths alone {}",
                                      listed(unrated), peers ? "stand in for them" : "are an upper bound"));
  const std::size_t rails = ways.size();
  const BytesPerSecond all = *slowest * double(rails);
  facts.inter = all;
  facts.inter_efficiency = efficiency_of(ways);
  const bool alike = sum.value <= all.value * (1 + 1e-9);
  facts.inter_arithmetic = fmt::format("{} x {} = {} ({})", plural(rails, "rail"), gb(*slowest), gb(all),
                                       alike && origins.size() == 1 ? *origins.begin() : slow);
  if (alike) return;
  facts.sum = sum;
  facts.inter_arithmetic +=
      fmt::format("; the plain sum of the rails is {}, which static striping does not reach", gb(sum));
}

std::string gb(BytesPerSecond rate) {
  return fmt::format("{:.6g} GB/s", rate.value / 1e9);
}

}  // namespace ringtrue::ideal
