// Faults and a pace between ranks of one process, of which a check makes its nodes.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "collective/fault.h"
#include "diagnosis/measurer.h"

namespace ringtrue::ops {

// Ranks of one process have no wires between them, only processors that they share: what a hop carries then
// says nothing, unless it is held to a rate that these processors reach with ease.
BytesPerSecond local_pace(int ranks);

// The faults between nodes, as faults between the ranks of a run over `order`.
std::string faults_by_rank(const std::vector<collective::Fault>& by_node, const std::vector<int>& order);

// Makes every hop that `experiment` uses as slow as `pace`, or as a throttle among `by_node` has it.
std::vector<collective::Fault> paced(const diagnosis::Experiment& experiment,
                                     const std::vector<collective::Fault>& by_node, BytesPerSecond pace);

}  // namespace ringtrue::ops
