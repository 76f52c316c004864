// How fast an allreduce can be: the bound that physics sets, the ideal of each algorithm, and what is
// attainable on real links. Pure functions of a cluster's shape and rates.
//
// B: one-way rate per GPU inside a node. I: one-way rate per node between nodes. N = P x Q GPUs on Q nodes.
//   bound (busbw)  one node:      B
//                  several:       min( I (N-1) Q / (N ),  B (N-1) / (N-Q) )     (Preferred Networks)
//                  P = 1 has no inside, so only the first term.
// Nodes whose GPUs one NVLink network joins (a rack of NVL72: 18 trays) count as one node: as_domains().
//   ideal          busbw factor / seconds for the busiest ports' loads at I and B, see loads.h
//   attainable     the ideal, with I and B times their links' efficiency, see rates.h
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "ideal/loads.h"
#include "ideal/rates.h"

namespace ringtrue::ideal {

struct Inputs {
  int nodes = 1;          // Q
  int gpus_per_node = 1;  // P; ranks per node where there are no GPUs
  Origin nodes_origin = Origin::declared, gpus_origin = Origin::declared;
  std::string nodes_source{}, gpus_source{};  // how they came about; empty where declared
  std::optional<Rate> inter;                  // I; unknown otherwise
  std::optional<Rate> intra;                  // B; unknown otherwise
  std::optional<Efficiency> inter_efficiency;
  std::optional<Efficiency> intra_efficiency;
  int nvlink_domain = 1;  // nodes that one NVLink network joins; P and I are those of a node all the same
  Origin domain_origin = Origin::declared;
  std::optional<bool> infiniband;      // what is between nodes; unknown otherwise
  std::optional<bool> nvlink_reduces;  // by NVSwitches that can: those of H100 and later
};

// One input for display, with where it came from.
struct NamedInput {
  std::string name;             // "nodes", "gpus_per_node", "inter_Bps", "intra_Bps", "inter_efficiency", ...
  std::optional<double> value;  // nullopt: unknown
  Origin origin = Origin::unknown;
  std::string source;  // how it came about; empty where declared
};

struct AlgorithmIdeal {
  collective::AlgorithmId algorithm{};
  std::optional<BytesPerSecond> busbw;       // nullopt: does not apply, or a rate that it needs is unknown
  std::optional<BytesPerSecond> attainable;  // nullopt as well where an efficiency is unknown
  std::string arithmetic;                    // "2(N-1)/N / max(...) = ... = 100 GB/s", or why there is none
};

struct InNetwork {
  std::string name;  // "nvlink-sharp", "infiniband-sharp", "nvlink-and-infiniband-sharp"
  BytesPerSecond busbw;
  std::string arithmetic;
};

struct Ideal {
  std::optional<BytesPerSecond> inter_node;  // first term; nullopt: one node, or I unknown
  std::optional<BytesPerSecond> intra_node;  // second term; nullopt: one GPU a node, or B unknown
  // The lower of the known terms: above it lies a wrong model, never a good machine. nullopt: none known.
  std::optional<BytesPerSecond> bound;
  // A node's share of the network per GPU is faster than the GPU's own links (I / P > B), so the bound's
  // reasoning, that what a node sends first crosses its GPUs' links, fails: more than 100 % may be right.
  bool may_be_passed = false;
  std::vector<AlgorithmIdeal> algorithms;  // in the order of schedules()
  std::vector<InNetwork> in_network;       // reduction in switches, which passes the bound; rates as known
  std::vector<std::string> arithmetic;     // the terms and the bound, with the numbers filled in
  std::vector<std::string> notes;          // what is unknown, what may be wrong; sentences

  const AlgorithmIdeal* find(collective::AlgorithmId algorithm) const;  // nullptr: not modelled
};

// Errors: bad_input for fewer than one node or GPU, more than 4,194,304 ranks, a rate that is not above zero,
// an efficiency outside (0, 1], nodes that are not whole NVLink domains.
Result<Ideal> compute(const Inputs& inputs);

// The same with each NVLink domain as one node: Q / D nodes of P x D GPUs that send D x I.
Inputs as_domains(const Inputs& inputs);

std::vector<NamedInput> list(const Inputs& inputs);

}  // namespace ringtrue::ideal
