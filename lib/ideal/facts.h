// The ideal's inputs from what a cluster is: B, I, P and Q out of a topology, with the arithmetic.
//
//   B   one way, per GPU, inside a node: all NVLinks that its board has, or else its PCIe link.
//   I   one way, per node: over the rails (ports of the node's fastest kind of NIC), R x the slowest of
//       min(port's rate, PCIe path of its NIC); a card's ports share its slot. The path leads up to the root,
//       or, where GPUDirect is known to work, to the switch that a GPU hangs below as well.
//   P   GPUs a node; Q nodes. Unequal nodes: the least of each, with a note.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ideal/ideal.h"
#include "topology/model.h"

namespace ringtrue::ideal {

struct FactOptions {
  std::optional<int> nodes;  // declared values override what is probed
  std::optional<int> gpus_per_node;
  std::optional<BytesPerSecond> inter, intra;
  std::optional<int> nvlink_domain;  // nodes that one NVLink network joins
  std::vector<std::string> nics;     // only these are rails; empty: chosen as above
};

struct Rail {
  std::string nic;
  int port = 1;
  std::optional<BytesPerSecond> port_rate;  // nullopt: unknown
  std::optional<BytesPerSecond> pcie;  // the narrowest link up to the root, or its part of its card's slot
  std::optional<BytesPerSecond> rate;  // the lower of those known
  std::string limit;                   // "port", "PCIe path at 0000:3a:00.0", "unknown"
  bool by_port = false;                // that is the port's own rate
};

struct NodeFacts {
  std::string node;
  int gpus = 0;
  std::optional<BytesPerSecond> intra, inter;
  std::string intra_arithmetic, inter_arithmetic;                // "18 NVLinks x 25 GB/s = 450 GB/s (nvml)"
  std::optional<Efficiency> intra_efficiency, inter_efficiency;  // where a figure for these links is known
  std::optional<BytesPerSecond> sum;  // of the rails, where it differs from R x the slowest
  std::vector<Rail> rails;
  std::optional<bool> infiniband;      // what its rails are
  std::optional<bool> nvlink_reduces;  // by NVSwitches
  std::vector<std::string> notes;      // what is unknown, down or narrower than it should be; of this node
};

struct Facts {
  Inputs inputs;  // origins say probed, declared or unknown
  std::vector<NodeFacts> nodes;
  std::vector<std::string> arithmetic;  // sentences, in order: how B, I, P and Q came about
  std::vector<std::string> notes;       // what is unknown or unequal
};

// Error: bad_input for no node at all, or a NIC in `nics` that no node has.
Result<Facts> from_topology(const topology::Cluster& cluster, const FactOptions& options = {});

// Why a measured busbw lies above what its ideal allows: a sentence that names the likely cause, out of the
// inputs (a rate declared too low, one rail of several declared, in-network reduction, ranks of one node that
// share memory, a burst of a shaper). nullopt where it does not: measured <= ideal x 1.02.
struct AboveIdeal {
  std::string likely;  // "the declared rate between nodes, 12.5 GB/s, is that of one of 8 rails"
  // False where the model is known not to hold (Ideal::may_be_passed): then the result may be right.
  bool wrong_model = true;
  std::string text(BytesPerSecond measured, BytesPerSecond ideal) const;  // the whole sentence
};
std::optional<AboveIdeal> explain_above(BytesPerSecond measured, const Ideal& ideal, const Inputs& inputs,
                                        collective::AlgorithmId algorithm);

}  // namespace ringtrue::ideal
