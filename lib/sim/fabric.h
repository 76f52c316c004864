// The cluster that the simulator plays on.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "collective/choose.h"
#include "collective/types.h"

namespace ringtrue::sim {

using collective::HopCost;

// Every node has one port out of it and one into it, shared by its ranks and served first come, first served;
// every rank has such a pair of ports for its hops inside the node. The network between the nodes is a switch
// that takes all that its ports deliver, but for single paths that are slower.
struct Fabric {
  int nodes = 1;
  int ranks_per_node = 1;
  std::vector<int> node_of_rank;  // other placements: rank by rank, instead of ranks_per_node

  HopCost intra{Seconds(2e-6), BytesPerSecond(10e9), Seconds(0)};
  HopCost inter{Seconds(20e-6), BytesPerSecond(12.5e9), Seconds(0)};

  // Factors on inter.rate; a node or a path that is not there has 1.
  std::map<int, double> egress, ingress;       // of a node's ports
  std::map<std::pair<int, int>, double> path;  // of a directed pair of nodes

  collective::Layout layout() const {
    if (!node_of_rank.empty()) return {node_of_rank};
    return collective::Layout::uniform(nodes, ranks_per_node);
  }
};

}  // namespace ringtrue::sim
