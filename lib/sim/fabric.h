// The cluster that the simulator plays on.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/keys.h"
#include "collective/choose.h"
#include "collective/types.h"
#include "sim/fabric_fault.h"

namespace ringtrue::sim {

using collective::HopCost;

// How a switch chooses among its uplinks, and among the cables of a trunk down.
enum class Hashing : std::uint8_t {
  addresses,    // by a hash of both nodes and the lane: the same in every run
  connections,  // by a hash of the ports, too: another one in every run
  destination,  // by the destination alone, in turn: the tables of a fat tree (d-mod-k)
  adaptive  // message by message, where there is room: all trunks of a leaf, and of a pod, as if they were
            // one
};

// Inside a node, every rank has a port out of it and one into it. A node has `rails` NICs, each with a port
// out of it and one into it; messages between two nodes are dealt to the rails in turn and stay on their
// rail. The nodes hang below leaf switches, one a rail for each group of `leaf` nodes, and these below
// spines, each over a trunk of one or several cables in each direction; `hashing` says which a connection
// takes. Spines are those of all leaves, or of a pod of them; then those that have the same place in each
// pod are joined by cores. What a switch itself does takes no time and has no limit. docs/simulator.md tells
// it at length, levels.h how many switches there are.
struct Fabric {
  int nodes = 1;
  int ranks_per_node = 1;
  std::vector<int> node_of_rank;  // other placements: rank by rank, instead of ranks_per_node

  HopCost intra{Seconds(2e-6), BytesPerSecond(10e9), Seconds(0)};     // rate: of a rank's port
  HopCost inter{Seconds(20e-6), BytesPerSecond(12.5e9), Seconds(0)};  // rate: of a NIC's port
  Seconds receive_overhead;    // of each message between nodes, at its receiver
  BytesPerSecond reduce_rate;  // what a rank adds up at; 0: adding takes no time
  // GPUs and NICs on PCIe: what leaves a node crosses the rank's port too, and what goes from the first half
  // of the ranks to the second crosses one link that they all share.
  bool pcie = false;
  // A GPU's way to the NICs, each way, beside its NVLinks (not with `pcie`). The NICs of a node belong to its
  // ranks in order; what goes over another's NIC takes NVLink to that rank first, as NCCL's PXN, and comes in
  // likewise. 0: ranks feed all NICs of their node at any rate.
  BytesPerSecond gpu_pcie;

  int rails = 1;
  int leaf = 0;    // nodes below a leaf; 0: one switch for all
  int spines = 0;  // of a pod; 0: as many as a leaf has NICs' worth of uplinks
  int pod = 0;     // leaves of a rail below the same spines; 0: all, and no cores
  int cores = 0;   // that a spine has trunks to; 0: as many as it has NICs' worth of uplinks
  int cables = 1;  // of a trunk; a connection takes one
  Hashing hashing = Hashing::addresses;
  std::vector<int> slots;            // by node: its place below the leaves; empty: node n is in place n
  double oversubscription = 1;       // of a leaf's downlinks over its uplinks
  double core_oversubscription = 1;  // of a spine's downlinks over its uplinks
  Seconds spine_latency{1e-6};       // more, where a hop crosses a spine
  Seconds core_latency{2e-6};        // more than that, where it crosses a core
  int mtu = 9000;                    // bytes
  Bytes bucket;  // of a NIC that a shaper holds to its rate, see sharing.h; of fair sharing alone

  // Factors on the rate of a node's ports, all rails; a node that is not there has 1.
  std::map<int, double> egress, ingress;

  std::vector<FabricFault> faults;

  // Which leaves a node hangs below, one a rail; there are leaves.
  int group_of(int node) const { return slot_of(node) / leaf; }
  int slot_of(int node) const { return slots.empty() ? node : slots[std::size_t(node)]; }
  int pod_of(int node) const { return pod > 0 ? group_of(node) / pod : 0; }

  collective::Layout layout() const {
    if (!node_of_rank.empty()) return {node_of_rank};
    return collective::Layout::uniform(nodes, ranks_per_node);
  }
};

}  // namespace ringtrue::sim

namespace ringtrue {

template <>
inline constexpr const char* keys_of<sim::Hashing>[] = {"addresses", "connections", "destination",
                                                        "adaptive"};

}  // namespace ringtrue
