#include "ideal/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/plural.h"
#include "ideal/rails.h"
#include "topology/links.h"

namespace ringtrue::ideal {
namespace {

using topology::Gpu;
using topology::Nic;
using topology::Node;
using topology::NvLink;
using topology::PciDevice;

// ---- B

struct Inside {
  MaybeRate rate;
  std::string arithmetic;
  std::optional<Efficiency> efficiency;
};

// An idle GPU slows its link down to save power, and speeds it up for work.
bool is_idle(const topology::PciLink& link) {
  return link.speed_GTps.known() && link.max_speed_GTps.known() && *link.speed_GTps <= 2.5 &&
         *link.max_speed_GTps > *link.speed_GTps;
}

topology::PciLink at_work(topology::PciLink link) {
  if (is_idle(link)) link.speed_GTps = link.max_speed_GTps;
  return link;
}

// Of a GPU without NVLinks that are up: its own PCIe link, as the slower of its ends has it.
Inside by_pcie(const Node& node, const Gpu& gpu) {
  const PciDevice* device = node.find_pci(gpu.address);
  if (!device) return {std::nullopt, fmt::format("{}'s PCIe link is unknown", gpu.name), {}};
  topology::PciLink link = at_work(device->link);
  const PciDevice* port = device->parent.empty() ? nullptr : node.find_pci(device->parent);
  if (port &&
      (port->kind == topology::PciKind::root_port || port->kind == topology::PciKind::switch_downstream)) {
    const topology::PciLink other = at_work(port->link);
    const MaybeRate here = topology::pci_rate(link), there = topology::pci_rate(other);
    if (there && (!here || *there < *here)) link = other;
  }
  const MaybeRate rate = topology::pci_rate(link);
  if (!rate) return {std::nullopt, fmt::format("the rate of {}'s PCIe link is unknown", gpu.name), {}};
  const int generation = link.speed_GTps.known() ? topology::pci_generation(*link.speed_GTps) : 0;
  const auto& origin = link.speed_GTps.known() ? link.speed_GTps.origin : link.rate.origin;
  return {
      rate,
      fmt::format("no NVLinks: {}'s PCIe link, {} = {} ({}{})", gpu.name, topology::pci_text(link), gb(*rate),
                  origin, is_idle(device->link) ? "; its maximal speed, since it is idle now" : ""),
      attainable(LinkFamily::pcie, fmt::format("Gen{}", generation))};
}

// AMD's are xGMI links.
std::string links_text(const Node& node, const Gpu& gpu, std::size_t count) {
  const PciDevice* device = node.find_pci(gpu.address);
  return plural(count, device && device->vendor.is(0x1002) ? "xGMI link" : "NVLink");
}

Inside by_nvlinks(const Node& node, const Gpu& gpu, NodeFacts& facts) {
  const std::vector<NvLink>& links = *gpu.nvlinks;
  std::vector<const NvLink*> up;
  std::size_t down = 0, unknown = 0;
  for (const NvLink& link : links) {
    down += link.up.is(false);
    unknown += !link.up.known();
    if (!link.up.is(false)) up.push_back(&link);
  }
  if (down > 0)
    facts.notes.push_back(fmt::format("{}: {} of its {} {} down", gpu.name, down,
                                      links_text(node, gpu, links.size()), down == 1 ? "is" : "are"));
  if (unknown > 0)
    facts.notes.push_back(fmt::format("{}: whether {} of its {} {} up is unknown; taken as up", gpu.name,
                                      unknown, links_text(node, gpu, links.size()),
                                      unknown == 1 ? "is" : "are"));
  if (up.empty()) return by_pcie(node, gpu);
  BytesPerSecond sum;
  const MaybeRate first = rate_of(*up.front());
  bool alike = true;
  for (const NvLink* link : up) {
    const MaybeRate rate = rate_of(*link);
    if (!rate) return {std::nullopt, fmt::format("{} of unknown rate", links_text(node, gpu, up.size())), {}};
    sum += *rate;
    alike = alike && rate == first;
  }
  const std::string origin = up.front()->rate.known() ? up.front()->rate.origin : up.front()->version.origin;
  Inside inside{
      sum,
      alike
          ? fmt::format("{} x {} = {} ({})", links_text(node, gpu, up.size()), gb(*first), gb(sum), origin)
          : fmt::format("{} of different rates = {} ({})", links_text(node, gpu, up.size()), gb(sum), origin),
      {}};
  if (up.front()->version.known())
    inside.efficiency = attainable(LinkFamily::nvlink, fmt::format("v{}", *up.front()->version));
  return inside;
}

// NVSwitches do, of the generation that came with NVLink 4, and later ones.
std::optional<bool> reduces(const Gpu& gpu) {
  if (!gpu.nvlinks) return std::nullopt;
  bool known = true;
  for (const NvLink& link : *gpu.nvlinks) {
    if (link.remote == topology::Remote::gpu || link.remote == topology::Remote::cpu) return false;
    if (link.version.known() && *link.version < 4) return false;
    known = known && link.version.known() && link.remote == topology::Remote::nvswitch;
  }
  if (gpu.nvlinks->empty()) return false;
  return known ? std::optional(true) : std::nullopt;
}

// Of all: true, of one: false, or else unknown.
template <class Items, class Word>
std::optional<bool> all_of(const Items& items, const Word& word) {
  bool every = !items.empty();
  for (const auto& item : items) {
    const std::optional<bool> said = word(item);
    if (said == std::optional(false)) return false;
    every = every && said;
  }
  return every ? std::optional(true) : std::nullopt;
}

void find_intra(const Node& node, NodeFacts& facts) {
  facts.gpus = int(node.gpus.size());
  if (node.gpus.empty()) {
    facts.intra_arithmetic = "no GPUs";
    return;
  }
  facts.nvlink_reduces = all_of(node.gpus, reduces);
  std::vector<std::string> unknown;
  std::map<std::string, std::size_t> shapes;  // by arithmetic, without names of GPUs
  const Gpu* least = nullptr;
  for (const Gpu& gpu : node.gpus) {
    Inside inside;
    if (!gpu.nvlinks) {
      unknown.push_back(gpu.name);
      continue;
    }
    inside = gpu.nvlinks->empty() ? by_pcie(node, gpu) : by_nvlinks(node, gpu, facts);
    if (!inside.rate) {
      if (!facts.intra) facts.intra_arithmetic = inside.arithmetic;
      facts.notes.push_back(fmt::format("{}: {}", gpu.name, inside.arithmetic));
    } else if (!facts.intra || *inside.rate < *facts.intra) {
      facts.intra = inside.rate;
      facts.intra_arithmetic = inside.arithmetic;
      facts.intra_efficiency = inside.efficiency;
      least = &gpu;
    }
    ++shapes[inside.rate ? gb(*inside.rate) : ""];
  }
  if (shapes.size() > 1 && least)
    facts.notes.push_back(
        fmt::format("GPUs are unlike each other inside the node; {} is the slowest", least->name));
  if (unknown.empty()) return;
  // Neither none nor all: their PCIe links are no answer.
  facts.notes.push_back(fmt::format("the NVLinks of {} are unknown", listed(unknown)));
  facts.intra.reset();
  facts.intra_efficiency.reset();
  facts.intra_arithmetic = "unknown, because NVLinks are";
}

// ---- the cluster

Rate declared(BytesPerSecond rate) {
  return {rate, Origin::declared, {}};
}

struct Least {
  const NodeFacts* node = nullptr;
  MaybeRate rate;
  bool unlike = false;
  std::vector<std::string> unknown;
};

Least min_of(const std::vector<NodeFacts>& nodes, MaybeRate NodeFacts::*rate) {
  Least least;
  for (const NodeFacts& node : nodes) {
    const MaybeRate& r = node.*rate;
    if (!r) {
      least.unknown.push_back(node.node);
      continue;
    }
    least.unlike = least.unlike || (least.rate && *r != *least.rate);
    if (!least.rate || *r < *least.rate) least.rate = r, least.node = &node;
  }
  return least;
}

// "I, between nodes" and the rest, whether probed or declared; the note where nodes are unlike.
std::optional<Rate> choose_rate(const std::string& letter, const Least& least, const std::string& arithmetic,
                                MaybeRate given, Facts& facts) {
  if (given) {
    facts.arithmetic.push_back(fmt::format("{}: {}, declared{}", letter, gb(*given),
                                           least.rate ? fmt::format(" (probed: {})", arithmetic) : ""));
    return declared(*given);
  }
  if (!least.rate) {
    facts.arithmetic.push_back(fmt::format("{}: {}", letter, arithmetic.empty() ? "unknown" : arithmetic));
    return std::nullopt;
  }
  std::string at;
  if (least.unlike) {
    at = ", the least, of " + least.node->node;
  } else if (facts.nodes.size() > 1) {
    at = least.unknown.empty() ? ", on all nodes" : ", as of " + least.node->node;
  }
  facts.arithmetic.push_back(fmt::format("{}: {}{}", letter, arithmetic, at));
  if (least.unlike)
    facts.notes.push_back(fmt::format("{} differs between nodes: the least, {} of {}, is taken", letter,
                                      gb(*least.rate), least.node->node));
  if (!least.unknown.empty())
    facts.notes.push_back(fmt::format("{} is unknown for {}", letter, listed(least.unknown)));
  return Rate{*least.rate, Origin::probed, arithmetic + at};
}

void find_shape(const FactOptions& options, Facts& facts) {
  Inputs& in = facts.inputs;
  const int nodes = int(facts.nodes.size());
  in.nodes = options.nodes.value_or(nodes);
  if (!options.nodes)
    in.nodes_origin = Origin::probed, in.nodes_source = plural(std::size_t(nodes), "node") + " read";
  facts.arithmetic.push_back(options.nodes
                                 ? fmt::format("Q: {}, declared", plural(std::size_t(in.nodes), "node"))
                                 : fmt::format("Q: {}", in.nodes_source));
  const auto [least, most] = std::minmax_element(
      facts.nodes.begin(), facts.nodes.end(), [](const auto& a, const auto& b) { return a.gpus < b.gpus; });
  const std::string probed =
      most->gpus == 0 ? "no GPUs: one rank a node" : plural(std::size_t(least->gpus), "GPU") + " a node";
  if (options.gpus_per_node) {
    in.gpus_per_node = *options.gpus_per_node;
    facts.arithmetic.push_back(fmt::format("P: {} a node, declared (probed: {})",
                                           plural(std::size_t(in.gpus_per_node), "GPU"), probed));
    return;
  }
  in.gpus_per_node = std::max(1, least->gpus);
  in.gpus_origin = Origin::probed;
  in.gpus_source = probed;
  facts.arithmetic.push_back("P: " + probed);
  if (most->gpus == 0) facts.notes.push_back("no GPUs: one rank a node, and B does not matter");
  if (least->gpus != most->gpus)
    facts.notes.push_back(fmt::format("nodes are unequal: {} has {}, {} has {}; the least is taken",
                                      least->node, plural(std::size_t(least->gpus), "GPU"), most->node,
                                      plural(std::size_t(most->gpus), "GPU")));
}

Result<void> check(const topology::Cluster& cluster, const FactOptions& options) {
  if (cluster.nodes.empty())
    return fail(Cause::bad_input, "there is no node to work out an ideal from", {},
                "give --nodes, --gpus-per-node, --inter and --intra, or files with nodes in them");
  for (const std::string& name : options.nics) {
    const auto has = [&](const Node& node) { return node.find_nic(name) != nullptr; };
    if (std::any_of(cluster.nodes.begin(), cluster.nodes.end(), has)) continue;
    std::vector<std::string> names;
    for (const Nic& nic : cluster.nodes.front().nics) names.push_back(nic.name);
    return fail(Cause::bad_input, fmt::format("no node has an NIC '{}'", name), {},
                names.empty() ? "there are none"
                              : fmt::format("{} has {}", cluster.nodes.front().name, listed(names)));
  }
  return {};
}

}  // namespace

Result<Facts> from_topology(const topology::Cluster& cluster, const FactOptions& options) {
  if (auto fits = check(cluster, options); !fits) return tl::unexpected(fits.error());
  Facts facts;
  for (const Node& node : cluster.nodes) {
    NodeFacts& of = facts.nodes.emplace_back();
    of.node = node.name;
    for (const std::string_view list : {topology::gap::pci_devices, topology::gap::netdevs})
      if (const topology::Gap* gap = node.find_gap(list))
        of.notes.push_back(
            fmt::format("{} could not be listed, so GPUs or NICs may be missing here: {}", list, gap->why));
    find_intra(node, of);
    find_inter(node, options.nics, of);
  }
  find_shape(options, facts);
  const auto arithmetic = [&](const Least& least, std::string NodeFacts::*text) {
    return (least.node ? *least.node : facts.nodes.front()).*text;
  };
  Inputs& in = facts.inputs;
  const Least inside = min_of(facts.nodes, &NodeFacts::intra);
  in.intra = choose_rate("B", inside, arithmetic(inside, &NodeFacts::intra_arithmetic), options.intra, facts);
  if (inside.node && !options.intra) in.intra_efficiency = inside.node->intra_efficiency;
  const Least between = min_of(facts.nodes, &NodeFacts::inter);
  in.inter =
      choose_rate("I", between, arithmetic(between, &NodeFacts::inter_arithmetic), options.inter, facts);
  if (between.node && !options.inter) in.inter_efficiency = between.node->inter_efficiency;
  in.infiniband = all_of(facts.nodes, [](const NodeFacts& node) { return node.infiniband; });
  in.nvlink_reduces = all_of(facts.nodes, [](const NodeFacts& node) { return node.nvlink_reduces; });
  if (options.nvlink_domain) {
    in.nvlink_domain = *options.nvlink_domain;
    facts.arithmetic.push_back(
        fmt::format("NVLink joins {}, declared", plural(std::size_t(in.nvlink_domain), "node")));
  }
  for (const NodeFacts& node : facts.nodes)
    for (const std::string& note : node.notes)
      facts.notes.push_back(facts.nodes.size() > 1 ? fmt::format("{}: {}", node.node, note) : note);
  return facts;
}

}  // namespace ringtrue::ideal
