// Sides that are slow now and then: a link that flaps for seconds, a fault that began or ended during the
// check, a sender that is slowed down from time to time.
//
// A side that is slow for good never reads well, and is no matter of this. Of any other one k of n readings
// are low. How often a healthy side reads low in such company is told by the others: a share p. By chance, at
// least k of n are low as often as the tail of a binomial distribution says - of several kinds of company, of
// a sum of such. Where that is below 0.1 % over all sides and all depths that are looked at, the side is
// unsteady. The clearest comes first, and what it explains counts for nobody else.
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
inline constexpr int fewest_low = 3;            // runs
inline constexpr double least_share = 0.15;     // of its runs: what is rarer is a disturbance
inline constexpr int fewest_good = 4;           // runs, after which it is over
inline constexpr std::size_t fewest_alone = 2;  // partners with whom it is low one direction at a time

}  // namespace at_times

// How low readings lie among all, by their runs: after all others, or before them, where there are several of
// both.
Course course_of(const std::set<int>& runs, const std::set<int>& low);

// P(at least `low` of as many independent readings as `chances` has come out low), each with its own chance.
double tail_of(const std::vector<double>& chances, int low);

// Senders and receivers, clearest first: `unsteady` is set, `readings` are the low ones, `best` is their
// middle. Those that may be chance yet, but would be looked at again, are not confirmed.
// Beside a slow side of the same node, whose data acknowledgements queue behind, only `alone` tells: readings
// of one direction at a time. Until they are low with two partners such a side is not confirmed, and is
// marked as alone. Of `inference`: the reference, what every side showed, and what is slow for good.
std::vector<Suspect> unsteady_sides(const Readings& readings, const Readings& alone,
                                    const Inference& inference, const Structure& structure);

}  // namespace ringtrue::diagnosis
