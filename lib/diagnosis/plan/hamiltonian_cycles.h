// Rings that together hold every directed pair of n nodes exactly once: n - 1 of them, in each of which every
// node sends to one other and receives from one other. They exist for every n but 4 and 6 (Tillson, "A
// Hamiltonian decomposition of K*_2m, 2m >= 8", 1980); for these two there are n rings, the fewest that hold
// every pair at least once.
//
// Odd n: the zigzag of Walecki, over n - 1 points on a circle and one in its middle, turned step by step.
// Even n: the same rings over n - 1 nodes, each opened at one place for the last node, so that the pairs
// which this takes out of them make a way through all n - 1 nodes, which the last node closes to one more
// ring. That way is found by exchanging segments until each ring gives one pair; a seeded search, the same
// everywhere.
#pragma once

#include <vector>

namespace ringtrue::diagnosis {

class HamiltonianCycles {
 public:
  // n >= 2. About n^2 steps where n is even, none where it is odd.
  explicit HamiltonianCycles(int n);

  int rings() const { return rings_; }
  // The kth ring: n nodes, each of which sends to the next and the last to the first.
  std::vector<int> ring(int k) const;

 private:
  int n_, rings_;
  std::vector<int> opened_;  // even n, by ring: the node behind which the last node is put in
  std::vector<int> last_;    // even n: the ring that the others' pairs make
};

}  // namespace ringtrue::diagnosis
