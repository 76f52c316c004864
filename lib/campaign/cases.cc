#include "campaign/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/plural.h"
#include "base/splitmix64.h"
#include "campaign/draw.h"
#include "ideal/rates.h"
#include "sim/levels.h"

namespace ringtrue::campaign {
namespace {

using Fault = sim::FabricFault;
using What = sim::Place::What;
using Side = sim::Place::Side;
using Group = Kind::Group;

constexpr Kind all_kinds[] = {
    {"healthy", "nothing is wrong", Group::healthy},
    {"healthy-busy", "nothing is wrong, and others send", Group::healthy},
    {"slow-out", "a node's links out of it at a fraction of their rate", Group::place, true},
    {"slow-in", "a node's links into it", Group::place, true},
    {"slow-node-links", "a node's links, both ways", Group::place, true},
    {"slow-nic", "one NIC, out of it, into it or both", Group::place, true},
    {"narrow-nic", "a NIC at half its width", Group::place, true},
    {"lossy", "packets lost out of a node or into it, or both", Group::place, true},
    {"late", "latency added at a node", Group::place},
    {"flapping", "a node's or a NIC's link that goes down and up", Group::place, true},
    {"slow-compute", "a node that takes in data at a fraction of the rate", Group::place, true},
    {"dead", "a node that does not answer", Group::place, true},
    {"small-mtu", "a node's NICs at an MTU so small that headers take the share", Group::place, true},
    {"slow-leaf", "all trunks of a leaf", Group::place},
    {"slow-spine", "all trunks of a spine", Group::place},
    {"slow-core", "all trunks of a core switch", Group::place},
    {"slow-path", "one directed pair of nodes", Group::pair},
    {"late-path", "latency added between one pair of nodes", Group::pair},
    {"slow-trunk", "a cable between two switches, one way: the pairs that their hashes send there",
     Group::pair},
    {"slow-cable", "a cable between two switches, both ways", Group::pair},
    {"two", "two of the faults of nodes and NICs, at different nodes", Group::several},
    {"three", "three of them", Group::several},
    {"quarter", "a quarter of the nodes, each with one of them; recall: of all of these faults",
     Group::several, false, true},
    {"half", "half of the nodes, where the link rate is told; the same", Group::several, false, true},
};

// How many nodes have a fault of their own; 0: there is one fault.
int several(const Kind& kind, int nodes) {
  return kind.name == "two"       ? 2
         : kind.name == "three"   ? 3
         : kind.name == "quarter" ? nodes / 4
         : kind.name == "half"    ? nodes / 2
                                  : 0;
}

const Kind& kind_of(std::string_view name) {
  return *std::find_if(std::begin(all_kinds), std::end(all_kinds),
                       [&](const Kind& kind) { return kind.name == name; });
}

bool needs_cores(const Kind& kind) {
  return kind.name == "slow-core";
}

bool needs_leaves(const Kind& kind) {
  return kind.name == "slow-leaf" || kind.name == "slow-spine" || kind.name == "slow-trunk" ||
         kind.name == "slow-cable" || needs_cores(kind);
}

constexpr int smallest_leaf = 4;
int min_leaves(const Kind& kind) {
  return needs_cores(kind) ? 4 : 2;  // two pods of two
}

// Of fewer, a kind is another one, or nothing could show it: with two nodes no round trip has its like.
int min_nodes(const Kind& kind) {
  if (needs_leaves(kind)) return min_leaves(kind) * smallest_leaf;
  if (kind.name == "two") return 5;
  if (kind.name == "three") return 7;
  if (kind.name == "quarter" || kind.name == "half") return 4;
  return kind.group == Group::pair || kind.name == "late" ? 3 : 2;
}

// Every doubling from `min` on is as likely; within one, every number.
int draw_nodes(Draw& draw, int min, int max) {
  int doublings = 1;
  while (min << doublings < max) ++doublings;
  const int low = min << draw.below(doublings);
  const int high = std::min(max, 2 * low == max ? max : 2 * low - 1);
  return low + draw.below(std::max(high - low, 0) + 1);
}

void lay_leaves(Draw& draw, sim::Fabric& fabric, const Kind& kind) {
  std::vector<int> sizes;
  for (const int leaf : {smallest_leaf, 8, 16, 32})
    if (min_leaves(kind) * leaf <= fabric.nodes) sizes.push_back(leaf);
  if (!draw.chance(needs_leaves(kind) ? 1 : 0.5) || sizes.empty()) return;
  fabric.leaf = draw.of(sizes);
  fabric.oversubscription = draw.chance(0.5) ? 2 : 1;
  fabric.nodes -= fabric.nodes % fabric.leaf;  // no leaf with a few nodes only
}

sim::Fabric draw_fabric(Draw& draw, const Limits& limits, const Kind& kind) {
  sim::Fabric fabric;
  fabric.nodes = draw_nodes(draw, limits.min_nodes, limits.max_nodes);
  fabric.rails = draw.of(std::vector<int>{1, 1, 2, 4, 8});
  const double nominal = draw.of(std::vector<double>{10e9, 25e9, 100e9, 200e9, 400e9}) / 8;
  fabric.inter.rate = BytesPerSecond(nominal * ideal::ethernet_tcp(fabric.mtu)->share);
  fabric.inter.latency = Seconds(draw.of(std::vector<double>{2e-6, 5e-6, 20e-6}));
  fabric.reduce_rate = fabric.inter.rate * double(fabric.rails);  // as fast as the wires
  lay_leaves(draw, fabric, kind);
  return fabric;
}

Side draw_side(Draw& draw) {
  return draw.of(std::vector<Side>{Side::out, Side::in, Side::both});
}

// A slice with a lost packet waits for so long that the share is lost.
void lose(Draw& draw, double severity, const sim::Fabric& fabric, Fault& fault) {
  constexpr double slice = 128 * 1024;
  fault.share = draw.between(1e-4, 2e-3);
  const double hit = 1 - power(1 - fault.share, std::uint64_t(slice / fabric.mtu) + 1);
  fault.time = Seconds(slice / fabric.inter.rate.value * severity / (1 - severity) / hit);
}

// The MTU whose headers take the share; at IPv4's smallest, of 68, they take this much of what an MTU of 9000
// carries.
constexpr double most_of_headers = 0.8;
int mtu_with(double severity) {
  const double payload = (1 - severity) * ideal::ethernet_tcp(9000)->share;
  return std::max(68, int((52 + 14 * payload) / (1 - payload)));
}

// Of a leaf's, or as often of a spine's.
sim::Place draw_cable(Draw& draw, const sim::Fabric& f) {
  const sim::Levels levels = sim::levels_of(f);
  sim::Place out;
  if (levels.cores > 0 && draw.chance(0.5)) {
    out = {What::core_trunk, Side::both, draw.below(levels.all_spines()), 0};
    out.part = levels.core(out.node % levels.spines, draw.below(levels.cores));
  } else {
    out = {What::trunk, Side::both, draw.below(levels.leaves), 0};
    out.part = levels.spine(levels.pod_of_leaf(out.node), draw.below(levels.spines));
  }
  if (levels.cables > 1) out.cable = draw.below(levels.cables);
  return out;
}

// What `severity` of a kind is at `node`, or at what else the kind is about.
std::vector<Fault> fault_of(Draw& draw, std::string_view kind, double severity, int node,
                            const sim::Fabric& f) {
  Fault fault;
  fault.place = {What::node, Side::both, node, 0};
  fault.share = 1 - severity;
  const double round_trip = 2 * f.inter.latency.value;
  const auto at_a_nic = [&] { fault.place = {What::nic, draw_side(draw), node, draw.below(f.rails)}; };
  if (kind == "slow-out") {
    fault.place.side = Side::out;
  } else if (kind == "slow-in") {
    fault.place.side = Side::in;
  } else if (kind == "slow-nic") {
    at_a_nic();
  } else if (kind == "narrow-nic") {
    fault.kind = Fault::Kind::narrow;
    fault.place = {What::nic, Side::both, node, draw.below(f.rails)};
    fault.share = 0.5;
  } else if (kind == "lossy") {
    fault.kind = Fault::Kind::lossy;
    fault.place.side = draw_side(draw);
    lose(draw, severity, f, fault);
  } else if (kind == "late" || kind == "late-path") {
    fault.kind = Fault::Kind::late;
    fault.place.side = draw_side(draw);
    fault.time = Seconds(round_trip * severity / (1 - severity));
  } else if (kind == "flapping") {
    if (draw.chance(0.5)) at_a_nic();
    fault.kind = Fault::Kind::flapping;
    fault.share = severity;
    fault.period = Seconds(draw.between(1e-3, 20e-3));
  } else if (kind == "slow-compute") {
    fault.kind = Fault::Kind::slow_node;
  } else if (kind == "dead") {
    fault.kind = Fault::Kind::dead;
  } else if (kind == "small-mtu") {
    fault.kind = Fault::Kind::mtu;
    fault.mtu = mtu_with(severity);
  } else if (kind == "slow-leaf") {
    fault.place = {What::leaf, Side::both, 0, 0};
    // A leaf of every rail, of one group of nodes.
    std::vector<Fault> all;
    const int group = draw.below(f.nodes / f.leaf);
    for (int rail = 0; rail < f.rails; ++rail) {
      fault.place.node = group * f.rails + rail;
      all.push_back(fault);
    }
    return all;
  } else if (kind == "slow-spine") {
    fault.place = {What::spine, Side::both, 0, draw.below(sim::levels_of(f).all_spines())};
  } else if (kind == "slow-core") {
    fault.place = {What::core, Side::both, 0, draw.below(sim::levels_of(f).all_cores())};
  } else if (kind == "slow-trunk" || kind == "slow-cable") {
    fault.place = draw_cable(draw, f);
    fault.place.side = kind == "slow-cable" ? Side::both : draw.chance(0.5) ? Side::out : Side::in;
  }
  if (kind == "slow-path" || kind == "late-path")
    fault.place = {What::path, Side::both, node, (node + 1 + draw.below(f.nodes - 1)) % f.nodes};
  return {fault};
}

// Of nodes and NICs, for several at once.
constexpr std::string_view single[] = {"slow-out",   "slow-in", "slow-node-links", "slow-nic",
                                       "narrow-nic", "lossy",   "slow-compute"};

std::vector<Fault> draw_faults(Draw& draw, const Kind& kind, double severity, double least,
                               const sim::Fabric& f) {
  const int many = several(kind, f.nodes);
  if (many == 0) return fault_of(draw, kind.name, severity, draw.below(f.nodes), f);
  std::vector<Fault> out;
  std::vector<int> nodes;
  while (int(nodes.size()) < many) {
    const int node = draw.below(f.nodes);
    if (std::find(nodes.begin(), nodes.end(), node) != nodes.end()) continue;
    const double worst = nodes.empty() ? severity : draw.between(least, severity);
    nodes.push_back(node);
    const auto more = fault_of(draw, single[draw.below(int(std::size(single)))], worst, node, f);
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

std::vector<int> doublings(int from, int to) {
  std::vector<int> out;
  for (int n = from; n <= to; n *= 2) out.push_back(n);
  return out;
}

// What all of it is oversubscribed by, leaves first; pods of as many leaves each. All are powers of two, as
// leaves are, so that every switch has whole uplinks.
void lay_levels(Draw& draw, sim::Fabric& fabric, const Kind& kind, Fabrics fabrics) {
  const int total = 1 << draw.below(4);
  const bool varied = fabrics == Fabrics::varied;
  const bool three = varied && draw.chance(needs_cores(kind) ? 1 : 0.5) && fabric.nodes >= 4 * fabric.leaf;
  const int leaf = three ? draw.of(doublings(1, std::min(total, fabric.leaf))) : std::min(total, fabric.leaf);
  fabric.oversubscription = leaf;
  if (varied) fabric.cables = draw.of(doublings(1, std::min(4, fabric.leaf / leaf)));
  if (!three) return;
  fabric.pod = draw.of(doublings(2, std::min(32, fabric.nodes / fabric.leaf / 2)));
  fabric.nodes -= fabric.nodes % (fabric.leaf * fabric.pod);  // no pod of a few leaves only
  fabric.core_oversubscription = std::min(total / leaf, fabric.pod);
}

void vary(Draw& draw, sim::Fabric& fabric, const Kind& kind, Fabrics fabrics) {
  if (fabric.leaf == 0) return;
  fabric.hashing = draw.of(std::vector<sim::Hashing>{sim::Hashing::addresses, sim::Hashing::connections,
                                                     sim::Hashing::destination, sim::Hashing::adaptive});
  lay_levels(draw, fabric, kind, fabrics);
  if (!draw.chance(0.5)) return;
  fabric.slots.resize(std::size_t(fabric.nodes));
  std::iota(fabric.slots.begin(), fabric.slots.end(), 0);
  for (int i = fabric.nodes; i > 1; --i)
    std::swap(fabric.slots[std::size_t(i - 1)], fabric.slots[std::size_t(draw.below(i))]);
}

// Close to normal: a sum of twelve shares.
double normal(Draw& draw) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += draw.share();
  return sum;
}

void annoy(Draw& draw, const Nuisances& nuisances, Case& c) {
  sim::Fabric& fabric = c.world.fabric;
  Draw older(splitmix64(c.seed ^ 0x9e4e7a));
  const bool three = older.chance(0.5);  // generations, in half of the cases
  double fastest = 0;
  for (int node = 0; node < fabric.nodes; ++node) {
    const double generation = !draw.chance(nuisances.generations) ? 1
                              : three && older.chance(0.5)        ? 0.25
                                                                  : 0.5;
    if (generation != 1) c.world.generations[node] = generation;
    fastest = std::max(fastest, generation);
    for (auto* side : {&fabric.egress, &fabric.ingress}) {
      const double factor = generation * std::max(0.5, 1 + nuisances.spread * normal(draw));
      if (factor != 1) (*side)[node] = factor;
    }
  }
  // A program, or a way, is slower than the NICs that it has, whatever others have.
  for (Fault& fault : fabric.faults) {
    const double own = c.world.generation(fault.place.node);
    if (fault.kind == Fault::Kind::slow_node) fault.share *= own;
    if (fault.kind == Fault::Kind::slow_link && fault.place.what == What::path)
      fault.share *= std::min(own, c.world.generation(fault.place.part));
  }
  // Who declares a rate declares that of his fastest ports.
  if (c.link_rate) c.link_rate = *c.link_rate * fastest;
  c.world.noise.tail = nuisances.tails;
  c.world.noise.latency = nuisances.latency;
  c.world.noise.retransmits = nuisances.retransmits;
  c.spread = nuisances.spread;
  c.world.lasting = nuisances.lasting;
  c.world.away = nuisances.away;
  c.world.intermittent = nuisances.intermittent;
  c.world.period = Seconds(0.5 * (1 << draw.below(7)) * (1 + draw.share()));
  const double off = nuisances.declared * draw.between(-1, 1);
  if (c.link_rate && off != 0) c.link_rate = *c.link_rate * (1 + off);
}

const Kind* draw_kind(Draw& draw, const std::vector<const Kind*>& from, Weights weights) {
  double all = 0;
  for (const Kind* kind : from) all += weight_of(kind->name, weights);
  double at = all * draw.share();
  for (const Kind* kind : from) {
    at -= weight_of(kind->name, weights);
    if (at < 0) return kind;
  }
  return from.back();
}

}  // namespace

std::span<const Kind> kinds() {
  return all_kinds;
}

std::string_view takes(const Kind& kind, const Limits& limits) {
  if (kind.group == Group::healthy) return "a fault";
  if (limits.max_nodes < min_nodes(kind)) return "larger clusters";
  return needs_cores(kind) && limits.fabrics != Fabrics::varied ? "three levels" : "";
}

bool fits(const Kind& kind, const Limits& limits) {
  return takes(kind, limits).empty();
}

Result<const Kind*> find_kind(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Kind& kind : all_kinds) {
    if (kind.name == name) return &kind;
    if (kind.group != Group::healthy) names.push_back(kind.name);
  }
  return fail(Cause::bad_input, fmt::format("unknown kind '{}'", name.substr(0, 40)), "",
              fmt::format("one of {}", fmt::join(names, ", ")));
}

Case draw_case(std::uint64_t campaign_seed, std::uint64_t number, const Limits& limits) {
  Case out;
  out.number = number;
  out.seed = splitmix64(splitmix64(campaign_seed) + number);
  Draw draw(out.seed);
  const bool busy = draw.chance(limits.busy);
  if (number % 2 == 0) {
    out.kind = &kind_of(busy ? "healthy-busy" : "healthy");
  } else {
    std::vector<const Kind*> from = limits.kinds;
    for (const Kind& kind : all_kinds)
      if (limits.kinds.empty() && !kind.named_only) from.push_back(&kind);
    std::erase_if(from, [&](const Kind* kind) { return !fits(*kind, limits); });
    out.kind = from.empty() ? &kind_of("slow-out") : draw_kind(draw, from, limits.weights);
    // Milder ones as often as grave ones.
    out.severity = out.kind->name == "dead"         ? 0
                   : out.kind->name == "narrow-nic" ? 0.5
                                                    : draw.between(limits.min_severity, limits.max_severity);
    if (out.kind->name == "small-mtu") out.severity = std::min(out.severity, most_of_headers);
  }
  Limits room = limits;
  room.min_nodes = std::max(room.min_nodes, min_nodes(*out.kind));
  out.world.fabric = draw_fabric(draw, room, *out.kind);
  sim::Fabric& fabric = out.world.fabric;
  // From draws of its own, and nuisances, too: the rest of a case is the same with and without.
  Draw shape(splitmix64(out.seed ^ 0x1e7e1));
  if (limits.fabrics != Fabrics::plain) vary(shape, fabric, *out.kind, limits.fabrics);
  if (limits.told == Told::routes) fabric.hashing = sim::Hashing::destination;
  if (out.severity > 0 || out.kind->name == "dead")
    fabric.faults = draw_faults(draw, *out.kind, out.severity, limits.min_severity, fabric);
  out.world.noise = {limits.noise, limits.noise};
  out.world.disturbed = busy ? 0.05 : 0;
  out.world.seed = draw.next();
  // Without it two nodes know nothing of what is due, and three little.
  const bool told = draw.chance(0.5) || fabric.nodes <= 3 || out.kind->name == "half";
  if (told)
    out.link_rate = fabric.inter.rate * (double(fabric.rails) / ideal::ethernet_tcp(fabric.mtu)->share);
  out.world.rdma = fabric.rails > 1;
  out.world.told = limits.told;
  Draw more(splitmix64(out.seed ^ 0x0dd5));
  out.world.stale = limits.stale_routes;
  annoy(more, limits.nuisances, out);
  return out;
}

std::vector<std::string> Case::faults() const {
  std::vector<std::string> out;
  for (const Fault& fault : world.fabric.faults) out.push_back(sim::to_text(fault));
  return out;
}

namespace {

std::string levels_text(const sim::Fabric& f) {
  const sim::Levels levels = sim::levels_of(f);
  std::string out =
      fmt::format(" below {} of {} and {}, oversubscribed {:g}:1", plural(levels.groups, "leaf", "leaves"),
                  f.leaf, plural(levels.all_spines(), "spine"), f.oversubscription);
  if (levels.cores > 0)
    out += fmt::format(", in {} below {}, oversubscribed {:g}:1", plural(levels.pods, "pod"),
                       plural(levels.all_cores(), "core"), f.core_oversubscription);
  if (f.cables > 1) out += fmt::format(", trunks of {} cables", f.cables);
  return out;
}

}  // namespace

std::string Case::text() const {
  const sim::Fabric& f = world.fabric;
  std::string out = plural(f.nodes, "node");
  out += f.leaf > 0 ? levels_text(f) : std::string(" below one switch");
  out += fmt::format(", {} of {} after {} each, noise {:g} %", plural(f.rails, "NIC"), to_text(f.inter.rate),
                     to_text(f.inter.latency), world.noise.run * 100);
  if (f.leaf > 0 && f.hashing != sim::Hashing::addresses)
    out += fmt::format(", ways by {}", key_of(f.hashing));
  if (!f.slots.empty()) out += ", nodes in any order";
  if (!f.egress.empty()) out += ", ports that differ";
  if (world.away > 0)
    out += fmt::format(", faults away for {:g} % of every {}", world.away * 100, to_text(world.period));
  if (world.intermittent > 0)
    out += fmt::format(", faults away in {:g} % of the runs", world.intermittent * 100);
  if (world.lasting > 0)
    out += fmt::format(", {:g} % of the nodes send for others throughout", world.lasting * 100);
  if (world.disturbed > 0) out += fmt::format(", {:g} % of the nodes send for others", world.disturbed * 100);
  out += link_rate ? fmt::format("; told: {} a node", to_text(*link_rate)) : std::string("; no rate told");
  for (const std::string& fault : faults()) out += "; " + fault;
  return out;
}

}  // namespace ringtrue::campaign
