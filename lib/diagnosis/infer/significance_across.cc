// Of paths between leaves, whose trunks others share.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/plural.h"
#include "diagnosis/infer/significance.h"

namespace ringtrue::diagnosis {

// Paths that meet on a hashed trunk slow one another in healthy fabrics, and what was guessed to be one leaf
// may be a pod of several: what slows this one has to be there with hardly anybody else around.
std::string Significance::lacks_solitude(const Suspect& path) const {
  const auto lone = std::count_if(path.readings.begin(), path.readings.end(),
                                  [](const Reading& r) { return r.company <= most_lone_hops; });
  if (lone < lone_readings)
    return fmt::format("{} with few other paths at once, which may share its trunks: too few",
                       plural(std::size_t(lone), "reading"));
  if (has_companion(path))
    return "another path across leaves, which may share its trunks, was busy in all of its readings among "
           "few";
  const double usual = inference_.reference.rate;
  if (slow_rails(path.readings, usual) > 1 || std::ranges::any_of(path.readings, [&](const Reading& r) {
        return r.company <= most_lone_hops && slow_rails({r}, usual) > 1;
      }))
    return "several of its rails are slow, and may share a trunk with each other";
  return {};
}

// Whether what other nodes of its leaf send, or receive, crosses to other leaves well.
bool Significance::others_cross_well(const Suspect& side) const {
  constexpr int enough = 2;
  const auto leaf = [&](int node) { return structure_.leaf[std::size_t(node)]; };
  const double good = t_.warning * inference_.reference.rate;
  int well = 0;
  bool mates = false;  // that took part
  readings_.each_pair([&](int x, int y) {
    for (const int node : {x, y}) mates |= node != side.node && leaf(node) == leaf(side.node);
    const int own = side.type == ScopeType::sender ? x : y;
    if (own == side.node || leaf(own) != leaf(side.node) || !structure_.crosses(x, y)) return;
    // What an older node crosses well may be too little.
    if (inference_.generation(x, y) < inference_.generation(side.node)) return;
    for (const Reading& r : readings_.of(x, y)) well += !r.momentary && r.rate >= good;
  });
  return !mates || well >= enough;
}

double Significance::share_as_low_across(const Suspect& path) const {
  int all = 1, low = 0;
  readings_.each_pair([&](int x, int y) {
    if (!structure_.crosses(x, y) || path.explains(x, y)) return;
    for (const Reading& r : readings_.of(x, y)) ++all, low += r.rate <= path.best;
  });
  return double(low) / all;
}

// Whether others across leaves that can do better are as low so often, where they are measured again, that
// this one may be so by chance: with many at once, and with few.
bool Significance::may_be_like_others_across(const Suspect& path) const {
  constexpr int fewest = 8;
  constexpr double by_chance = 0.01;
  struct Count {
    int all = 0, low = 0;
  };
  std::array<Count, 2> others;
  const auto kind = [](const Reading& r) { return std::size_t(r.company <= most_lone_hops); };
  const double middle = (path.best + inference_.reference.rate) / 2;
  int pairs = 1;
  readings_.each_pair([&](int x, int y) {
    if (!structure_.crosses(x, y) || path.explains(x, y)) return;
    ++pairs;
    const auto list = readings_.of(x, y);
    const bool any_good = std::ranges::any_of(list, [&](const Reading& r) { return r.rate > middle; });
    if (list.size() < 2 || !any_good) return;
    for (const Reading& r : list) {
      Count& count = others[kind(r)];
      ++count.all, count.low += r.rate <= middle;
    }
  });
  if (others[0].all + others[1].all < fewest) return false;
  double chance = pairs;
  for (const Reading& r : path.readings) {
    const Count& count = others[kind(r)];
    chance *= (count.low + 0.5) / (count.all + 1.0);
  }
  return chance > by_chance;
}

// Where each way has one trunk that is slower than a port, no path across carries what ports do.
bool Significance::others_carry_more_across(const Suspect& path) const {
  constexpr double more = 1.15, seldom = 0.2;
  constexpr int fewest = 8;
  int all = 0, carry_more = 0;
  readings_.each_pair([&](int x, int y) {
    const auto best = readings_.shown(x, y);
    if (!best || !structure_.crosses(x, y) || path.explains(x, y)) return;
    ++all, carry_more += *best > more * path.best;
  });
  return all < fewest || carry_more > seldom * all;
}

// Another path across leaves that sent whenever this one was read among few: on a trunk that they share each
// slows the other, and a pair of addresses takes the same way every time.
bool Significance::has_companion(const Suspect& path) const {
  const auto leaf = [&](int node) { return structure_.leaf[std::size_t(node)]; };
  std::set<int> runs;
  for (const Reading& r : path.readings)
    if (r.company <= most_lone_hops) runs.insert(r.run);
  bool found = false;
  readings_.each_pair([&](int x, int y) {
    if (found || !structure_.crosses(x, y) || path.explains(x, y)) return;
    if (leaf(x) == leaf(path.peer) && leaf(y) == leaf(path.node)) return;  // the other way
    std::set<int> seen;
    for (const Reading& r : readings_.of(x, y))
      if (runs.count(r.run)) seen.insert(r.run);
    found = !runs.empty() && seen.size() == runs.size();
  });
  return found;
}

}  // namespace ringtrue::diagnosis
