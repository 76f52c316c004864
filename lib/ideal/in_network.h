// What reduction in switches could reach, which may pass the bound. Private to lib/ideal.
//
// N = P x Q GPUs; what feeds the switches sets the pace, so each term has its own limit:
//   NVLink SHARP       in place of reduce-scatter and all-gather inside the node a GPU sends all of the data
//                      and the sum of its share, (P+1)/P of S:  busbw <= 2 (N-1)/N P/(P+1) B
//   InfiniBand SHARP   a node sends its sum once:               busbw <= 2 (N-1)/N I
// Where only one of the two reduces in switches, the other part is that of the bound.
#pragma once

#include <vector>

#include "ideal/ideal.h"

namespace ringtrue::ideal {

// Of inputs whose NVLink domains are nodes. What the hardware is known not to do is left out; what is not
// known is said in the arithmetic.
std::vector<InNetwork> in_network(const Inputs& inputs);

}  // namespace ringtrue::ideal
