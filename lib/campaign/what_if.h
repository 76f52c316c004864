// What the findings of a check cost, and how to go on until they are mended: a ring over all nodes, played in
// the simulator on the rates that the check measured.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/report.h"

namespace ringtrue::campaign {

// How a ring does better before anything is mended.
struct Plan {
  enum class Kind { reorder, leave_out_nodes, leave_out_rail };
  Kind kind = Kind::reorder;
  std::vector<std::string> order;     // of the ring's nodes, without those that are left out
  std::vector<std::string> left_out;  // nodes, or the one rail
  BytesPerSecond now, then;           // busbw of a ring

  double gain() const { return then / now - 1; }
  std::string text() const;  // "leave out node3: 31.2 MB/s -> 59.8 MB/s busbw over 7 of 8 nodes"
};
std::string_view name(Plan::Kind kind);  // "reorder", "leave-out-nodes", "leave-out-rail"

// Says in every finding about a node's wires or a path what fixing it would bring ("fixing it: A -> B
// busbw"), and gives the plans that gain 5 % or more, the best first. Nothing where nothing was measured.
// Milliseconds for a hundred nodes; the same diagnosis gives the same words.
std::vector<Plan> what_if(diagnosis::Diagnosis& diagnosis);

}  // namespace ringtrue::campaign
