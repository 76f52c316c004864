// The switches of a fabric, level by level, and their numbers.
#pragma once

#include "sim/fabric.h"

namespace ringtrue::sim {

// Nodes hang below the leaves of their group, one a rail; the leaves of `leaves_of_pod / rails` groups below
// the spines of their pod; and spines below cores. Leaves are numbered by group, then rail; spines by pod,
// then by their place in it; cores by the place of the spines that they join, one of each pod, then one after
// the other.
struct Levels {
  int groups = 0, leaves = 0;  // 0: one switch for all
  int pods = 0, leaves_of_pod = 0;
  int spines = 0;  // of a pod
  int cores = 0;   // that a spine has trunks to; 0: two levels
  int cables = 1;  // of a trunk

  int all_spines() const { return pods * spines; }
  int all_cores() const { return spines * cores; }
  int spine(int pod, int place) const { return pod * spines + place; }
  int core(int place, int nth) const { return place * cores + nth; }
  int pod_of_leaf(int leaf) const { return leaf / leaves_of_pod; }
  int pod_of_spine(int spine) const { return spine / spines; }
  // Whether there are trunks between them.
  bool joined(int leaf, int spine) const { return pod_of_leaf(leaf) == pod_of_spine(spine); }
  bool joins(int core, int spine) const { return core / cores == spine % spines; }
};

// Of so many nodes.
Levels levels_of(const Fabric& fabric, int nodes);
Levels levels_of(const Fabric& fabric);
int spines_of(const Fabric& fabric);  // of a pod; 0 without leaves

// Tables by destination: d-mod-k (Zahavi, "D-Mod-K Routing Providing Non-Blocking Traffic for Shift
// Permutations on Real Life Fat Trees", 2010): a place below the leaves modulo a leaf's uplinks; what is left
// of it over the spines, rail by rail, modulo a spine's. Uplinks are counted over the switches above first,
// then over the cables to each; what comes down takes the cable of the same number.
int uplink_by_destination(const Levels& levels, int slot);
int core_link_by_destination(const Levels& levels, int slot, int rail, int rails);

}  // namespace ringtrue::sim
