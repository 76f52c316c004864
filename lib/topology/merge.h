// Clusters out of parts: nodes that were read one by one, and what several files say of one node.
#pragma once

#include <string>
#include <vector>

#include "run/counter_window.h"
#include "topology/model.h"

namespace ringtrue::topology {

// Nodes side by side, fabrics as one. Nodes of one name are one node where their recordings are of different
// kinds (hwloc XML and NCCL XML of one machine: facts that one lacks come from the other); otherwise the
// later ones get "#2", "#3" behind their names. HCAs of the fabric meet the nodes' ports by GUID, and
// Port::peer is set.
Cluster merge(std::vector<Cluster> parts);

// `a` learns what only `b` knows: PciDevice, Processors, System, Port.
template <class T>
void learn(T& a, const T& b);

// Counters that changed from one reading to the next, and those that stand at their end.
run::CounterWindow difference(const std::vector<run::CounterSet>& before,
                              const std::vector<run::CounterSet>& after, double seconds);
// One window after the other, as one.
run::CounterWindow join(const run::CounterWindow& first, const run::CounterWindow& second);

}  // namespace ringtrue::topology
