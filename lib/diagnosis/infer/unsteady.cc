#include "diagnosis/infer/unsteady.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "base/statistics.h"
#include "diagnosis/infer/significance.h"
#include "diagnosis/plan/plan.h"

namespace ringtrue::diagnosis {
namespace {

using namespace at_times;

constexpr double deep = 0.6;  // of what is due: what is lower takes so long that its share is of the time
// Readings of one pair are not independent where it may share links with others, the same ones each time:
// after so many, one counts no more than low ones of a pair are low again, which is taken to be this until as
// many say otherwise.
constexpr int times_a_pair_far = 1, times_a_pair_near = 4;
constexpr double often_again = 0.75, again_weight = 2;
constexpr double may_be_shadow = 0.1;  // expected of chance, beside a slow side: it is measured again
constexpr double may_be_path = 0.1;    // expected of chance: it is measured again
constexpr double far_more = 10;        // times clearer, where the last readings with a partner count
// Of what was guessed to be one leaf, where more read low: it may be a pod, whose nodes share links.
constexpr double often_low_inside = 0.05;
constexpr std::size_t most_named = 8;
constexpr int kinds = 4, far_from = 2;  // of company
// Of few nodes there is hardly anybody to compare with: how often healthy sides read below each of the depths
// is taken to be this, until that many readings say otherwise.
constexpr std::array<double, depths.size()> low_of_few = {0.4, 0.25, 0.1, 0.02, 0.01};
constexpr double few_weight = 8;
// Runs: what one shows may be a burst, unless it was low so often since.
constexpr int fewest_good_of_few = 2, often_since = 6;

// One reading, as one side's.
struct Item {
  const Reading* reading = nullptr;
  double share[2] = {0, 0};  // of what is due, as the sender's and as the receiver's
  bool counts[2] = {false, false};
  int kind = 0;
  bool explained = false;

  bool tells(std::size_t end) const { return counts[end] && !explained; }
  int partner(std::size_t end) const { return end ? reading->source : reading->destination; }
};

struct Tail {
  double chance = 1;
  std::size_t depth = 0;
};

class UnsteadySides {
 public:
  UnsteadySides(const Readings& readings, const Readings& alone, const Inference& inference,
                const Structure& structure)
      : n_(readings.nodes()),
        alone_(alone),
        inference_(inference),
        guessed_(structure.guessed),
        leaf_(structure.leaf),
        apart_(structure.all_alike),
        clear_(n_ <= all_pairs_up_to || apart_ || !leaf_.empty()),
        may_share_(guessed_ || (clear_ && leaf_.empty() && !apart_)),
        of_(std::size_t(2 * n_)) {
    readings.each_pair([&](int x, int y) {
      const bool crosses = structure.crosses(x, y);  // a trunk may be what is slow
      const double sends = inference.sends[std::size_t(x)].value_or(0),
                   receives = inference.receives[std::size_t(y)].value_or(0);
      // Held against what both ends have shown: a port that is slower for good is not slow at times.
      const double due = inference.due(x, y);
      for (const Reading& r : readings.of(x, y)) {
        if (r.momentary) continue;
        Item item;
        item.reading = &r;
        item.share[0] = r.carried_by(Direction::sends) / due;
        item.share[1] = r.carried_by(Direction::receives) / due;
        // A program that holds back what it receives is the receiver's.
        item.counts[0] = !crosses && receives > 0 && !r.held_back && !r.is_beside(r.others_received) &&
                         fine(Direction::receives, y);
        item.counts[1] = !crosses && sends > 0 && !r.is_beside(r.others_sent) && fine(Direction::sends, x);
        item.kind = kind_of(r, structure);
        items_.push_back(item);
        if (crosses) continue;
        of_[side(x, Direction::sends)].push_back(items_.size() - 1);
        of_[side(y, Direction::receives)].push_back(items_.size() - 1);
      }
    });
  }

  std::vector<Suspect> find() {
    std::vector<Suspect> out;
    std::set<std::size_t> named;
    while (out.size() < most_named) {
      count_all();
      Tail best;
      std::size_t clearest = 0;
      for (std::size_t s = 0; s < of_.size(); ++s) {
        if (named.count(s) || !may_be_unsteady(s)) continue;
        Tail tail = tail_of_side(s);
        // A node's sides are often slow together: beside one that is, the other is the only candidate.
        if (other_is_proven(s, out)) tail.chance /= double(of_.size());
        if (tail.chance < best.chance) best = tail, clearest = s;
      }
      const double chance = best.chance * double(of_.size() * depths.size());
      if (chance > worth_a_look) break;
      named.insert(clearest);
      Suspect suspect = suspect_of(clearest, best.depth, chance);
      if (is_shadow(suspect, out) && !is_low_alone(clearest, best.depth)) {
        if (!suspect.confirmed && chance > may_be_shadow) continue;
        const bool proven = other_is_proven(clearest, out),
                   for_good = n_ > few_nodes && is_slow_for_good(other_of(clearest)),
                   often = n_ > few_nodes && proven && suspect.all_runs >= most_runs;
        if (!proven && (suspect.confirmed || for_good)) continue;  // first things first
        // More of the same shows the same, as long as the other side is slow. Of few nodes it tells whether
        // that is.
        if (suspect.confirmed || for_good || often) {
          suspect.confirmed = false, suspect.alone = true;
          suspect.missing = "the node's other side is slow, and acknowledgements may queue there";
        }
        out.push_back(std::move(suspect));
        continue;
      }
      if (suspect.confirmed && is_one_path(clearest, best.depth)) {
        suspect.confirmed = false;
        suspect.missing = "low with one partner each time, and with others no more often than by chance";
      }
      // What may be chance explains nothing.
      if (suspect.confirmed) explain(clearest, best.depth);
      const bool may_be = (suspect.low_share >= least_share || low_lately(clearest, best.depth)) &&
                          suspect.all_runs < most_runs;
      if (suspect.confirmed || may_be) out.push_back(std::move(suspect));
    }
    add_paths(out);
    return out;
  }

 private:
  struct Base {
    bool of_few = false;
    std::array<double, kinds> all{};
    std::array<std::array<double, depths.size()>, kinds> low{};
    std::array<double, depths.size()> again{},
        repeated{};  // of two readings of a pair, one is low: both, all
    double chance(int kind, std::size_t depth) const {
      return of_few ? chance(kind, depth, low_of_few[depth], few_weight) : as_seen(kind, depth);
    }
    double as_seen(int kind, std::size_t depth) const { return chance(kind, depth, 0.5, 1); }
    double chance(int kind, std::size_t depth, double before, double weight) const {
      return (low[std::size_t(kind)][depth] + weight * before) / (all[std::size_t(kind)] + weight);
    }
    // Of a reading with a partner with whom another was low.
    double chance_again(int kind, std::size_t depth) const {
      return std::max(chance(kind, depth),
                      (again[depth] + again_weight * often_again) / (repeated[depth] + again_weight));
    }
    void count(const UnsteadySides& sides, const Item& item, std::size_t end, int sign) {
      if (!item.tells(end)) return;
      const auto k = std::size_t(item.kind);
      all[k] += sign;
      for (std::size_t d = 0; d < depths.size(); ++d) low[k][d] += sign * sides.low(item, end, d);
    }
  };

  std::size_t side(int node, Direction d) const {
    return std::size_t(2 * node + (d == Direction::receives ? 1 : 0));
  }
  // Acknowledgements queue behind the data of a slow port, and slow its node's other side, too, if less.
  bool is_shadow(const Suspect& s, const std::vector<Suspect>& named) const {
    constexpr double as_slow = 1.1, far_slower = 0.6;
    const auto casts = [&](const Suspect& other) {
      const bool sides = other.type == ScopeType::sender || other.type == ScopeType::receiver;
      const double share = other.unsteady ? as_slow : far_slower;
      return sides && other.node == s.node && other.type != s.type && s.ratio > share * other.ratio;
    };
    return std::any_of(named.begin(), named.end(), casts) ||
           std::any_of(inference_.suspects.begin(), inference_.suspects.end(), casts);
  }
  static ScopeType type_of(std::size_t s) { return s % 2 ? ScopeType::receiver : ScopeType::sender; }
  static std::size_t other_of(std::size_t s) { return s % 2 ? s - 1 : s + 1; }
  bool is_slow_for_good(std::size_t s) const { return inference_.find(type_of(s), int(s / 2)) != nullptr; }
  bool other_is_proven(std::size_t s, const std::vector<Suspect>& named) const {
    const ScopeType other = type_of(other_of(s));
    const auto is = [&](const Suspect& suspect) {
      return suspect.confirmed && suspect.type == other && suspect.node == int(s / 2);
    };
    return std::ranges::any_of(named, is) || std::ranges::any_of(inference_.suspects, is);
  }
  // What it carried while the node's other side was idle.
  bool is_low_alone(std::size_t s, std::size_t depth) const {
    const Direction d = s % 2 ? Direction::receives : Direction::sends;
    const int node = int(s / 2);
    std::size_t low = 0;  // partners: with one it may be a path
    for (const int other : d == Direction::sends ? alone_.receivers_of(node) : alone_.senders_to(node)) {
      const int x = d == Direction::sends ? node : other, y = d == Direction::sends ? other : node;
      low += std::ranges::any_of(alone_.counting_for(d, x, y), [&](const Reading& r) {
        return r.rate < depths[depth] * inference_.due(x, y);
      });
    }
    return low >= std::min(fewest_alone, std::size_t(n_) - 1);
  }
  // It has read well once. Of two nodes what one sends is what the other receives: one direction, once.
  bool may_be_unsteady(std::size_t s) const {
    if (n_ == 2 && s % 2 == 0) return false;
    const auto& shown = (s % 2 ? inference_.receives : inference_.sends)[s / 2];
    return shown && *shown >= inference_.thresholds.warning * inference_.reference.rate &&
           !inference_.is_overshadowed({int(s / 2), s % 2 ? Direction::receives : Direction::sends});
  }
  bool fine(Direction d, int node) const {
    const ScopeType type = d == Direction::sends ? ScopeType::sender : ScopeType::receiver;
    return !inference_.find(type, node) && !inference_.find(ScopeType::node, node);
  }
  int kind_of(const Reading& r, const Structure& structure) const {
    const bool far = structure.leaf.empty() && !apart_ && !is_near(r.source, r.destination);
    return (far && n_ > all_pairs_up_to ? far_from : 0) + (r.company > few_hops(n_) ? 1 : 0);
  }
  bool low(const Item& item, std::size_t end, std::size_t depth) const {
    return item.share[end] < depths[depth] && item.share[end] < inference_.thresholds.warning;
  }

  // How common low readings are of senders and of receivers, by kind of company and depth.
  void count_all() {
    for (auto& base : base_) base = {}, base.of_few = n_ <= few_nodes;
    for (const Item& item : items_)
      for (const std::size_t end : {0, 1}) base_[end].count(*this, item, end, 1);
    for (const std::size_t end : {0, 1})
      for (std::size_t s = end; s < of_.size(); s += 2) count_again(base_[end], s, end, 1);
  }

  // How often what was low with a partner is so again.
  void count_again(Base& base, std::size_t s, std::size_t end, int sign) const {
    struct Count {
      int all = 0;
      std::array<int, depths.size()> low{};
    };
    std::map<int, Count> by_partner;
    for (const std::size_t i : of_[s]) {
      const Item& item = items_[i];
      if (!item.tells(end)) continue;
      Count& count = by_partner[item.partner(end)];
      ++count.all;
      for (std::size_t d = 0; d < depths.size(); ++d) count.low[d] += low(item, end, d);
    }
    for (const auto& [partner, count] : by_partner)
      for (std::size_t d = 0; d < depths.size(); ++d) {
        base.again[d] += sign * double(count.low[d]) * (count.low[d] - 1);
        base.repeated[d] += sign * double(count.low[d]) * (count.all - 1);
      }
  }

  // How common low readings are of the others: what this node sends and receives is taken out.
  Base base_without(std::size_t s) const {
    const std::size_t end = s % 2;
    Base base = base_[end];
    // Of two nodes the other direction is all that there is to compare with, in experiments in which this one
    // read well: where one thing slows both, they are low together.
    std::set<int> low_runs;
    if (n_ == 2)
      for (const std::size_t i : of_[s])
        if (low(items_[i], end, 0)) low_runs.insert(items_[i].reading->run);
    for (const std::size_t own : {s - end, s - end + 1})
      for (const std::size_t i : of_[own])
        if (n_ > 2 || own == s || low_runs.count(items_[i].reading->run))
          base.count(*this, items_[i], end, -1);
    count_again(base, s, end, -1);
    return base;
  }

  // With one partner every reading is low: whether it may be a path that is slow for good, beside others that
  // are low no more often than anybody's. A side that is slow at times has to make these readings so much
  // likelier.
  bool is_one_path(std::size_t s, std::size_t depth) const {
    constexpr int several = 2;
    constexpr double times_likelier = 30;
    struct Count {
      int low = 0, all = 0;
      double usual = 0;  // log of how likely they are of a side like all others
    };
    const std::size_t end = s % 2;
    const Base base = base_without(s);
    std::map<int, Count> by_partner;
    Count sum;
    for (const std::size_t i : of_[s]) {
      const Item& item = items_[i];
      if (!item.tells(end)) continue;
      const bool is_low = low(item, end, depth);
      const double chance = base.as_seen(item.kind, depth), log = std::log(is_low ? chance : 1 - chance);
      for (Count* count : {&by_partner[item.partner(end)], &sum})
        count->low += is_low, ++count->all, count->usual += log;
    }
    const auto times_log = [](int k, int n) { return k == 0 ? 0 : k * std::log(double(k) / n); };
    const double of_a_side = times_log(sum.low, sum.all) + times_log(sum.all - sum.low, sum.all);
    return std::ranges::any_of(by_partner, [&](const auto& partner) {
      const Count& count = partner.second;
      return count.low == count.all && count.all >= several &&
             sum.usual - count.usual > of_a_side - std::log(times_likelier);
    });
  }

  Tail tail_of_side(std::size_t s) const {
    const std::size_t end = s % 2;
    const Base base = base_without(s);
    std::vector<const Item*> items;
    for (const std::size_t i : of_[s])
      if (items_[i].tells(end)) items.push_back(&items_[i]);
    std::ranges::stable_sort(items, {}, [](const Item* item) { return item->reading->run; });
    // Of too many readings with one partner the first count; or the last, where they show it far more
    // clearly.
    const bool look_back = clear_ && n_ > 2;
    std::vector<const Item*> backwards;
    if (look_back) backwards.assign(items.rbegin(), items.rend());
    Tail out;
    for (std::size_t d = 0; d < depths.size(); ++d) {
      const Outcomes first = independent(items, end, d, base);
      double chance = tail_of(first.chances, first.lows());
      if (clear_) chance = std::min(chance, tail_of_what_ended(first));
      if (look_back) {
        const Outcomes last = independent(backwards, end, d, base);
        chance = std::min(chance, far_more * tail_of(last.chances, last.lows()));
        const Outcomes more = independent(items, end, d, base, true);
        chance = std::min(chance, far_more * tail_of(more.chances, more.lows()));
      }
      if (chance <= out.chance) out = {chance, d};  // where several say as much, the deepest
    }
    return out;
  }

  // Readings in that order, how likely each was to be low, and whether it was: one of a run.
  struct Outcomes {
    std::vector<double> chances;
    std::vector<bool> low;
    int lows() const { return int(std::ranges::count(low, true)); }
  };
  // All of them, as if they were independent.
  Outcomes outcomes_of(const std::vector<std::size_t>& list, std::size_t end, std::size_t depth,
                       const Base& base) const {
    Outcomes out;
    for (const std::size_t i : list) {
      if (!items_[i].tells(end)) continue;
      out.chances.push_back(base.chance(items_[i].kind, depth));
      out.low.push_back(low(items_[i], end, depth));
    }
    return out;
  }
  // `all`: more of a pair as well, each for what it tells.
  Outcomes independent(const std::vector<const Item*>& items, std::size_t end, std::size_t depth,
                       const Base& base, bool all = false) const {
    Outcomes out;
    int last_run = -1;
    struct Count {
      int all = 0, low = 0;
    };
    std::map<int, Count> by_partner;
    for (const Item* item : items) by_partner[item->partner(end)].low += low(*item, end, depth);
    // With one it may be a path.
    int lowest = -1;
    for (const auto& [partner, count] : by_partner)
      if (lowest < 0 || count.low > by_partner[lowest].low) lowest = partner;
    for (auto& [partner, count] : by_partner) count = {};
    for (const Item* item : items) {
      const int partner = item->partner(end);
      const auto k = std::size_t(item->kind);
      const bool may_share =
          item->kind >= far_from || (guessed_ && base.low[k][depth] > often_low_inside * base.all[k]);
      const int times_a_pair = n_ == 2 ? most_runs : may_share ? times_a_pair_far : times_a_pair_near;
      Count& count = by_partner[partner];
      const bool later = count.all >= times_a_pair;
      if (item->reading->run == last_run || (later && (partner == lowest || !all))) continue;
      last_run = item->reading->run;
      out.chances.push_back(later && count.low > 0 ? base.chance_again(item->kind, depth)
                                                   : base.chance(item->kind, depth));
      out.low.push_back(low(*item, end, depth));
      ++count.all, count.low += out.low.back();
    }
    return out;
  }

  // That all low readings came before all others: those that came since, of which a check takes more because
  // of them, say nothing against it. Of as many beginnings as there are.
  static double tail_of_what_ended(const Outcomes& outcomes) {
    if (outcomes.low.empty()) return 1;
    const auto first_good = std::ranges::find(outcomes.low, false);
    if (std::find(first_good, outcomes.low.end(), true) != outcomes.low.end()) return 1;
    double chance = double(outcomes.low.size());
    for (std::ptrdiff_t i = 0; i < first_good - outcomes.low.begin(); ++i)
      chance *= outcomes.chances[std::size_t(i)];
    return chance;
  }

  // Paths that are low at times, of ends that are so with nobody else: a side of a node that has one partner
  // as fast as itself shows with that one alone.
  void add_paths(std::vector<Suspect>& out) const {
    if (n_ == 2 || n_ > all_pairs_up_to || !(apart_ || n_ <= few_nodes)) return;
    std::map<std::pair<int, int>, std::vector<std::size_t>> by_pair;
    for (std::size_t y = 0; y < std::size_t(n_); ++y)
      for (const std::size_t i : of_[side(int(y), Direction::receives)])
        if (items_[i].counts[0]) by_pair[{items_[i].reading->source, int(y)}].push_back(i);
    // Acknowledgements queue behind the data of an end's other side.
    const auto beside_slow = [&](const std::pair<int, int>& pair) {
      const auto slow = [&](const Suspect& s) {
        return (s.type == ScopeType::receiver && s.node == pair.first) ||
               (s.type == ScopeType::sender && s.node == pair.second) ||
               (s.type == ScopeType::node && (s.node == pair.first || s.node == pair.second));
      };
      return std::ranges::any_of(out, slow) || std::ranges::any_of(inference_.suspects, slow);
    };
    for (const auto& [pair, list] : by_pair) {
      if (beside_slow(pair)) continue;
      Base base = base_[1];
      for (const auto& both : {pair, std::pair(pair.second, pair.first)})
        if (const auto at = by_pair.find(both); at != by_pair.end())
          for (const std::size_t i : at->second) base.count(*this, items_[i], 1, -1);
      Tail best;
      for (std::size_t d = 0; d < depths.size(); ++d) {
        const Outcomes all = outcomes_of(list, 1, d, base);
        const double chance = tail_of(all.chances, all.lows());
        if (chance <= best.chance) best = {chance, d};
      }
      const double chance = best.chance * double(by_pair.size() * depths.size());
      if (chance > may_be_path || low_with_others(pair, best.depth)) continue;
      Suspect suspect;
      suspect.type = ScopeType::path, suspect.node = pair.first, suspect.peer = pair.second;
      suspect = judged(std::move(suspect), list, 1, best.depth, chance);
      if (suspect.low_runs < suspect.all_runs) out.push_back(std::move(suspect));
    }
  }

  // Whether an end of a pair reads low with others as well.
  bool low_with_others(const std::pair<int, int>& pair, std::size_t depth) const {
    constexpr double more_than_chance = 0.05;
    for (const std::size_t s : {side(pair.first, Direction::sends), side(pair.second, Direction::receives)}) {
      std::vector<std::size_t> with_others;
      for (const std::size_t i : of_[s])
        if (std::pair(items_[i].reading->source, items_[i].reading->destination) != pair)
          with_others.push_back(i);
      const Outcomes others = outcomes_of(with_others, s % 2, depth, base_without(s));
      if (tail_of(others.chances, others.lows()) < more_than_chance) return true;
    }
    return false;
  }

  Suspect suspect_of(std::size_t s, std::size_t depth, double chance) const {
    Suspect out;
    out.node = int(s / 2);
    out.type = type_of(s);
    // Of two nodes the sides and the path between are one.
    if (n_ == 2 && s % 2) out.type = ScopeType::path, out.peer = out.node, out.node = 1 - out.peer;
    return judged(std::move(out), of_[s], s % 2, depth, chance);
  }

  // By these readings, as the sender's or as the receiver's.
  Suspect judged(Suspect out, const std::vector<std::size_t>& list, std::size_t end, std::size_t depth,
                 double chance) const {
    int held_back = 0;
    out.unsteady = true;
    std::set<int> runs, partners;
    std::vector<double> rates;
    double seconds = 0, low_seconds = 0;
    for (const std::size_t i : list) {
      const Item& item = items_[i];
      if (!item.tells(end)) continue;
      runs.insert(item.reading->run);
      const double took = double(item.reading->bytes) / std::max(item.reading->rate, 1.0);
      seconds += took;
      if (!low(item, end, depth)) continue;
      low_seconds += took;
      out.readings.push_back(*item.reading);
      partners.insert(item.partner(end));
      rates.push_back(item.reading->rate);
      held_back += item.reading->held_back;
    }
    if (out.type == ScopeType::receiver && 2 * held_back > int(rates.size())) out.type = ScopeType::node;
    std::sort(out.readings.begin(), out.readings.end(),
              [](const Reading& a, const Reading& b) { return a.rate > b.rate; });
    out.best = upper_median(rates);
    out.ratio = out.best / inference_.reference.rate;
    out.partners = int(partners.size());
    std::set<int> low_runs;
    for (const Reading& r : out.readings) low_runs.insert(r.run);
    out.all_runs = int(runs.size()), out.low_runs = int(low_runs.size());
    // What is deep takes the longer: of few experiments it may be half of the time.
    out.low_share = double(out.low_runs) / out.all_runs;
    if (clear_ && out.ratio < deep) out.low_share = std::max(out.low_share, low_seconds / seconds);
    out.course = course_of(runs, low_runs);
    // Of few nodes the prior has seen to that.
    const bool mild = depth < mild_depths && n_ > few_nodes;
    out.confirmed = chance < (mild ? by_chance_mild : by_chance) && out.low_runs >= fewest_low &&
                    out.partners >= (out.type == ScopeType::path ? 1 : std::min(2, n_ - 1)) &&
                    ((clear_ && out.course == Course::ended) || out.course == Course::began ||
                     out.low_share >= least_share);
    out.chance_of_it = chance;
    const int good = out.all_runs - out.low_runs;
    const bool is_over = !clear_ || out.course != Course::ended || good >= fewest_good;
    const auto lone = std::ranges::count_if(out.readings, [&](const Reading& r) {
      return r.company <= most_lone_hops || (clear_ && alone_is_low(r.run, out.node));
    });
    // Hops of three nodes share no links, and of two there is one each way.
    const bool may_share = may_share_ && !(out.type == ScopeType::path && n_ <= 3);
    if (may_share && out.confirmed && lone < lone_readings) {
      // What was guessed to be one leaf may be a pod, and without a guess any two may meet on a trunk.
      out.confirmed = false, out.in_company = true;
      out.missing = "low only while many others send, which may share its links";
    } else if (out.confirmed && leaf_.empty() &&
               inference_.lacks_what_others_send(out, inference_.reference.rate - out.best)) {
      out.confirmed = false;
      out.missing = "others send as much meanwhile as it lacks then, and may share links with it";
    } else if (out.confirmed && n_ <= few_nodes &&
               good < (out.low_runs >= often_since ? 1 : fewest_good_of_few)) {
      out.confirmed = false;
      out.missing = "too few experiments in which it read well tell what it can do";
    } else if (out.confirmed && !is_over) {
      out.confirmed = false;
      out.missing = "slow until a moment ago, and too few experiments since to tell whether that is over";
    } else if (!out.confirmed)
      out.missing =
          fmt::format("low in {} of {} experiments, which may be chance", out.low_runs, out.all_runs);
    return out;
  }

  // Its last reading is: it may have begun.
  bool low_lately(std::size_t s, std::size_t depth) const {
    const Item* last = nullptr;
    for (const std::size_t i : of_[s])
      if (items_[i].counts[s % 2] && (!last || items_[i].reading->run > last->reading->run))
        last = &items_[i];
    return last && low(*last, s % 2, depth);
  }

  // In that run all hops but this node's read well, or all that begin or end below what was guessed to be its
  // leaf: a link that several share would have slowed another, too.
  bool alone_is_low(int run, int node) const {
    const auto may_share = [&](int other) {
      return !guessed_ || leaf_[std::size_t(other)] == leaf_[std::size_t(node)];
    };
    return std::ranges::none_of(items_, [&](const Item& item) {
      const Reading& r = *item.reading;
      return r.run == run && r.source != node && r.destination != node && !item.explained &&
             (may_share(r.source) || may_share(r.destination)) && (low(item, 0, 0) || low(item, 1, 0));
    });
  }

  void explain(std::size_t s, std::size_t depth) {
    for (const std::size_t i : of_[s])
      if (low(items_[i], s % 2, depth)) items_[i].explained = true;
  }

  const int n_;
  const Readings& alone_;  // one direction at a time
  const Inference& inference_;
  const bool guessed_;            // who is below one leaf
  const std::vector<int>& leaf_;  // by node; empty: unknown
  const bool apart_;              // no two nodes share links
  const bool clear_;      // every pair is measured, or it is known, or guessed, who shares links with whom
  const bool may_share_;  // links, nobody knows which
  std::vector<Item> items_;
  std::vector<std::vector<std::size_t>> of_;  // by side: its items
  std::array<Base, 2> base_{};
};

}  // namespace

double tail_of(const std::vector<double>& chances, int low) {
  if (low <= 0) return 1;
  if (low > int(chances.size())) return 0;
  // The chance of each number of low readings below `low`, reading by reading.
  std::vector<double> exactly(std::size_t(low), 0);
  exactly[0] = 1;
  double reached = 0;
  for (const double p : chances) {
    reached += exactly.back() * p;
    for (std::size_t k = exactly.size(); k-- > 1;) exactly[k] = exactly[k] * (1 - p) + exactly[k - 1] * p;
    exactly[0] *= 1 - p;
  }
  return reached;
}

Course course_of(const std::set<int>& runs, const std::set<int>& low) {
  constexpr std::size_t several = 3;
  if (low.size() < several || runs.size() < low.size() + several) {
    // One good reading at the end, or at the beginning, says less.
    const bool ended =
        !low.empty() && low.size() >= several && *low.rbegin() < *runs.rbegin() &&
        std::distance(runs.begin(), runs.find(*low.rbegin())) + 1 == std::ptrdiff_t(low.size());
    return ended ? Course::ended : Course::at_times;
  }
  std::set<int> good;
  std::set_difference(runs.begin(), runs.end(), low.begin(), low.end(), std::inserter(good, good.end()));
  return *good.rbegin() < *low.begin()   ? Course::began
         : *low.rbegin() < *good.begin() ? Course::ended
                                         : Course::at_times;
}

std::vector<Suspect> unsteady_sides(const Readings& readings, const Readings& alone,
                                    const Inference& inference, const Structure& structure) {
  if (readings.nodes() < 2 || inference.reference.rate <= 0 || inference.reference.momentary) return {};
  return UnsteadySides(readings, alone, inference, structure).find();
}

}  // namespace ringtrue::diagnosis
