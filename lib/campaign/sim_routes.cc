#include "campaign/sim_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "campaign/draw.h"
#include "sim/levels.h"
#include "topology/routes.h"

namespace ringtrue::campaign {
namespace {

// Switches by their numbers among all, and their ports.
struct Numbers {
  explicit Numbers(const sim::Fabric& fabric) : nodes(fabric.leaf), levels(sim::levels_of(fabric)) {}

  int spine(int number) const { return levels.leaves + number; }
  int core(int number) const { return levels.leaves + levels.all_spines() + number; }
  int switches() const { return levels.leaves + levels.all_spines() + levels.all_cores(); }
  std::string name(int at) const {
    if (at < levels.leaves) return fmt::format("leaf{}", at);
    if (at < core(0)) return fmt::format("spine{}", at - levels.leaves);
    return fmt::format("core{}", at - core(0));
  }

  int leaf_up(int link) const { return nodes + 1 + link; }
  int spine_down(int leaf, int cable) const {
    return 1 + leaf % levels.leaves_of_pod * levels.cables + cable;
  }
  int spine_up(int link) const { return 1 + levels.leaves_of_pod * levels.cables + link; }
  int core_down(int pod, int cable) const { return 1 + pod * levels.cables + cable; }

  // One cable, from the switch below.
  topology::Trunk of_leaf(int leaf, int spine, int cable) const {
    return {leaf, leaf_up(cable * levels.spines + spine % levels.spines), this->spine(spine),
            spine_down(leaf, cable), -1};
  }
  topology::Trunk of_spine(int spine, int core, int cable) const {
    return {this->spine(spine), spine_up(cable * levels.cores + core % levels.cores), this->core(core),
            core_down(levels.pod_of_spine(spine), cable), -1};
  }

  const int nodes;  // below a leaf
  const sim::Levels levels;
};

void add_cable(topology::Routes& routes, topology::Trunk up) {
  const int there = int(routes.trunks().size());
  up.back = there + 1;
  routes.add_trunk(up);
  routes.add_trunk({up.to, up.to_port, up.from, up.from_port, there});
}

void add_switches(const Numbers& n, topology::Routes& routes) {
  const sim::Levels& levels = n.levels;
  for (int at = 0; at < n.switches(); ++at) routes.add_switch(n.name(at));
  for (int leaf = 0; leaf < levels.leaves; ++leaf)
    for (int place = 0; place < levels.spines; ++place)
      for (int cable = 0; cable < levels.cables; ++cable)
        add_cable(routes, n.of_leaf(leaf, levels.spine(levels.pod_of_leaf(leaf), place), cable));
  for (int spine = 0; spine < levels.all_spines(); ++spine)
    for (int nth = 0; nth < levels.cores; ++nth)
      for (int cable = 0; cable < levels.cables; ++cable)
        add_cable(routes, n.of_spine(spine, levels.core(spine % levels.spines, nth), cable));
}

}  // namespace

std::string trunk_name(const sim::Fabric& fabric, const sim::Place& place) {
  const Numbers n(fabric);
  const int cable = std::max(place.cable, 0);
  const topology::Trunk up = place.what == sim::Place::What::trunk
                                 ? n.of_leaf(place.node, place.part, cable)
                                 : n.of_spine(place.node, place.part, cable);
  const std::string below = fmt::format("{} port {}", n.name(up.from), up.from_port);
  const std::string above = fmt::format("{} port {}", n.name(up.to), up.to_port);
  if (place.side == sim::Place::Side::both) return below + " <-> " + above;
  return place.side == sim::Place::Side::in ? above + " -> " + below : below + " -> " + above;
}

std::shared_ptr<const diagnosis::NodeRoutes> routes_of(const sim::Fabric& fabric, double stale,
                                                       std::uint64_t seed) {
  auto routes = std::make_shared<topology::Routes>();
  const Numbers n(fabric);
  const sim::Levels& levels = n.levels;
  add_switches(n, *routes);
  std::vector<std::vector<int>> ports(std::size_t(fabric.nodes));
  for (int node = 0; node < fabric.nodes; ++node)
    for (int rail = 0; rail < fabric.rails; ++rail)
      ports[std::size_t(node)].push_back(routes->add_port(
          {fmt::format("node{}", node), fmt::format("nic{}", rail),
           fabric.group_of(node) * fabric.rails + rail, 1 + fabric.slot_of(node) % fabric.leaf}));
  Draw draw(seed ^ 0x57a1e);
  const auto in_use = [&](int link, int links) {
    return stale > 0 && draw.chance(stale) ? draw.below(links) : link;
  };
  for (int node = 0; node < fabric.nodes; ++node) {
    for (int rail = 0; rail < fabric.rails; ++rail) {
      const int port = ports[std::size_t(node)][std::size_t(rail)];
      const int own = routes->ports()[std::size_t(port)].at, pod = levels.pod_of_leaf(own);
      const int up = sim::uplink_by_destination(levels, fabric.slot_of(node));
      for (int leaf = rail; leaf < levels.leaves; leaf += fabric.rails)
        routes->send(leaf, port, n.leaf_up(in_use(up, levels.spines * levels.cables)));
      for (int place = 0; place < levels.spines; ++place)
        routes->send(n.spine(levels.spine(pod, place)), port, n.spine_down(own, up / levels.spines));
      if (levels.cores == 0) continue;
      const int link = sim::core_link_by_destination(levels, fabric.slot_of(node), rail, fabric.rails);
      for (int spine = 0; spine < levels.all_spines(); ++spine)
        if (levels.pod_of_spine(spine) != pod)
          routes->send(n.spine(spine), port, n.spine_up(in_use(link, levels.cores * levels.cables)));
      for (int core = 0; core < levels.all_cores(); ++core)
        routes->send(n.core(core), port, n.core_down(pod, link / levels.cores));
    }
  }
  return std::make_shared<const diagnosis::NodeRoutes>(std::move(routes), std::move(ports));
}

}  // namespace ringtrue::campaign
