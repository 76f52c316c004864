#include "diagnosis/infer/leaves_at_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/statistics.h"
#include "diagnosis/infer/unsteady.h"

namespace ringtrue::diagnosis {
namespace {

// How often what crosses between leaves reads below each of the depths is taken to be this, until that many
// readings of other leaves say otherwise.
constexpr std::array<double, at_times::depths.size()> low_usually = {0.5, 0.3, 0.25, 0.05};
constexpr double usually_weight = 8;
constexpr int times_a_pair = 2;            // it may cross a trunk that is slow for good, each time
constexpr double without_any_node = 0.01;  // chance, over all leaves, of what is left without one node's
constexpr double another = 0.01;           // chance below which another leaf seems slow at times as well

class LeavesAtTimes {
 public:
  LeavesAtTimes(const Readings& readings, const Inference& inference, const Structure& structure,
                const std::set<int>& slow_for_good)
      : inference_(inference) {
    readings.each_pair([&](int x, int y) {
      const int from = structure.leaf[std::size_t(x)], to = structure.leaf[std::size_t(y)];
      if (from < 0 || to < 0 || from == to) return;
      leaves_.insert(from), leaves_.insert(to);
      if (slow_for_good.contains(from) || slow_for_good.contains(to)) return;
      const double due = std::min({inference.reference.rate, inference.sends[std::size_t(x)].value_or(0),
                                   inference.receives[std::size_t(y)].value_or(0)});
      if (due <= 0 || suspected(ScopeType::sender, x) || suspected(ScopeType::receiver, y)) return;
      for (const Reading& r : readings.of(x, y))
        if (!r.momentary && !r.held_back)
          items_.push_back({&r, from, to, r.rate / due, tells(r, r.rate / due)});
    });
    std::ranges::stable_sort(items_, {}, [](const Item& item) { return item.reading->run; });
    for (std::size_t i = 0; i < items_.size(); ++i)
      for (const int leaf : {items_[i].from, items_[i].to}) of_[leaf].push_back(i);
    two_ = leaves_.size() == 2;
    std::erase_if(leaves_, [&](int leaf) { return slow_for_good.contains(leaf); });
  }

  std::vector<LeafAtTimes> find() {
    std::vector<LeafAtTimes> out;
    if (leaves_.size() < 2 || (leaves_.size() == 2 && !two_)) return out;
    for (;;) {
      const Clearest found = clearest(out);
      if (found.chance > at_times::worth_a_look) break;
      out.push_back(describe(found));
      if (!out.back().confirmed) break;
      explain(found);
    }
    // Several that are clear enough have something in common, above them.
    if (out.size() > 1 && clear_ > 1)
      for (LeafAtTimes& leaf : out) leaf.confirmed = false;
    return out;
  }

 private:
  struct Item {
    const Reading* reading = nullptr;
    int from = 0, to = 0;  // leaves
    double share = 0;      // of what is due
    bool tells = false;    // else only of how common low readings are
    bool explained = false;
  };
  struct Ends {
    int leaf = -1;
    bool up = false, down = false;
    bool hold(const Item& item) const { return (up && item.from == leaf) || (down && item.to == leaf); }
  };
  struct Clearest {
    Ends ends;
    std::size_t depth = 0;
    double chance = 1e9;  // over all leaves, ends and depths
  };

  // What shared links, or was beside others' traffic, was good all the same if it was.
  static bool tells(const Reading& r, double share) {
    return r.counts() || share >= at_times::depths.front();
  }
  bool suspected(ScopeType type, int node) const {
    return inference_.find(type, node) || inference_.find(ScopeType::node, node);
  }
  bool low(const Item& item, std::size_t depth) const {
    return item.share < at_times::depths[depth] && item.share < inference_.thresholds.warning;
  }
  double ways() const { return 3 * double(leaves_.size() * at_times::depths.size()); }

  using ByDepth = std::array<double, at_times::depths.size()>;
  struct Count {
    double all = 0;
    ByDepth low{};
    void add(const LeavesAtTimes& leaves, const Item& item, int sign) {
      if (item.explained) return;
      all += sign;
      for (std::size_t d = 0; d < low.size(); ++d) low[d] += sign * leaves.low(item, d);
    }
  };
  Count everywhere() const {
    Count out;
    for (const Item& item : items_) out.add(*this, item, 1);
    return out;
  }
  // How often crossings of other leaves read low.
  ByDepth elsewhere(int leaf, Count all) const {
    for (const std::size_t i : of_.at(leaf)) all.add(*this, items_[i], -1);
    ByDepth out{};
    for (std::size_t d = 0; d < out.size(); ++d)
      out[d] = (all.low[d] + usually_weight * low_usually[d]) / (all.all + usually_weight);
    return out;
  }
  static bool speaks_of(const Ends& ends, const Item& item) {
    return item.tells && !item.explained && ends.hold(item);
  }

  // The chance of as many low readings; without those of a node (-1: of all).
  double tail(const Ends& ends, std::size_t depth, double share, int without = -1) const {
    std::vector<double> chances;
    int lows = 0;
    std::set<std::pair<int, bool>> met;  // runs, and which way
    std::map<std::pair<int, int>, int> times;
    for (const std::size_t i : of_.at(ends.leaf)) {
      const Item& item = items_[i];
      const Reading& r = *item.reading;
      if (!speaks_of(ends, item) || r.source == without || r.destination == without) continue;
      if (times[{r.source, r.destination}] >= times_a_pair) continue;
      if (!met.emplace(r.run, item.from == ends.leaf).second) continue;
      ++times[{r.source, r.destination}];
      chances.push_back(share);
      lows += low(item, depth);
    }
    return tail_of(chances, lows);
  }

  Clearest clearest(const std::vector<LeafAtTimes>& named) const {
    Clearest out;
    const Count all = everywhere();
    for (const int leaf : leaves_) {
      if (!of_.contains(leaf)) continue;
      if (std::ranges::any_of(named, [&](const LeafAtTimes& l) { return l.leaf == leaf; })) continue;
      const ByDepth share = elsewhere(leaf, all);
      for (const auto& [up, down] : {std::pair(true, true), {true, false}, {false, true}}) {
        if (two_ && !(up && down)) continue;  // which of them it is, nobody can tell
        const Ends ends{leaf, up, down};
        for (std::size_t d = 0; d < at_times::depths.size(); ++d) {
          const double chance = ways() * tail(ends, d, share[d]);
          if (chance < out.chance) out = {ends, d, chance};
        }
      }
    }
    return out;
  }

  LeafAtTimes describe(const Clearest& found) {
    LeafAtTimes out;
    out.leaf = found.ends.leaf, out.up = found.ends.up, out.down = found.ends.down;
    std::set<int> runs, low_runs, own, others;
    std::set<std::pair<int, int>> pairs;
    std::vector<double> rates;
    bool any_good = false;
    for (const std::size_t i : of_.at(found.ends.leaf)) {
      const Item& item = items_[i];
      if (!speaks_of(found.ends, item)) continue;
      const Reading& r = *item.reading;
      runs.insert(r.run);
      any_good |= item.share >= at_times::depths.front();
      if (!low(item, found.depth)) continue;
      low_runs.insert(r.run);
      pairs.emplace(r.source, r.destination);
      const bool leaves = item.from == found.ends.leaf;
      own.insert(leaves ? r.source : r.destination), others.insert(leaves ? r.destination : r.source);
      rates.push_back(r.rate);
      out.readings.push_back(r);
    }
    std::ranges::stable_sort(out.readings, std::greater<>(), &Reading::rate);
    out.pairs.assign(pairs.begin(), pairs.end());
    out.best = upper_median(rates);
    out.low_runs = int(low_runs.size()), out.all_runs = int(runs.size());
    out.course = course_of(runs, low_runs);
    const double enough =
        found.depth < at_times::mild_depths ? at_times::by_chance_mild : at_times::by_chance;
    std::set<int> nodes = own;
    nodes.insert(others.begin(), others.end());
    const double share = elsewhere(found.ends.leaf, everywhere())[found.depth];
    const bool seems = found.chance < another && out.low_runs >= at_times::fewest_low && own.size() >= 2 &&
                       others.size() >= 2 &&
                       double(out.low_runs) >= at_times::least_share * double(out.all_runs) &&
                       std::ranges::all_of(nodes, [&](int node) {
                         return ways() * tail(found.ends, found.depth, share, node) < without_any_node;
                       });
    clear_ += seems;
    const bool is_over = out.course != Course::ended || out.all_runs - out.low_runs >= at_times::fewest_good;
    // Where none was good, it may be slow for good, which readings tell better (attribute.h).
    out.confirmed = seems && found.chance < enough && is_over && any_good;
    return out;
  }

  void explain(const Clearest& found) {
    for (const std::size_t i : of_.at(found.ends.leaf))
      if (found.ends.hold(items_[i]) && low(items_[i], found.depth)) items_[i].explained = true;
  }

  const Inference& inference_;
  std::vector<Item> items_;
  std::map<int, std::vector<std::size_t>> of_;  // by leaf: what leaves and enters it, by run
  std::set<int> leaves_;                        // those that may be slow at times
  int clear_ = 0;                               // those that seem to be
  bool two_ = false;                            // leaves in all
};

}  // namespace

std::vector<LeafAtTimes> leaves_at_times(const Readings& readings, const Inference& inference,
                                         const Structure& structure, const std::set<int>& slow_for_good) {
  if (inference.reference.rate <= 0 || inference.reference.momentary) return {};
  return LeavesAtTimes(readings, inference, structure, slow_for_good).find();
}

}  // namespace ringtrue::diagnosis
