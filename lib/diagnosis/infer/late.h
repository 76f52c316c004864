// Who answers late: nodes and pairs whose smallest round trip is far above the fleet's.
//
// A round trip crosses both ways, so that neither the direction nor, of a node, the side can be told. Pairs
// below one leaf and pairs across leaves are held to their own kind; across, where ways may be longer by more
// switches, as if nothing were known. A node is late when it is with everyone below its leaf, or, where
// nobody else is there, across. Where nothing is known of how the nodes hang together, a longer way is no
// fault: then only what takes three times as long, and 100 us more, counts. Who waits in a port that others
// fill is not late.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "diagnosis/infer/pair_table.h"
#include "diagnosis/measurer.h"

namespace ringtrue::diagnosis {

struct Late {
  int node = 0;
  int peer = -1;                  // of a pair
  double latency = 0, usual = 0;  // seconds: the smallest round trip, and that of most nodes
  int runs = 0;                   // experiments that say so
  bool confirmed() const { return runs >= 3; }
};

class Latencies {
 public:
  void add(const Observation& observation, int run);
  // Later ones first. Empty where fewer than three nodes can be compared.
  std::vector<Late> late(const Structure& structure, int nodes) const;
  // Seconds: upper median of all pairs; 0 of none.
  double usual() const;
  // Leaves whose nearest other leaf is further than is usual: alone in a pod, all that they send goes over
  // its links.
  std::set<int> far_leaves(const Structure& structure) const;

 private:
  bool in_whole_microseconds() const;
  struct Seen {
    double least = 0;
    int runs = 0, last = -1;
  };
  void note_filled(const Observation& observation);
  // A node's ports are filled by others in a third of its experiments.
  bool is_filled(int node) const;

  PairTable<Seen> pairs_;  // the lower node first
  struct Filled {
    int runs = 0, by_others = 0;
  };
  std::map<int, Filled> filled_;  // by node
};

}  // namespace ringtrue::diagnosis
