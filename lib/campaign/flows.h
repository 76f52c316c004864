// What the hops of one experiment take on a fabric, as flows: all begin at once, and those that share a link
// get their max-min fair rates until they end (sim/sharing.h). So a collective whose hops work at once is
// played in a time that does not depend on its bytes: a pairwise shift over 1,024 nodes in milliseconds.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "diagnosis/measurer.h"
#include "sim/fabric.h"

namespace ringtrue::campaign {

struct Flow {
  int source = 0, destination = 0;  // nodes
  Bytes bytes;
  int source_rank = -1, destination_rank = -1;
};

// Of what is drawn, as shares.
struct Noise {
  double run = 0;    // every link is slower by up to this throughout the run
  double slice = 0;  // every slice takes up to this longer
  // A flow on a rail takes longer by this times a draw with a heavy tail: one in ten is above 1.1, one in a
  // hundred above 4.5, none above 5.
  double tail = 0;
  double latency = 0;      // a reading's round trip is longer by up to this
  double retransmits = 0;  // of the packets, sent again where nothing is wrong
};

struct Played {
  std::vector<diagnosis::HopReading> hops;
  // By node: what others sent and received there at the beginning, where there was any.
  std::map<int, diagnosis::OthersTraffic> others;
};

// One reading a flow, as its sender would see it. `busy`: until its last byte has arrived, waits for lost
// packets, for others on its links and for links that are down included; of several rails, over which the
// bytes are dealt evenly, until the last is done. `latency`: the smallest round trip, without load.
// `receiver_limited`: where the destination takes in less than its links carry. `begin`: the time on the
// fabric's clock, which decides where in their periods flapping links are. No node of `flows` is dead.
Played play_flows(const sim::Fabric& fabric, std::span<const Flow> flows, const Noise& noise,
                  std::uint64_t seed, Seconds begin);

}  // namespace ringtrue::campaign
