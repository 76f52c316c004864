#include "sim/levels.h"

#include <algorithm>
#include <cmath>

namespace ringtrue::sim {

namespace {

int whole(double links) {
  return int(std::clamp(std::floor(links + 0.5), 1.0, 1e9));
}

}  // namespace

int spines_of(const Fabric& fabric) {
  if (fabric.leaf <= 0) return 0;
  if (fabric.spines > 0) return fabric.spines;
  return whole(double(fabric.leaf) / fabric.oversubscription / fabric.cables);
}

Levels levels_of(const Fabric& fabric, int nodes) {
  Levels out;
  out.cables = fabric.cables;
  if (fabric.leaf <= 0) return out;
  out.groups = (nodes - 1) / fabric.leaf + 1;
  out.leaves = out.groups * fabric.rails;
  out.spines = spines_of(fabric);
  out.pods = 1, out.leaves_of_pod = out.leaves;
  if (fabric.pod <= 0) return out;
  out.pods = (out.groups - 1) / fabric.pod + 1;
  out.leaves_of_pod = fabric.pod * fabric.rails;
  // What the leaves of a pod send up, in NICs' worth, over its spines.
  const double below = double(out.leaves_of_pod) * fabric.leaf / (fabric.oversubscription * out.spines);
  out.cores = fabric.cores > 0 ? fabric.cores : whole(below / fabric.core_oversubscription / fabric.cables);
  return out;
}

Levels levels_of(const Fabric& fabric) {
  int nodes = fabric.node_of_rank.empty() ? fabric.nodes : 1;
  for (const int node : fabric.node_of_rank) nodes = std::max(nodes, node + 1);
  return levels_of(fabric, nodes);
}

int uplink_by_destination(const Levels& levels, int slot) {
  return slot % (levels.spines * levels.cables);
}

int core_link_by_destination(const Levels& levels, int slot, int rail, int rails) {
  return (slot / levels.spines * rails + rail) % (levels.cores * levels.cables);
}

}  // namespace ringtrue::sim
