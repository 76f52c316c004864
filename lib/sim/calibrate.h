// Latency, rate and cost of a slice, from what a live run took.
#pragma once

#include <vector>

#include "sim/simulate.h"

namespace ringtrue::sim {

// What one call took.
struct Sample {
  const collective::Algorithm* algorithm = nullptr;
  collective::Call call;
  Seconds time;
};

struct Calibration {
  HopCost cost;                    // of hops between the nodes, or inside the node where there is one
  Bytes bucket;                    // of the NICs' shapers
  std::vector<Seconds> simulated;  // the samples, so played
  double worst = 0;                // largest deviation of one of them, as a share of what was measured
};

// The cost with which the simulator comes nearest to the samples: least squares of relative deviations, by a
// search that halves its steps and Gauss-Newton from where it ends and from other starts. A bucket, where the
// fabric has none, is looked for only if without one a sample is off by more than 5 %, and taken if it halves
// the squares' root. Deterministic. Errors (bad_input): no samples of at least two sizes, one without a time,
// a collective that needs packets.
Result<Calibration> calibrate(const std::vector<Sample>& samples, const Fabric& fabric);

}  // namespace ringtrue::sim
