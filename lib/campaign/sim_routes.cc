#include "campaign/sim_routes.h"

#include <fmt/format.h>

#include "campaign/draw.h"
#include "sim/network.h"
#include "topology/routes.h"

namespace ringtrue::campaign {
namespace {

int port_to_spine(const sim::Fabric& fabric, int spine) {
  return fabric.leaf + 1 + spine;
}

}  // namespace

std::string trunk_name(const sim::Fabric& fabric, int leaf, int spine, bool down) {
  const std::string below = fmt::format("leaf{} port {}", leaf, port_to_spine(fabric, spine));
  const std::string above = fmt::format("spine{} port {}", spine, leaf + 1);
  return down ? above + " -> " + below : below + " -> " + above;
}

std::shared_ptr<const diagnosis::NodeRoutes> routes_of(const sim::Fabric& fabric, double stale,
                                                       std::uint64_t seed) {
  auto routes = std::make_shared<topology::Routes>();
  const int spines = sim::spines_of(fabric), groups = (fabric.nodes - 1) / fabric.leaf + 1,
            leaves = groups * fabric.rails;
  for (int l = 0; l < leaves; ++l) routes->add_switch(fmt::format("leaf{}", l));
  for (int s = 0; s < spines; ++s) routes->add_switch(fmt::format("spine{}", s));
  for (int l = 0; l < leaves; ++l) {
    for (int s = 0; s < spines; ++s) {
      const int there = int(routes->trunks().size());
      routes->add_trunk({l, port_to_spine(fabric, s), leaves + s, l + 1, there + 1});
      routes->add_trunk({leaves + s, l + 1, l, port_to_spine(fabric, s), there});
    }
  }
  const auto slot = [&](int node) { return fabric.slots.empty() ? node : fabric.slots[std::size_t(node)]; };
  std::vector<std::vector<int>> ports(std::size_t(fabric.nodes));
  for (int node = 0; node < fabric.nodes; ++node)
    for (int rail = 0; rail < fabric.rails; ++rail)
      ports[std::size_t(node)].push_back(
          routes->add_port({fmt::format("node{}", node), fmt::format("nic{}", rail),
                            fabric.group_of(node) * fabric.rails + rail, 1 + slot(node) % fabric.leaf}));
  Draw draw(seed ^ 0x57a1e);
  for (int node = 0; node < fabric.nodes; ++node) {
    for (int rail = 0; rail < fabric.rails; ++rail) {
      const int port = ports[std::size_t(node)][std::size_t(rail)];
      for (int l = rail; l < leaves; l += fabric.rails) {
        int spine = slot(node) % spines;
        if (stale > 0 && draw.chance(stale)) spine = draw.below(spines);
        routes->send(l, port, port_to_spine(fabric, spine));
      }
      for (int s = 0; s < spines; ++s)
        routes->send(leaves + s, port, routes->ports()[std::size_t(port)].at + 1);
    }
  }
  return std::make_shared<const diagnosis::NodeRoutes>(std::move(routes), std::move(ports));
}

}  // namespace ringtrue::campaign
