// What a fabric must be to be played on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/network.h"

namespace ringtrue::sim {

namespace {

constexpr std::int64_t max_ranks = 1 << 20, max_links = 16'000'000;
constexpr int max_spines = 1 << 16, max_cables = 64;

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
  if (fabric.leaf < 0 || fabric.spines < 0 || fabric.pod < 0 || fabric.cores < 0)
    return refuse("a count must not be negative");
  if (fabric.cables < 1 || fabric.cables > max_cables)
    return refuse(fmt::format("{} cables of a trunk are not 1 to {}", fabric.cables, max_cables));
  for (const double ratio : {fabric.oversubscription, fabric.core_oversubscription})
    if (!above_zero(ratio) || ratio > 1000) return refuse("an oversubscription is above 0 and at most 1000");
  if (fabric.leaf == 0) {
    if (fabric.spines > 0 || fabric.oversubscription != 1)
      return refuse("spines without leaves", "say how many nodes are below a leaf");
    if (fabric.pod > 0 || fabric.cores > 0 || fabric.core_oversubscription != 1)
      return refuse("pods and cores without leaves", "say how many nodes are below a leaf");
    if (fabric.cables > 1)
      return refuse("cables of trunks without leaves", "say how many nodes are below a leaf");
    return {};
  }
  if (spines_of(fabric) > max_spines)
    return refuse(fmt::format("an oversubscription of {:g} takes {} spines, more than {}",
                              fabric.oversubscription, spines_of(fabric), max_spines));
  const std::int64_t leaves = std::int64_t((nodes - 1) / fabric.leaf + 1) * fabric.rails;
  if (leaves * spines_of(fabric) * fabric.cables > max_links)
    return refuse(fmt::format("{} leaves times {} spines are too many links", leaves, spines_of(fabric)));
  if (fabric.pod == 0) {
    if (fabric.cores > 0 || fabric.core_oversubscription != 1)
      return refuse("cores without pods", "say how many leaves are in a pod");
    return {};
  }
  if (std::int64_t(fabric.pod) * fabric.rails > max_links) return refuse("pods of too many leaves");
  const Levels levels = levels_of(fabric, nodes);
  if (levels.cores > max_spines)
    return refuse(fmt::format("an oversubscription of {:g} takes {} cores above a spine, more than {}",
                              fabric.core_oversubscription, levels.cores, max_spines));
  const std::int64_t spines = std::int64_t(levels.pods) * levels.spines;
  if (spines * levels.cores * fabric.cables > max_links)
    return refuse(fmt::format("{} spines times {} cores are too many links", spines, levels.cores));
  return {};
}

// Faults may be of nodes that a run leaves out, so that only the fabric as it is described counts.
Result<void> check_place(const Fabric& fabric, const FabricFault& fault) {
  using What = Place::What;
  const Place& place = fault.place;
  const auto lacks = [&](std::string_view what, int count) {
    return refuse(fmt::format("fault {}: there are {} {}", to_text(fault), count, what));
  };
  int nodes = fabric.nodes;
  for (const int node : fabric.node_of_rank) nodes = std::max(nodes, node + 1);
  if (!place.of_switches() && place.node >= nodes) return lacks("nodes", nodes);
  if (place.what == What::path && place.part >= nodes) return lacks("nodes", nodes);
  if (place.what == What::nic && place.part >= fabric.rails) return lacks("NICs in a node", fabric.rails);
  if (place.what == What::gpu && fabric.node_of_rank.empty() && place.part >= fabric.ranks_per_node)
    return lacks("ranks on a node", fabric.ranks_per_node);
  if (!place.of_switches()) return {};
  if (fabric.leaf == 0) return refuse(fmt::format("fault {}: there are no leaves", to_text(fault)));
  const Levels levels = levels_of(fabric, nodes);
  const bool of_leaf = place.what == What::leaf || place.what == What::trunk;
  const bool of_core = place.what == What::core || place.what == What::core_trunk;
  const int spine = place.what == What::core_trunk ? place.node : place.part;
  if (of_core && levels.cores == 0)
    return refuse(fmt::format("fault {}: there are no cores", to_text(fault)),
                  "say how many leaves are in a pod");
  if (of_leaf && place.node >= levels.leaves) return lacks("leaves", levels.leaves);
  if (place.what != What::leaf && place.what != What::core && spine >= levels.all_spines())
    return lacks("spines", levels.all_spines());
  if (of_core && place.part >= levels.all_cores()) return lacks("cores", levels.all_cores());
  if (place.cable >= levels.cables) return lacks("cables in a trunk", levels.cables);
  if (place.what == What::trunk && !levels.joined(place.node, spine))
    return refuse(fmt::format("fault {}: leaf{} is in pod {} and spine{} in pod {}", to_text(fault),
                              place.node, levels.pod_of_leaf(place.node), spine, levels.pod_of_spine(spine)));
  if (place.what == What::core_trunk && !levels.joins(place.part, spine))
    return refuse(
        fmt::format("fault {}: no trunk joins them", to_text(fault)),
        fmt::format("spine{} has trunks to core{} to core{}", spine, levels.core(spine % levels.spines, 0),
                    levels.core(spine % levels.spines, levels.cores - 1)));
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
  if (!not_negative(fabric.receive_overhead.value) || !not_negative(fabric.spine_latency.value) ||
      !not_negative(fabric.core_latency.value))
    return refuse("a latency must not be negative");
  if (!not_negative(fabric.reduce_rate.value) || !not_negative(fabric.gpu_pcie.value))
    return refuse("a rate must not be negative");
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
