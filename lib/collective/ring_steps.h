// The ring's steps, for the flat ring and for the rings inside hierarchical.
#pragma once

#include "collective/chunks.h"
#include "collective/endpoint.h"

namespace ringtrue::collective {

// This rank's place among `size` ranks in a circle.
struct Circle {
  Rank size = 1;
  Rank index = 0;
  Rank previous = 0;
  Rank next = 0;
};

// Which of the 2 (n - 1) steps to play: step t sends chunk (index - t) mod n and receives chunk (index - t -
// 1) mod n. The first n - 1 reduce and leave chunk (index + 1) mod n complete here; the others gather.
struct Steps {
  Rank first = 0;
  Rank end = 0;

  static Steps reduce_scatter(Rank n) { return {0, n - 1}; }
  static Steps all_gather(Rank n) { return {n - 1, 2 * (n - 1)}; }
  static Steps all(Rank n) { return {0, 2 * (n - 1)}; }
};

// Plays `steps` over `range`, on lanes base_lane ... base_lane + call.lanes - 1. `last` is how the last
// reduction into a chunk is done: reduce_last where the sum is then complete. On return all sends are done.
Task ring_steps(Endpoint& self, const Call& call, Circle circle, Range range, Steps steps, Arrival last,
                Lane base_lane);

}  // namespace ringtrue::collective
