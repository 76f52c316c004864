#include "diagnosis/infer/set_cover.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

namespace ringtrue::diagnosis {
namespace {

bool explains(const Side& side, const Pair& pair) {
  return side.direction == Direction::sends ? pair.source == side.node : pair.destination == side.node;
}

Cover exact(const std::vector<Pair>& slow, const std::vector<Side>& candidates) {
  const unsigned sets = 1u << candidates.size();
  std::vector<unsigned> explaining;  // by pair that counts: the candidates that explain it
  for (const Pair& pair : slow) {
    if (!pair.counts) continue;
    unsigned mask = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) mask |= unsigned(explains(candidates[i], pair)) << i;
    explaining.push_back(mask);
  }
  const auto causes = [&](unsigned set) {
    return std::popcount(set) + int(std::count_if(explaining.begin(), explaining.end(),
                                                  [&](unsigned m) { return (m & set) == 0; }));
  };
  unsigned best = 0;
  int fewest = causes(0);
  for (unsigned set = 1; set < sets; ++set) {
    const int c = causes(set);
    if (c < fewest || (c == fewest && std::popcount(set) > std::popcount(best))) best = set, fewest = c;
  }
  Cover cover;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!(best >> i & 1)) continue;
    bool alternative = false;
    for (unsigned set = 0; set < sets; ++set) alternative |= !(set >> i & 1) && causes(set) == fewest;
    cover.sides.push_back(candidates[i]);
    cover.alternative.push_back(alternative);
  }
  return cover;
}

// What each candidate explains that no chosen one does, kept up to date as they are chosen.
Cover greedy(const std::vector<Pair>& slow, const std::vector<Side>& candidates) {
  std::map<std::pair<int, bool>, std::size_t> at;  // candidate by node, and whether it sends
  for (std::size_t i = 0; i < candidates.size(); ++i)
    at.emplace(std::pair(candidates[i].node, candidates[i].direction == Direction::sends), i);
  std::vector<std::vector<std::size_t>> pairs_of(candidates.size()), explaining(slow.size());
  std::vector<int> gain(candidates.size(), 0), explained(slow.size(), 0);
  for (std::size_t p = 0; p < slow.size(); ++p) {
    if (!slow[p].counts) continue;
    for (const auto& key : {std::pair(slow[p].source, true), std::pair(slow[p].destination, false)}) {
      const auto found = at.find(key);
      if (found == at.end()) continue;
      pairs_of[found->second].push_back(p), explaining[p].push_back(found->second);
      ++gain[found->second];
    }
  }
  const auto mark = [&](std::size_t side, int by) {
    for (const std::size_t p : pairs_of[side]) {
      const bool before = explained[p] > 0;
      explained[p] += by;
      if (before == (explained[p] > 0)) continue;
      for (const std::size_t other : explaining[p]) gain[other] -= by;
    }
  };
  std::vector<std::size_t> chosen;
  while (!candidates.empty()) {
    const auto best = std::size_t(std::max_element(gain.begin(), gain.end()) - gain.begin());
    if (gain[best] == 0) break;
    mark(best, 1);
    chosen.push_back(best);
  }
  Cover cover;
  for (const std::size_t side : chosen) {
    mark(side, -1);
    if (gain[side] == 0) continue;  // what it explains, others explain as well
    mark(side, 1);
    cover.sides.push_back(candidates[side]);
    cover.alternative.push_back(false);
  }
  return cover;
}

}  // namespace

Cover minimum_set_cover(const std::vector<Pair>& slow, const std::vector<Side>& candidates) {
  return candidates.size() <= 12 ? exact(slow, candidates) : greedy(slow, candidates);
}

}  // namespace ringtrue::diagnosis
