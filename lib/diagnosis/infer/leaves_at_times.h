// Leaves whose links to others are slow now and then: what a good crossing clears of a leaf that is slow for
// good, it does not clear of one that is slow at times.
//
// As of sides (unsteady.h): how often crossings read low elsewhere tells how often they do by chance. Of each
// experiment one reading counts that leaves the leaf and one that enters it; where all nodes sent
// across at once, what they carried together (leaf_sums.h). No one node, at either end, may be what
// makes them low, and no other leaf be slow at times as well: then it is something above them.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "diagnosis/infer/inference.h"

namespace ringtrue::diagnosis {

struct LeafAtTimes {
  int leaf = -1;
  bool up = false, down = false;           // what leaves it, what enters it
  std::vector<Reading> readings;           // the low ones, fastest first
  std::vector<std::pair<int, int>> pairs;  // of these
  double best = 0;                         // their middle, bytes per second
  double usual = 0;                        // what is due
  bool together = false;                   // all at once: rates are of the mean hop
  int hops = 1;                            // of so many, one way
  int low_runs = 0, all_runs = 0;
  Course course = Course::at_times;
  double chance = 0;  // of as many low ones, over all leaves, ends and depths
  bool confirmed = false;
  bool open = false;  // it may be chance yet, and more readings would tell
};

// Single hops and what all nodes of a leaf do at once, or that alone.
enum class CrossingsSeen { all, together };

// Of leaves that are not slow for good. Clearest first; `structure` knows the leaves. `across`: of
// experiments in which all nodes sent to other leaves.
std::vector<LeafAtTimes> leaves_at_times(const Readings& readings, const Readings& across,
                                         const Inference& inference, const Structure& structure,
                                         const std::set<int>& slow_for_good,
                                         CrossingsSeen seen = CrossingsSeen::all);

}  // namespace ringtrue::diagnosis
