// What tells a thing that is slow now and then from one that is so by chance: sides (unsteady.h) and leaves
// (leaves_at_times.h).
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <vector>

#include "diagnosis/infer/inference.h"

namespace ringtrue::diagnosis {

namespace at_times {

// What counts as low, of what is due: a mild fault shows in the first, a deep one beside much scatter in the
// last.
inline constexpr std::array<double, 5> depths = {0.9, 0.87, 0.8, 0.65, 0.45};
// Over all candidates and depths: then it is named. The first depths are as deep as the tails of noise, whose
// readings are not as independent as they are taken to be.
inline constexpr double by_chance = 1e-4, by_chance_mild = 1e-6;
inline constexpr std::size_t mild_depths = 3;
inline constexpr double worth_a_look = 10;      // ... expected of chance: then it is measured again
inline constexpr int most_runs = 24;            // after which more of the same would not tell
inline constexpr int most_together = 12;        // of all nodes with other leaves at once
inline constexpr double nearly = 0.1;           // expected of chance: what comes so near is worth more runs,
inline constexpr int times_as_many = 3;         // ... as what does not
inline constexpr int fewest_low = 3;            // runs
inline constexpr double least_share = 0.15;     // of its runs: what is rarer is a disturbance
inline constexpr int fewest_good = 4;           // runs, after which it is over
inline constexpr std::size_t fewest_alone = 2;  // partners with whom it is low one direction at a time

constexpr int worth_runs(bool nearly_proven) {
  return most_runs * (nearly_proven ? times_as_many : 1);
}

}  // namespace at_times

// How low readings lie among all, by their runs: after all others, or before them, where there are several of
// both.
Course course_of(const std::set<int>& runs, const std::set<int>& low);

// P(at least `low` of as many independent readings as `chances` has come out low), each with its own chance.
double tail_of(const std::vector<double>& chances, int low);

}  // namespace ringtrue::diagnosis
