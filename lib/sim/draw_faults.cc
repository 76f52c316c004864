// Faults by seed.
#include <algorithm>

#include "base/splitmix64.h"
#include "sim/fabric.h"
#include "sim/levels.h"

namespace ringtrue::sim {

namespace {

using Kind = FabricFault::Kind;
using What = Place::What;
using Side = Place::Side;

// Some trunk or one cable of it, by two numbers.
Place trunk_of(const Levels& levels, int a, int b) {
  const int leaf = a % levels.leaves;
  Place out{What::trunk, Side::out, leaf, levels.spine(levels.pod_of_leaf(leaf), b % levels.spines)};
  if (levels.cores > 0 && a / levels.leaves % 2 == 1) {
    const int spine = a / levels.leaves / 2 % levels.all_spines();
    out = {What::core_trunk, Side::out, spine, levels.core(spine % levels.spines, b % levels.cores)};
  }
  if (levels.cables > 1) out.cable = b / 4096 % levels.cables;
  return out;
}

}  // namespace

std::vector<FabricFault> draw_faults(const Fabric& fabric, std::uint64_t seed, int count) {
  SplitMix64 draw(splitmix64(seed ^ 0xfab));
  const auto roll = [&](int sides) { return int(draw() % std::uint64_t(std::max(sides, 1))); };
  std::vector<FabricFault> faults;
  int nodes = fabric.nodes;
  for (const int node : fabric.node_of_rank) nodes = std::max(nodes, node + 1);
  // A small cluster has few places; a few tries more find those that are left.
  for (int tries = 0; int(faults.size()) < count && tries < 100 * count; ++tries) {
    constexpr Kind common[] = {Kind::slow_link, Kind::slow_link, Kind::lossy,     Kind::late,
                               Kind::flapping,  Kind::narrow,    Kind::slow_node, Kind::slow_link,
                               Kind::mtu,       Kind::background};
    FabricFault fault;
    fault.kind = common[roll(std::size(common))];
    fault.share = (20 + roll(61)) / 100.0;
    fault.place.node = roll(nodes);
    const int other = roll(nodes - 1);
    const int where = roll(5), side = roll(3), leaf = roll(1 << 20), spine = roll(1 << 20);
    switch (fault.kind) {
      case Kind::slow_link:
        if (where == 0 && fabric.leaf > 0) {
          fault.place = trunk_of(levels_of(fabric, nodes), leaf, spine);
          fault.place.side = side == 0 ? Side::in : Side::out;
        } else if (where == 1 && nodes > 1) {
          fault.place = {What::path, Side::both, fault.place.node, other + (other >= fault.place.node)};
        } else {
          fault.place.side = Side(side);
        }
        break;
      case Kind::lossy:
        fault.place.side = Side(side);
        fault.share /= 1000;
        fault.time = Seconds(1e-3);
        break;
      case Kind::late:
        fault.place.side = Side(side);
        fault.share = 0;
        fault.time = Seconds((10 + roll(91)) * 1e-6);
        break;
      case Kind::flapping:
        fault.place.side = Side(side);
        fault.period = fault.time = Seconds(1e-3);
        break;
      case Kind::narrow:
        fault.place = {What::nic, Side::both, fault.place.node, leaf % fabric.rails};
        fault.share = 0.5;
        break;
      case Kind::mtu:
        fault.share = 0;
        fault.mtu = fabric.mtu > 1500 ? 1500 : 576;
        break;
      case Kind::background:
        if (nodes < 2) continue;
        fault.place = {What::path, Side::both, fault.place.node, other + (other >= fault.place.node)};
        fault.rate = BytesPerSecond(
            std::max(1.0, double(std::uint64_t(fabric.inter.rate.value * fabric.rails * fault.share))));
        fault.share = 0;
        break;
      default:
        break;
    }
    const bool taken = std::any_of(faults.begin(), faults.end(),
                                   [&](const FabricFault& f) { return f.place.node == fault.place.node; });
    if (!taken) faults.push_back(fault);
  }
  return faults;
}

}  // namespace ringtrue::sim
