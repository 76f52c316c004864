// What a fabric must be to be played on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/network.h"

namespace ringtrue::sim {

namespace {

constexpr std::int64_t max_ranks = 1 << 20, max_links = 16'000'000;
constexpr int max_spines = 1 << 16;

bool above_zero(double value) {
  return value > 0 && std::isfinite(value);
}
bool not_negative(double value) {
  return value >= 0 && std::isfinite(value);
}

tl::unexpected<Error> refuse(std::string what, std::string next = "") {
  return fail(Cause::bad_input, std::move(what), "fabric", std::move(next));
}

Result<void> check_shape(const Fabric& fabric, int nodes) {
  if (fabric.rails < 1 || fabric.rails > 64)
    return refuse(fmt::format("{} rails are not 1 to 64", fabric.rails));
  if (fabric.leaf < 0 || fabric.spines < 0) return refuse("a count must not be negative");
  if (!above_zero(fabric.oversubscription) || fabric.oversubscription > 1000)
    return refuse("an oversubscription is above 0 and at most 1000");
  if (fabric.leaf == 0) {
    if (fabric.spines > 0 || fabric.oversubscription != 1)
      return refuse("spines without leaves", "say how many nodes are below a leaf");
    return {};
  }
  if (spines_of(fabric) > max_spines)
    return refuse(fmt::format("an oversubscription of {:g} takes {} spines, more than {}",
                              fabric.oversubscription, spines_of(fabric), max_spines));
  const std::int64_t leaves = std::int64_t((nodes - 1) / fabric.leaf + 1) * fabric.rails;
  if (leaves * spines_of(fabric) > max_links)
    return refuse(fmt::format("{} leaves times {} spines are too many links", leaves, spines_of(fabric)));
  return {};
}

// Faults may be of nodes that a run leaves out, so that only the fabric as it is described counts.
Result<void> check_place(const Fabric& fabric, const FabricFault& fault) {
  using What = Place::What;
  const Place& place = fault.place;
  const auto lacks = [&](std::string_view what, int count) {
    return refuse(fmt::format("fault {}: there are {} {}", to_text(fault), count, what));
  };
  const bool by_node = place.what == What::node || place.what == What::nic || place.what == What::gpu ||
                       place.what == What::path;
  int nodes = fabric.nodes;
  for (const int node : fabric.node_of_rank) nodes = std::max(nodes, node + 1);
  if (by_node && place.node >= nodes) return lacks("nodes", nodes);
  if (place.what == What::path && place.part >= nodes) return lacks("nodes", nodes);
  if (place.what == What::nic && place.part >= fabric.rails) return lacks("NICs in a node", fabric.rails);
  if (place.what == What::gpu && fabric.node_of_rank.empty() && place.part >= fabric.ranks_per_node)
    return lacks("ranks on a node", fabric.ranks_per_node);
  if (by_node) return {};
  if (fabric.leaf == 0) return refuse(fmt::format("fault {}: there are no leaves", to_text(fault)));
  const int leaves = ((nodes - 1) / fabric.leaf + 1) * fabric.rails;
  if (place.what != What::spine && place.node >= leaves) return lacks("leaves", leaves);
  if (place.what != What::leaf && place.part >= spines_of(fabric)) return lacks("spines", spines_of(fabric));
  return {};
}

}  // namespace

Result<void> check(const Fabric& fabric) {
  if (fabric.node_of_rank.empty() && (fabric.nodes < 1 || fabric.ranks_per_node < 1)) {
    return refuse(fmt::format("{} nodes of {} ranks are not a cluster", fabric.nodes, fabric.ranks_per_node));
  }
  const std::int64_t ranks = fabric.node_of_rank.empty() ? std::int64_t(fabric.nodes) * fabric.ranks_per_node
                                                         : std::int64_t(fabric.node_of_rank.size());
  if (ranks > max_ranks)
    return refuse(fmt::format("{} ranks are more than the simulator's {}", ranks, max_ranks));
  int nodes = fabric.node_of_rank.empty() ? fabric.nodes : 0;
  for (const int node : fabric.node_of_rank) {
    if (node < 0 || node > max_ranks) return refuse(fmt::format("node {} does not exist", node));
    nodes = std::max(nodes, node + 1);
  }
  for (const HopCost* cost : {&fabric.intra, &fabric.inter}) {
    if (!above_zero(cost->rate.value)) return refuse("a rate must be above zero");
    if (!not_negative(cost->latency.value) || !not_negative(cost->overhead.value)) {
      return refuse("a latency must not be negative");
    }
  }
  if (!not_negative(fabric.receive_overhead.value) || !not_negative(fabric.spine_latency.value))
    return refuse("a latency must not be negative");
  if (!not_negative(fabric.reduce_rate.value)) return refuse("a rate must not be negative");
  if (fabric.mtu < 256 || fabric.mtu > 65536) return refuse(fmt::format("{} is not an MTU", fabric.mtu));
  for (const auto* factors : {&fabric.egress, &fabric.ingress}) {
    for (const auto& [node, value] : *factors) {
      if (!above_zero(value)) return refuse(fmt::format("node {}'s factor must be above zero", node));
    }
  }
  if (auto fits = check_shape(fabric, nodes); !fits) return fits;
  for (const FabricFault& fault : fabric.faults) {
    if (auto there = check_place(fabric, fault); !there) return there;
  }
  return {};
}

}  // namespace ringtrue::sim
