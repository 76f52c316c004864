// Which experiments to make: shifts that cover all pairs, orders in which suspects meet good partners, sizes
// that are long enough to say something and short enough for the time there is.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/units.h"
#include "diagnosis/infer/inference.h"
#include "diagnosis/measurer.h"

namespace ringtrue::diagnosis {

inline constexpr int all_pairs_up_to = 16;  // nodes; beyond, a choice
// Whether a fleet is measured between neighbours: a large one, or one whose leaves are known.
bool between_neighbours(const Structure& structure, int nodes);

// Shifts over n nodes, at most `max` of them: 1 .. n-1, or an even choice that holds 1 and n-1.
std::vector<int> shifts(int n, int max);

// How many times each ordered pair was measured, to prefer new partners.
using PairCounts = std::map<std::pair<int, int>, int>;

// An order of `nodes` whose neighbours (each sends to the next, the last to the first) give as many of the
// suspects as possible a partner that is not suspected itself and was met least, and that holds the suspected
// paths; without suspects everybody one that was met least. The best of 64 orders drawn from `seed`.
std::vector<int> changed_partners(const std::vector<int>& nodes, const std::vector<const Suspect*>& suspects,
                                  const Inference& inference, const PairCounts& counts, std::uint64_t seed);

// Bytes and iterations so that each hop carries about `hop` bytes, each call at most `max_bytes`.
Experiment pairwise_over(std::vector<int> order, int shift, Bytes hop, Bytes max_bytes);
// Pairs of nodes, each of both ways at once, and nothing else; no node is in two of them.
Experiment between_pairs(const std::vector<std::pair<int, int>>& pairs, Bytes hop, Bytes max_bytes);
// The same for a ring, where a hop carries 2 (N-1)/N of the call.
Experiment ring_over(std::vector<int> order, Bytes hop, Bytes max_bytes);
// An omnireduce whose aggregators' ports carry about `port` bytes each way: over the first `workers` of
// `nodes`, aggregated by the others, or by all where there are none.
Experiment omnireduce_over(const std::vector<int>& nodes, int workers, Bytes port, Bytes max_bytes);
// Both directions between two nodes, one after the other.
Experiment one_way_test(int a, int b, Bytes hop, Bytes max_bytes);

}  // namespace ringtrue::diagnosis
