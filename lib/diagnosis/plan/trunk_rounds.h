// Orders of nodes in which hops meet on no trunk, where routes are known: to cross all trunks, and to tell
// apart those that are suspected.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "diagnosis/infer/trunks.h"
#include "diagnosis/routes.h"

namespace ringtrue::diagnosis {

// Each sends to the next, the last to the first; empty: there is none.
using RoundOrder = std::vector<int>;

class TrunkRounds {
 public:
  // `nodes`: those that take part.
  TrunkRounds(const Crossings& crossings, std::vector<int> nodes);

  // As many trunks as possible that were crossed in fewer than `times` runs, by one hop each; everybody else
  // with a neighbour on the same switches. `turn` changes who goes where. Shifts of all nodes where they meet
  // nobody, as in a fat tree; else what fits, trunk by trunk.
  RoundOrder cover(int times, int turn);
  // Two nodes of which the first reaches the second over a trunk that nobody has met; empty: all were met.
  RoundOrder two_over_unmet() const;
  // Whether a fault of one switch slows so many ways that most of what crosses trunks may be slow.
  bool few_switches() const;
  // Whether any hop between these nodes crosses a trunk that was not met yet, as far as known.
  int unmet() const;

  struct Separation {
    RoundOrder order;                       // hops through open elements that avoid the other open ones
    std::vector<std::vector<int>> classes;  // open elements that all hops cross together
  };
  // All open elements at once, as far as they fit, and then these pairs once more.
  Separation separate(const std::vector<int>& open, const std::vector<std::pair<int, int>>& pairs,
                      int turn) const;

 private:
  struct Hop {
    int source = -1, destination = -1, rail = 0;
  };
  struct Round;
  void find_users();
  int shift_that_fits(int times, int turn) const;
  void fill_locally(Round& round) const;
  RoundOrder chained(const Round& round) const;
  std::vector<int> like(int node) const;
  bool may_swap(const Round& round, int x, int u, int y, int v) const;
  std::vector<Hop> traced_over(int element, int turn) const;
  std::vector<Hop> hops_over(int element, int rail, int turn) const;

  const Crossings& c_;
  const NodeRoutes& routes_;
  std::vector<int> nodes_;               // by switch and port
  std::vector<int> leaf_;                // by node
  std::vector<std::vector<int>> below_;  // by leaf: nodes
  std::vector<char> used_;               // by trunk: some pair of these nodes crosses it
};

}  // namespace ringtrue::diagnosis
