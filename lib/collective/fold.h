// Algorithms for powers of two, on any number of ranks: the ranks that are too many fold their data into a
// neighbour first and take the result from it in the end.
#pragma once

#include <bit>

#include "collective/chunks.h"
#include "collective/endpoint.h"

namespace ringtrue::collective {

struct Fold {
  explicit Fold(Rank n) : power(Rank(std::bit_floor(std::uint32_t(n)))), extra(n - power) {}

  Rank power;  // ranks that play
  Rank extra;  // ranks that fold: 1, 3, ..., 2 extra - 1, each into the one before it

  bool folds(Rank rank) const { return rank < 2 * extra && rank % 2 == 1; }
  bool is_folded_into(Rank rank) const { return rank < 2 * extra && rank % 2 == 0; }
  // Number of a playing rank among 0 ... power - 1, and back.
  Rank number_of(Rank rank) const { return rank < 2 * extra ? rank / 2 : rank - extra; }
  Rank rank_of(Rank number) const { return number < extra ? 2 * number : number + extra; }
};

// The program of all ranks: those that fold hand over, the others `play`.
Task fold_and_play(Endpoint& self, const Call& call, Slicing slicing,
                   Task (*play)(Endpoint& self, const Call& call, Fold fold, Slicing slicing));

// Sends all slices of the call to rank `to` and receives the result from it in their place, on lane 0, at
// most `ahead` slices at a time.
Task hand_over(Endpoint& self, const Call& call, Rank to, Slicing slicing, std::uint64_t ahead);

}  // namespace ringtrue::collective
