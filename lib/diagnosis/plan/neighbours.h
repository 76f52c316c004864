// Orders of a large fleet in which everyone sends to the next: to a node below the same leaf, but for the
// last of each leaf, who sends to the next leaf. So every port is measured under real load, and no trunk
// carries more than one flow up and one down: what is read slow is slow.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "diagnosis/infer/readings.h"
#include "diagnosis/measurer.h"

namespace ringtrue::diagnosis {

// The leaf of each node. Where none is known: groups of 16 in the order given, in which neighbours are most
// often near each other.
std::vector<int> groups_of(const Structure& structure, int nodes);

// What the next order is to tell, by node.
struct Wanted {
  explicit Wanted(int nodes)
      : sends(std::size_t(nodes)), receives(sends), busy(sends), level(std::size_t(nodes), 1.0) {}
  std::vector<char> sends, receives;  // suspected sides: they are to meet good ones that they have not met
  // Who carries data for others all the time, and the share of the fastest generation's rate: those that are
  // busy, or of an older one than a suspected side, show little of it.
  std::vector<char> busy;
  std::vector<double> level;
  std::vector<std::pair<int, int>> paths;  // to be held, as far as they fit together
};

// `nodes` in such an order; deterministic, and another one for each seed. Seed 0: by leaf, as given.
std::vector<int> neighbour_order(const std::vector<int>& nodes, const std::vector<int>& group,
                                 const Wanted& wanted, const Readings& met, std::uint64_t seed);

// All of them in any order, but each next to nodes of other groups as far as there are such.
std::vector<int> across_order(const std::vector<int>& nodes, const std::vector<int>& group,
                              std::uint64_t seed);

}  // namespace ringtrue::diagnosis
