#include "diagnosis/cover.h"

#include <algorithm>
#include <bit>

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

Cover greedy(const std::vector<Pair>& slow, std::vector<Side> candidates) {
  std::vector<int> explained(slow.size(), 0);
  const auto gain = [&](const Side& side) {
    int sum = 0;
    for (std::size_t p = 0; p < slow.size(); ++p)
      sum += slow[p].counts && !explained[p] && explains(side, slow[p]);
    return sum;
  };
  const auto mark = [&](const Side& side, int by) {
    for (std::size_t p = 0; p < slow.size(); ++p) explained[p] += explains(side, slow[p]) ? by : 0;
  };
  std::vector<Side> chosen;
  while (!candidates.empty()) {
    const auto best = std::max_element(candidates.begin(), candidates.end(),
                                       [&](const Side& a, const Side& b) { return gain(a) < gain(b); });
    if (gain(*best) == 0) break;
    mark(*best, 1);
    chosen.push_back(*best);
    candidates.erase(best);
  }
  Cover cover;
  for (const Side& side : chosen) {
    mark(side, -1);
    if (gain(side) == 0) continue;  // what it explains, others explain as well
    mark(side, 1);
    cover.sides.push_back(side);
    cover.alternative.push_back(false);
  }
  return cover;
}

}  // namespace

Cover smallest_cover(const std::vector<Pair>& slow, const std::vector<Side>& candidates) {
  return candidates.size() <= 12 ? exact(slow, candidates) : greedy(slow, candidates);
}

}  // namespace ringtrue::diagnosis
