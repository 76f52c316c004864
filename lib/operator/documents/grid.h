// OmniReduce over workers, rates and densities, simulated, with its model beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collective/sparse.h"
#include "operator/documents/trouble.h"

namespace ringtrue::ops {

// A simulated time, and by how much it differs from the model's: 0.02 is 2 % longer.
struct GridTime {
  double time_s = 0, deviation = 0;
};

struct GridCell {
  int workers = 0, aggregators = 0;
  double density = 1, density_union = 1;  // shares of blocks; of the blocks that were drawn
  double rate_Bps = 0;
  std::uint64_t block = 0, streams = 0, fusion = 0;
  double model_s = 0;            // of blocks that are the same on all workers
  double on_wire_s = 0;          // with headers, first blocks and both hops
  bool applies = true;           // whether the model's assumptions hold
  GridTime even;                 // blocks distributed evenly over the columns, the same on all workers
  double on_wire_deviation = 0;  // of even.time_s from on_wire_s
  GridTime drawn;                // blocks drawn; held against the model at their density and union
  double search_s = 0;           // of a worker for its blocks that are not zero; in none of the times above
  double ring_s = 0;             // our ring on the same workers
  Maybe speedup;                 // ring_s over search_s + even.time_s
  Maybe model_speedup;           // the model's, with the same search
};

struct GridDocument {
  std::uint64_t bytes = 0;
  std::string placement;
  collective::Overlap overlap{};
  double latency_s = 0;
  int search_threads = 1;
  // For the model to apply: what the data has to take, and most of it that may be first blocks.
  double min_round_trips = 0, max_first_blocks = 0;
  std::vector<GridCell> cells;
  // The largest deviations of evenly distributed blocks: where the model applies, and from it on the wire
  // anywhere.
  Maybe worst, worst_on_wire;
};

}  // namespace ringtrue::ops
