// Packets that RDMA lost on the way, from what the ports at both ends count.
//
// Of each lost packet of data the receiving port counts one out of sequence and the sending port the negative
// acknowledgement that answers it. So whose link loses is told by how the counts are spread: one sender's
// side has most of what senders count, and its receivers share the same number among them; of a single path
// both ends have most; of a node that loses both ways both sides stand out. What is spread over all accuses
// nobody.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "diagnosis/counters.h"
#include "diagnosis/measurer.h"
#include "diagnosis/report.h"

namespace ringtrue::diagnosis {

using Rails = std::map<std::string, std::vector<RdmaPort>>;  // by name of the node

// Lost packets over those that the accused port sent or received. Ethernet's own errors stay below 1e-7; from
// one in ten thousand on RoCE's rate suffers, from one in a hundred it collapses.
inline constexpr double loss_warning = 1e-4, loss_critical = 1e-2;
inline constexpr std::uint64_t fewest_losses = 20;  // over a check; fewer may be chance

// Adds what loses packets to `diagnosis` and raises its verdict: as evidence to a finding of slowness that
// names the same node, else as a finding of its own ("lossy-sender", "lossy-receiver", "lossy-node",
// "lossy-path"). Where losses are many and nobody stands out: to not_checked.
void add_losses(const Windows& windows, const Rails& rails, Diagnosis& diagnosis);

}  // namespace ringtrue::diagnosis
