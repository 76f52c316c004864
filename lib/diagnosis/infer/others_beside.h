// Whose lasting traffic for others may be what a side lacks.
//
// A node that receives for others all the time fills the links above it, and who hangs below the same ones
// receives less from everybody beyond, with nothing to be seen on its own ports; likewise for what is sent.
// What comes from that very node does not cross these links: where it is as slow, twice, they are not the
// reason. What nodes send for others and none of them receives ends elsewhere, maybe below the same switch.
#pragma once

#include <vector>

#include "diagnosis/infer/readings.h"

namespace ringtrue::diagnosis {

struct OthersBeside {
  int node = -1;  // the busiest of those that may share links, and that the side has not met; -1: nobody
  // Bytes per second, of others, in that direction: that node's, or what is not this fleet's. 0: nothing.
  double rate = 0;
};

// By node, of its sending or its receiving side. Where leaves are guessed, those below another one share no
// links with what stays below one; where all are below one switch, nobody does. `reference`: what a port
// does, as the readings are. `good`: below, it is slow.
std::vector<OthersBeside> others_beside(Direction direction, const Readings& readings,
                                        const std::vector<OthersTraffic>& lasting, double reference,
                                        double good, const Structure& structure);

}  // namespace ringtrue::diagnosis
