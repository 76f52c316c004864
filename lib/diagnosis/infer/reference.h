// What every side of a fleet has shown that it can do, and what all of them are held to.
#pragma once

#include <optional>
#include <vector>

#include "diagnosis/infer/inference.h"
#include "diagnosis/infer/readings.h"

namespace ringtrue::diagnosis {

// The best of one direction, by node.
struct Limits {
  explicit Limits(int nodes);
  void meet(int node, const std::optional<double>& best, bool is_brief);
  void note(int node, const Reading& reading);
  // Once all are noted: a side that has carried much in a few ticks is not held to what a very slow partner
  // let it show for longer.
  void settle();
  void hold_to(double most);  // bytes per second
  // Its rate comes from readings of a few ticks.
  bool momentary(std::size_t node) const { return brief[node] && steady[node] < *rate[node] * 0.999; }

  std::vector<std::optional<double>> rate;  // bytes per second
  std::vector<bool> brief;
  std::vector<double> steady, settled;  // best of longer readings; 0: none
  std::vector<double> rough;            // best of those of a few ticks, in which no burst counts
  std::vector<double> shown;            // best of all; 0: none
};

// The majority is taken over sides, not over pairs: one bad node spoils its whole row and column of pairs,
// but only two sides.
Reference reference_of(const Limits& sends, const Limits& receives, std::optional<double> attainable,
                       std::optional<double> nominal);

// The standard deviation of what sides do at their best, as a share of the reference, from the middle one's
// distance to the middle: ports differ for good. Of few sides less than usual is not believed.
double scatter_of(const Limits& sends, const Limits& receives, double reference);
// What is called slow is to be so many of those deviations below that it would not happen once in a thousand
// fleets as large.
Thresholds no_closer_than(const Reference& reference, const Limits& sends, const Limits& receives,
                          const Thresholds& wanted);

}  // namespace ringtrue::diagnosis
