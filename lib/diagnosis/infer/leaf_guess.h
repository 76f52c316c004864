// Which nodes hang below one leaf, guessed from round trips: a way across a spine is longer by the time that
// two more switches and cables take, so that the smallest round trips of pairs fall into kinds, the nearest
// of which are below one leaf.
//
// Two nodes are near where their round trip is of the nearest kind. That has to fit together: who is near the
// same node is near each other. Where there is one kind alone, where kinds overlap, or where they do not fit
// together, nothing is guessed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "diagnosis/infer/pair_table.h"
#include "diagnosis/measurer.h"

namespace ringtrue::diagnosis {

class LeafGuess {
 public:
  using NodePairs = std::vector<std::pair<int, int>>;

  explicit LeafGuess(int nodes) : nodes_(nodes) {}

  void add(const Observation& observation);
  // Pairs whose round trips would tell more, each node in at most `per_node` of them. Empty: none would.
  NodePairs next(const std::vector<int>& nodes, int per_node, std::uint64_t seed);
  // By node: its leaf, from 0; a node that is near no other one has a leaf of its own. Empty: no guess.
  std::vector<int> leaves() const;
  // Whether all round trips are of one kind.
  bool all_alike() const;

 private:
  std::optional<double> near_below() const;  // seconds: what parts the nearest kind from the others
  bool kinds_stand_apart() const;
  bool scatter_is_small() const;
  // Seconds, in order: of all pairs that were measured often enough; of very many, of some.
  const std::vector<double>& least() const;
  std::vector<int> groups(double near_below) const;
  // Of one group: its pairs that were measured.
  struct Within {
    int members = 0, pairs = 0, far = 0;
    // As many pairs as link a group say nothing of whether it fits together.
    int telling() const { return pairs - (members - 1); }
  };
  std::map<int, Within> within_groups(double near_below) const;

  struct Seen {
    double least = 0;  // seconds
    int times = 0;
  };
  NodePairs to_repeat(const std::vector<int>& nodes, int per_node) const;
  NodePairs fresh(const std::vector<int>& nodes, int per_node, std::uint64_t seed) const;

  int nodes_;
  PairTable<Seen> seen_;  // the lower node first
  int times_ = 1;         // that each pair is measured, before its least is taken for what its way takes
  mutable std::optional<std::vector<double>> least_;  // as both were last seen
};

}  // namespace ringtrue::diagnosis
