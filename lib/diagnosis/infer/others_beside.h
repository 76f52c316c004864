// Whose lasting traffic for others may be what a side lacks.
//
// A node that receives for others all the time fills the links above it, and who hangs below the same ones
// receives less from everybody beyond, with nothing to be seen on its own ports; likewise for what is sent.
// What comes from that very node does not cross these links: where it is as slow, they are not the reason.
#pragma once

#include <vector>

#include "diagnosis/infer/readings.h"

namespace ringtrue::diagnosis {

struct OthersBeside {
  int node = -1;    // the busiest of those that may share links, and have not met the side yet; -1: nobody
  double rate = 0;  // bytes per second, of others, in that direction
};

// By node, of its sending or its receiving side. Where leaves are guessed, those below another one share no
// links with what stays below one; where all are below one switch, nobody does. `reference`: what a port
// does, as the readings are.
std::vector<OthersBeside> others_beside(Direction direction, const Readings& readings,
                                        const std::vector<OthersTraffic>& lasting, double reference,
                                        const Structure& structure);

}  // namespace ringtrue::diagnosis
