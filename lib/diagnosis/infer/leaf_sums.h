// What all nodes of a leaf send to other leaves at once, and receive from them, against what other leaves do.
//
// One hop at a time shows a leaf's links only as far as a node can fill them, and where hops are sprayed over
// all of them, a link that is slow hardly at all; all at once fill them. Collisions of hashed trunks are of
// every leaf, and even out over its hops. What members carry for others may cross the same links: it counts
// for the leaf that is looked at, and not for what is usual.
//
// The share is the larger of two, so that leaves that differ by design are not slow: of what their hops could
// carry, as leaves have older nodes or few in the check, and of all that crosses, as one has more of them.
#pragma once

#include <set>
#include <vector>

#include "diagnosis/infer/inference.h"

namespace ringtrue::diagnosis {

struct LeafSum {
  int leaf = -1;
  bool up = false;  // what leaves it, or what enters it
  int run = 0;
  struct Hop {
    int source = 0, destination = 0;
    double rate = 0, others = 0, due = 0;  // bytes per second
  };
  std::vector<Hop> hops;
  // Medians of the other leaves, of what they do with one another: of what is due, and bytes per second.
  double usual_share = 0, usual_sum = 0;

  double carried(int without = -1) const;  // bytes per second, with others', but for a node's hops
  double share(int without = -1) const;    // of what is usual
};

// `across`: of experiments in which all nodes sent to other leaves. Without hops of the leaves `except`.
std::vector<LeafSum> leaf_sums(const Readings& across, const Inference& inference, const Structure& structure,
                               const std::set<int>& except);

}  // namespace ringtrue::diagnosis
