#include "diagnosis/infer/leaves_at_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>

#include "base/statistics.h"
#include "diagnosis/infer/at_times.h"
#include "diagnosis/infer/leaf_sums.h"

namespace ringtrue::diagnosis {
namespace {

// Those of sides (at_times.h), and one that flows which meet on a trunk seldom come to.
constexpr auto crossing_depths = [] {
  std::array<double, at_times::depths.size() + 1> out{};
  std::ranges::copy(at_times::depths, out.begin());
  out.back() = 0.2;
  return out;
}();
using ByDepth = std::array<double, crossing_depths.size()>;
// Of single hops, and of all of a leaf's together.
enum Kind : std::uint8_t { single, together };
constexpr std::size_t kinds = 2;

// How often what crosses between leaves reads below each of the depths is taken to be this, until
// that many readings of other leaves say otherwise.
constexpr std::array<ByDepth, kinds> low_usually = {
    {{0.5, 0.4, 0.3, 0.25, 0.05, 0.02}, {0.4, 0.3, 0.2, 0.05, 0.02, 0.02}}};
constexpr double usually_weight = 8;
// Sums of healthy leaves differ by as much where older and slower nodes share links with others.
constexpr double sums_differ = 0.05;
constexpr int times_a_pair = 2;            // it may cross a trunk that is slow for good, each time
constexpr double without_any_node = 0.01;  // chance, over all leaves, of what is left without one node's
constexpr double seems_below = 0.01;       // chance; several such leaves have something in common
constexpr double ways_to_look = 3;         // at single hops, at all together, at both
constexpr int fewest_steady = 6;           // runs: what is slow for good shows so, too
constexpr int fewest_together = 5;  // runs: others' jobs may fill a leaf's links for as long as three take

// Of some kind: how many elsewhere are low, of how many, and how many there are here.
struct Sample {
  double low = 0, all = 0;
  int here = 0;
};

// The chance of each number of low ones here. How common they are is known from as many as there are
// elsewhere only: of few, it may be far more (the beta-binomial distribution, from the ratio of each to the
// one before it; a long double holds those of thousands).
std::vector<double> distribution_of(const Sample& s) {
  const double a = s.low, b = s.all - s.low;
  std::vector<long double> times_the_first = {1};
  long double sum = 1;
  for (int k = 0; k < s.here; ++k) {
    const double ratio = (s.here - k) * (k + a) / ((k + 1) * (s.here - k - 1 + b));
    sum += times_the_first.emplace_back(times_the_first.back() * ratio);
  }
  std::vector<double> out;
  for (const long double p : times_the_first) out.push_back(double(p / sum));
  return out;
}

// The chance of at least so many low ones of two kinds.
double tail_beside(const Sample& one, const Sample& other, int lows) {
  const auto p = distribution_of(one), q = distribution_of(other);
  double out = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    for (std::size_t k = 0; k < q.size(); ++k)
      if (int(i + k) >= lows) out += p[i] * q[k];
  return out;
}

class LeavesAtTimes {
 public:
  LeavesAtTimes(const Readings& readings, const Readings& across, const Inference& inference,
                const Structure& structure, const std::set<int>& slow_for_good, CrossingsSeen seen)
      : inference_(inference), sums_(leaf_sums(across, inference, structure, slow_for_good)) {
    const auto leaf = [&](int node) { return structure.leaf[std::size_t(node)]; };
    readings.each_pair([&](int x, int y) {
      if (leaf(x) >= 0 && leaf(y) >= 0 && leaf(x) != leaf(y))
        leaves_.insert(leaf(x)), leaves_.insert(leaf(y));
    });
    two_ = leaves_.size() == 2;
    readings.each_pair([&](int x, int y) {
      const int from = leaf(x), to = leaf(y);
      const bool inside = from == to;
      if (from < 0 || to < 0 || (inside && !two_)) return;
      if (slow_for_good.contains(from) || slow_for_good.contains(to)) return;
      const double due = inference_.due(x, y);
      if (due <= 0 || suspected(ScopeType::sender, x) || suspected(ScopeType::receiver, y)) return;
      for (const Reading& r : readings.of(x, y)) {
        if (r.momentary || r.held_back) continue;
        const double share = r.rate / due;
        // What shared links, or was beside others' traffic, was good all the same if it was.
        const bool tells = seen == CrossingsSeen::all && (r.counts() || share >= crossing_depths.front());
        const Item item{single, r.run, from, to, share, &r, nullptr, tells};
        if (inside)
          inside_.add(*this, item, 1);
        else
          items_.push_back(item);
      }
    });
    for (const LeafSum& sum : sums_)
      items_.push_back(
          {together, sum.run, sum.up ? sum.leaf : -1, sum.up ? -1 : sum.leaf, sum.share(), nullptr, &sum});
    std::ranges::stable_sort(items_, {}, &Item::run);
    for (std::size_t i = 0; i < items_.size(); ++i)
      for (const int leaf : {items_[i].from, items_[i].to}) of_[leaf].push_back(i);
    std::erase_if(leaves_, [&](int leaf) { return slow_for_good.contains(leaf) || !of_.contains(leaf); });
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
    if (seeming_ > 1)
      for (LeafAtTimes& leaf : out) leaf.confirmed = leaf.open = false;
    return out;
  }

 private:
  struct Item {
    Kind kind = single;
    int run = 0, from = 0, to = 0;     // leaves; -1: others
    double share = 0;                  // of what is due
    const Reading* reading = nullptr;  // of a single hop
    const LeafSum* sum = nullptr;
    bool tells = true;  // else only of how common low readings are
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

  bool suspected(ScopeType type, int node) const {
    return inference_.find(type, node) || inference_.find(ScopeType::node, node);
  }
  bool low(const Item& item, std::size_t depth) const { return low(item.kind, item.share, depth); }
  bool low(Kind kind, double share, std::size_t depth) const {
    const double below = crossing_depths[depth] - (kind == together ? sums_differ : 0);
    return share < below && share < inference_.thresholds.warning;
  }
  double ways() const { return 3 * double(leaves_.size() * crossing_depths.size()); }

  struct Count {
    std::array<double, kinds> all{};
    std::array<ByDepth, kinds> low{};
    void add(const LeavesAtTimes& leaves, const Item& item, int sign) {
      if (item.explained) return;
      all[item.kind] += sign;
      for (std::size_t d = 0; d < crossing_depths.size(); ++d)
        low[item.kind][d] += sign * leaves.low(item, d);
    }
  };
  Count everywhere() const {
    Count out = inside_;
    for (const Item& item : items_) out.add(*this, item, 1);
    return out;
  }
  // How many crossings of other leaves read low, and what is taken for known.
  Count elsewhere(int leaf, Count out) const {
    for (const std::size_t i : of_.at(leaf)) out.add(*this, items_[i], -1);
    for (std::size_t k = 0; k < kinds; ++k) {
      out.all[k] += usually_weight;
      for (std::size_t d = 0; d < crossing_depths.size(); ++d)
        out.low[k][d] += usually_weight * low_usually[k][d];
    }
    return out;
  }
  static bool speaks_of(const Ends& ends, const Item& item) {
    return item.tells && !item.explained && ends.hold(item);
  }

  // The chance of as many low readings; without what a node sent and received (-1: of all). Of single hops
  // one counts of an experiment, out and in.
  double tail(const Ends& ends, std::size_t depth, const Count& others, int without = -1) const {
    Sample samples[kinds];
    for (const Kind kind : {single, together}) samples[kind] = {others.low[kind][depth], others.all[kind]};
    int lows[kinds] = {0, 0};
    std::set<std::pair<int, bool>> met;  // runs, and which way
    std::map<std::pair<int, int>, int> times;
    for (const std::size_t i : of_.at(ends.leaf)) {
      const Item& item = items_[i];
      if (!speaks_of(ends, item)) continue;
      double share = item.share;
      if (const Reading* r = item.reading) {
        if (r->source == without || r->destination == without) continue;
        if (times[{r->source, r->destination}] >= times_a_pair) continue;
        if (!met.emplace(r->run, item.from == ends.leaf).second) continue;
        ++times[{r->source, r->destination}];
      } else if (without >= 0) {
        share = item.sum->share(without);
      }
      ++samples[item.kind].here;
      lows[item.kind] += low(item.kind, share, depth);
    }
    const double both = tail_beside(samples[single], samples[together], lows[single] + lows[together]);
    if (samples[single].here == 0 || samples[together].here == 0) return both;
    // Where hops are sprayed, one alone shows nothing, whatever all of them show.
    const double one = tail_beside(samples[single], {}, lows[single]),
                 all = tail_beside({}, samples[together], lows[together]);
    return std::min(1.0, ways_to_look * std::min({one, all, both}));
  }

  Clearest clearest(const std::vector<LeafAtTimes>& named) const {
    Clearest out;
    const Count all = everywhere();
    for (const int leaf : leaves_) {
      if (std::ranges::any_of(named, [&](const LeafAtTimes& l) { return l.leaf == leaf; })) continue;
      const Count others = elsewhere(leaf, all);
      for (const auto& [up, down] : {std::pair(true, true), {true, false}, {false, true}}) {
        if (two_ && !(up && down)) continue;  // which of them it is, nobody can tell
        const Ends ends{leaf, up, down};
        for (std::size_t d = 0; d < crossing_depths.size(); ++d) {
          const double chance = ways() * tail(ends, d, others);
          if (chance < out.chance) out = {ends, d, chance};
        }
      }
    }
    return out;
  }

  // What was low, and how often.
  struct Low {
    std::set<int> runs, low_runs, own, others;  // experiments; nodes of the leaf, and others
    std::set<std::pair<int, int>> pairs;
    std::vector<Reading> readings;
    std::vector<double> rates, usual, hops;
    bool any_good = false;
  };
  Low low_of(const Clearest& found, Kind kind) const {
    Low out;
    const auto note = [&](int source, int destination, bool leaves, double rate) {
      out.own.insert(leaves ? source : destination), out.others.insert(leaves ? destination : source);
      out.pairs.emplace(source, destination);
      out.rates.push_back(rate);
    };
    for (const std::size_t i : of_.at(found.ends.leaf)) {
      const Item& item = items_[i];
      if (item.kind != kind || !speaks_of(found.ends, item)) continue;
      out.runs.insert(item.run);
      out.any_good |= item.share >= crossing_depths.front();
      if (!low(item, found.depth)) continue;
      out.low_runs.insert(item.run);
      const bool leaves = item.from == found.ends.leaf;
      if (item.reading) {
        note(item.reading->source, item.reading->destination, leaves, item.reading->rate);
        out.readings.push_back(*item.reading);
        continue;
      }
      const double mean = item.sum->carried() / double(item.sum->hops.size());
      for (const LeafSum::Hop& hop : item.sum->hops) note(hop.source, hop.destination, leaves, mean);
      out.usual.push_back(mean / item.share);
      out.hops.push_back(double(item.sum->hops.size()));
      Reading& r = out.readings.emplace_back();
      r.source = item.sum->hops.front().source, r.destination = item.sum->hops.front().destination;
      r.rate = mean, r.run = item.run;
    }
    return out;
  }

  // What single hops of other leaves do, as a share of what is due: trunks may be slower than ports.
  double usual_elsewhere(int leaf) const {
    constexpr std::size_t fewest = 8;
    std::vector<double> shares;
    for (const Item& item : items_)
      if (item.kind == single && item.tells && item.from != leaf && item.to != leaf)
        shares.push_back(item.share);
    return shares.size() < fewest ? 1 : std::min(1.0, upper_median(std::move(shares)));
  }

  LeafAtTimes describe(const Clearest& found) {
    const Low hops = low_of(found, single), sums = low_of(found, together);
    LeafAtTimes out;
    out.leaf = found.ends.leaf, out.up = found.ends.up, out.down = found.ends.down;
    out.chance = found.chance;
    out.together = sums.low_runs.size() > hops.low_runs.size();
    const Low& main = out.together ? sums : hops;
    out.readings = main.readings;
    std::ranges::stable_sort(out.readings, std::greater<>(), &Reading::rate);
    out.pairs.assign(hops.pairs.begin(), hops.pairs.end());
    if (out.together) {
      out.pairs.assign(sums.pairs.begin(), sums.pairs.end());
      out.hops = int(lower_median(sums.hops));
    }
    out.best = upper_median(main.rates);
    out.usual =
        out.together ? upper_median(sums.usual) : usual_elsewhere(out.leaf) * inference_.reference.rate;
    out.low_runs = int(main.low_runs.size()), out.all_runs = int(main.runs.size());
    out.course = course_of(main.runs, main.low_runs);
    const double enough =
        found.depth < at_times::mild_depths ? at_times::by_chance_mild : at_times::by_chance;
    std::set<int> nodes = main.own;
    nodes.insert(main.others.begin(), main.others.end());
    const Count others = elsewhere(found.ends.leaf, everywhere());
    const bool is_often = double(out.low_runs) >= at_times::least_share * double(out.all_runs);
    const bool seems = found.chance < seems_below && out.low_runs >= at_times::fewest_low &&
                       main.own.size() >= 2 && main.others.size() >= 2 && is_often &&
                       std::ranges::all_of(nodes, [&](int node) {
                         return ways() * tail(found.ends, found.depth, others, node) < without_any_node;
                       });
    seeming_ += seems;
    const int most =
        out.together ? at_times::most_together : at_times::worth_runs(out.chance < at_times::nearly);
    // What was low until a moment ago is looked at again; where that has to end it is slow at times.
    const bool is_over = out.course != Course::ended || out.all_runs - out.low_runs >= at_times::fewest_good;
    if (!is_over && out.all_runs >= most) out.course = Course::at_times;
    // Where no single hop was good, it may be slow for good, which readings tell better (attribute.h).
    const bool steady = !out.together && !main.any_good && out.all_runs < fewest_steady;
    out.confirmed = seems && found.chance < enough && (is_over || out.all_runs >= most) && !steady &&
                    (!out.together || out.low_runs >= fewest_together);
    out.open = !out.confirmed && is_often && out.all_runs < most;
    return out;
  }

  void explain(const Clearest& found) {
    for (const std::size_t i : of_.at(found.ends.leaf))
      if (found.ends.hold(items_[i]) && low(items_[i], found.depth)) items_[i].explained = true;
  }

  const Inference& inference_;
  const std::vector<LeafSum> sums_;
  std::vector<Item> items_;
  // Of two leaves there are no others, and as one hop goes each way, nothing of ours is on their trunks: what
  // else slows hops is seen below the leaves.
  Count inside_;
  std::map<int, std::vector<std::size_t>> of_;  // by leaf: what leaves and enters it, by run
  std::set<int> leaves_;                        // those that may be slow at times
  int seeming_ = 0;                             // those that seem to be
  bool two_ = false;                            // leaves in all
};

}  // namespace

std::vector<LeafAtTimes> leaves_at_times(const Readings& readings, const Readings& across,
                                         const Inference& inference, const Structure& structure,
                                         const std::set<int>& slow_for_good, CrossingsSeen seen) {
  if (inference.reference.rate <= 0 || inference.reference.momentary) return {};
  return LeavesAtTimes(readings, across, inference, structure, slow_for_good, seen).find();
}

}  // namespace ringtrue::diagnosis
