// What the findings of a check cost, and how to go on until they are repaired: a ring over all nodes is as
// fast as its slowest hop, by the rates that the check measured.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/keys.h"
#include "base/units.h"

namespace ringtrue::diagnosis {

struct Diagnosis;

// How a ring does better before anything is repaired.
struct Plan {
  enum class Kind { reorder, leave_out_nodes, leave_out_rail };
  Kind kind = Kind::reorder;
  std::vector<std::string> order;     // of the ring's nodes, without those that are left out
  std::vector<std::string> left_out;  // nodes, or the one rail
  BytesPerSecond now, then;           // busbw of a ring

  double gain() const { return then / now - 1; }
};

// Sets the impact of every finding about a node's wires or a path: what repairing it brings to the busbw of a
// ring. Returns the plans that gain 5 % or more, the best first. Nothing where nothing was measured.
std::vector<Plan> advise(Diagnosis& diagnosis);

}  // namespace ringtrue::diagnosis

namespace ringtrue {

template <>
inline constexpr const char* keys_of<diagnosis::Plan::Kind>[] = {"reorder", "leave-out-nodes",
                                                                 "leave-out-rail"};

}  // namespace ringtrue
