// Nodes that are slow alike with all others and not among themselves: what they share is slow, their leaf
// most often. For fleets of which nobody told how they hang together.
//
// A pair that was seen to be good is an edge. Nodes that reach each other over such edges, both ways, are a
// component; a healthy fleet is one. What a slow uplink cuts off is another, without an edge out of it, and
// what a slow downlink cuts off, without one into it. A node whose own link is slow is a component of one.
#pragma once

#include <vector>

#include "diagnosis/infer/inference.h"
#include "diagnosis/infer/readings.h"

namespace ringtrue::diagnosis {

// By node: the number of its component, of pairs that did well in company or `alone`. That of most nodes is
// 0.
std::vector<int> components(const Readings& readings, const Readings& alone, const Inference& inference);

// Those of two nodes and more that are slow with the others, one way or both.
std::vector<SlowGroup> slow_groups(const Readings& readings, const Readings& alone,
                                   const Inference& inference);

}  // namespace ringtrue::diagnosis
