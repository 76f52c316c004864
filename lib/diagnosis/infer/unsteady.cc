#include "diagnosis/infer/unsteady.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/statistics.h"
#include "diagnosis/infer/low_readings.h"
#include "diagnosis/infer/significance.h"
#include "diagnosis/plan/plan.h"

namespace ringtrue::diagnosis {
namespace {

using namespace at_times;

constexpr double deep = 0.6;  // of what is due: what is lower takes so long that its share is of the time
constexpr double may_be_shadow = 0.1;  // expected of chance, beside a slow side: it is measured again
constexpr double may_be_path = 0.1;    // expected of chance: it is measured again
constexpr double faster = 1.1;         // than what is low: it would have shown that
constexpr std::size_t most_named = 8;
// Runs: what one shows may be a burst, unless it was low so often since.
constexpr int fewest_good_of_few = 2, often_since = 6;

// To choose some of them.
double ways(int all, int some) {
  double out = 1;
  for (int i = 0; i < some; ++i) out *= double(all - i) / double(i + 1);
  return out;
}

class UnsteadySides {
 public:
  UnsteadySides(const Readings& readings, const Readings& alone, const Inference& inference,
                const Structure& structure)
      : n_(readings.nodes()), alone_(alone), inference_(inference), low_(readings, inference, structure) {}

  std::vector<Suspect> find() {
    std::vector<Suspect> out;
    std::set<std::size_t> named;
    while (out.size() < most_named) {
      low_.count_all();
      LowReadings::Tail best;
      std::size_t clearest = 0;
      for (std::size_t s = 0; s < low_.sides(); ++s) {
        if (named.count(s) || !may_be_unsteady(s)) continue;
        LowReadings::Tail tail = low_.tail_of_side(s);
        // A node's sides are often slow together: beside one that is, the other is the only candidate.
        if (other_is_proven(s, out)) tail.chance /= double(low_.sides());
        if (tail.chance < best.chance) best = tail, clearest = s;
      }
      const double chance = best.chance * double(low_.sides() * depths.size());
      if (chance > worth_a_look) break;
      named.insert(clearest);
      const bool proven = other_is_proven(clearest, out);
      Suspect suspect = suspect_of(clearest, best.depth, chance, proven);
      if (is_shadow(clearest, suspect, out) && !is_low_alone(clearest, best.depth)) {
        if (!suspect.confirmed && chance > may_be_shadow) continue;
        const bool for_good = n_ > few_nodes && is_slow_for_good(other_of(clearest)),
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
      if (suspect.confirmed && low_.is_one_path(clearest, best.depth)) {
        suspect.confirmed = false;
        suspect.missing = "low with one partner each time, and with others no more often than by chance";
      }
      // What may be chance explains nothing.
      if (suspect.confirmed) low_.explain(clearest, best.depth);
      const bool near_proof = chance < nearly && suspect.partners > 1;  // with one it may be a path
      const bool may_be =
          (suspect.low_share >= least_share || near_proof || low_.low_lately(clearest, best.depth)) &&
          suspect.all_runs < worth_runs(near_proof);
      if (suspect.confirmed || may_be) out.push_back(std::move(suspect));
    }
    add_paths(out);
    return out;
  }

 private:
  // Acknowledgements queue behind the data of a slow port, and slow its node's other side, too, if less.
  bool is_shadow(std::size_t side, const Suspect& s, const std::vector<Suspect>& named) const {
    constexpr double as_slow = 1.1, far_slower = 0.6;
    const auto casts = [&](const Suspect& other) {
      const bool sides = other.type == ScopeType::sender || other.type == ScopeType::receiver;
      const double share = other.unsteady ? as_slow : far_slower;
      return sides && other.node == int(side / 2) && other.type != type_of(side) &&
             s.ratio > share * other.ratio;
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
    for (const auto& [x, y] : pairs_of(alone_, {node, d})) {
      const double below = depths[depth] * inference_.due(x, y);
      low += std::ranges::any_of(alone_.counting_for(d, x, y),
                                 [below](const Reading& r) { return r.rate < below; });
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
  // Paths that are low at times, of ends that are so with nobody else: a side of a node that has one partner
  // as fast as itself shows with that one alone.
  void add_paths(std::vector<Suspect>& out) const {
    if (n_ == 2 || n_ > all_pairs_up_to || !(low_.apart() || n_ <= few_nodes)) return;
    std::map<std::pair<int, int>, LowReadings::Numbers> by_pair;
    for (std::size_t y = 0; y < std::size_t(n_); ++y)
      for (const std::size_t i : low_.of(LowReadings::side(int(y), Direction::receives)))
        if (low_.item(i).counts[0]) by_pair[{low_.item(i).reading->source, int(y)}].push_back(i);
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
      LowReadings::Base base = low_.base(1);
      for (const auto& both : {pair, std::pair(pair.second, pair.first)})
        if (const auto at = by_pair.find(both); at != by_pair.end())
          for (const std::size_t i : at->second) base.count(low_, low_.item(i), 1, -1);
      LowReadings::Tail best;
      for (std::size_t d = 0; d < depths.size(); ++d) {
        const LowReadings::Outcomes all = low_.outcomes_of(list, 1, d, base);
        const double chance = all.tail();
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
    for (const std::size_t s : {LowReadings::side(pair.first, Direction::sends),
                                LowReadings::side(pair.second, Direction::receives)}) {
      LowReadings::Numbers with_others;
      for (const std::size_t i : low_.of(s))
        if (std::pair(low_.item(i).reading->source, low_.item(i).reading->destination) != pair)
          with_others.push_back(i);
      const LowReadings::Outcomes others = low_.outcomes_of(with_others, s % 2, depth, low_.base_without(s));
      if (others.tail() < more_than_chance) return true;
    }
    return false;
  }

  // Beside a side that is proven a link that others share is less likely.
  Suspect suspect_of(std::size_t s, std::size_t depth, double chance, bool other_proven) const {
    Suspect out;
    out.node = int(s / 2);
    out.type = type_of(s);
    // Of two nodes the sides and the path between are one.
    if (n_ == 2 && s % 2) {
      out.type = ScopeType::path, out.peer = out.node, out.node = 1 - out.peer;
      out.ends_alike = true;
    }
    return judged(std::move(out), low_.of(s), s % 2, depth, chance, other_proven ? 1 : lone_readings);
  }

  // By these readings, as the sender's or as the receiver's.
  Suspect judged(Suspect out, const LowReadings::Numbers& list, std::size_t end, std::size_t depth,
                 double chance, int lone_wanted = lone_readings) const {
    int held_back = 0;
    out.unsteady = true;
    std::set<int> runs, partners;
    std::map<int, double> fastest;  // by partner, when it is not low, as it was measured
    const int node = out.node;
    std::vector<double> rates;
    double seconds = 0, low_seconds = 0;
    for (const std::size_t i : list) {
      const LowReadings::Item& item = low_.item(i);
      if (!item.tells(end)) continue;
      runs.insert(item.reading->run);
      const double took = double(item.reading->bytes) / std::max(item.reading->rate, 1.0);
      seconds += took;
      if (!low_.low(item, end, depth)) {
        const int partner = item.partner(end);
        fastest[partner] =
            std::max(fastest[partner], item.reading->rate * inference_.generation(node, partner));
        continue;
      }
      low_seconds += took;
      out.readings.push_back(*item.reading);
      partners.insert(item.partner(end));
      rates.push_back(item.reading->rate);
      held_back += item.reading->held_back;
    }
    // A program, that is. Of two nodes its side is the path.
    const bool receives = out.type == ScopeType::receiver || (out.type == ScopeType::path && n_ == 2);
    if (receives && 2 * held_back > int(rates.size())) {
      out.type = ScopeType::node;
      if (out.peer >= 0) out.node = std::exchange(out.peer, -1);
    }
    std::sort(out.readings.begin(), out.readings.end(),
              [](const Reading& a, const Reading& b) { return a.rate > b.rate; });
    out.best = upper_median(rates);
    out.ratio = out.best / inference_.reference.rate;
    out.partners = int(partners.size());
    // Of few nodes the others may be as slow for good, or busy: then one partner alone can tell.
    const bool one_tells =
        n_ <= few_nodes && out.type != ScopeType::path && partners.size() == 1 &&
        std::ranges::none_of(fastest, [&](const auto& other) {
          return !partners.contains(other.first) &&
                 other.second > faster * out.best * inference_.generation(node, *partners.begin());
        });
    out.ends_alike |= one_tells;
    std::set<int> low_runs;
    for (const Reading& r : out.readings) low_runs.insert(r.run);
    out.all_runs = int(runs.size()), out.low_runs = int(low_runs.size());
    // What is deep takes the longer: of few experiments it may be half of the time.
    out.low_share = double(out.low_runs) / out.all_runs;
    if (low_.clear() && out.ratio < deep) out.low_share = std::max(out.low_share, low_seconds / seconds);
    out.course = course_of(runs, low_runs);
    // Chance does not put the low ones before all others.
    if (out.course == Course::ended) chance /= ways(out.all_runs, out.low_runs);
    // Of few nodes the prior has seen to that.
    const bool mild = depth < mild_depths && n_ > few_nodes;
    out.confirmed = chance < (mild ? by_chance_mild : by_chance) && out.low_runs >= fewest_low &&
                    out.partners >= (one_tells || out.type == ScopeType::path ? 1 : std::min(2, n_ - 1)) &&
                    (out.course != Course::at_times || out.low_share >= least_share);
    out.chance_of_it = chance;
    const int good = out.all_runs - out.low_runs;
    const bool is_over = !low_.clear() || out.course != Course::ended || good >= fewest_good;
    const auto lone = std::ranges::count_if(out.readings, [&](const Reading& r) {
      return r.company <= std::min(most_lone_hops, n_ / 2) ||
             (low_.clear() && low_.alone_is_low(r.run, out.node));
    });
    // Hops of three nodes share no links, and of two there is one each way.
    const bool may_share = low_.may_share() && !((one_tells || out.type == ScopeType::path) && n_ <= 3);
    if (may_share && out.confirmed && lone < lone_wanted) {
      // What was guessed to be one leaf may be a pod, and without a guess any two may meet on a trunk.
      out.confirmed = false, out.in_company = true;
      out.missing = "low only while many others send, which may share its links";
    } else if (out.confirmed &&
               inference_.lacks_what_others_send(out, inference_.reference.rate - out.best)) {
      out.confirmed = false;
      out.busy = inference_.beside_of(out).node;
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
          fmt::format("low in {} of {} experiments, which what others read does not tell from chance",
                      out.low_runs, out.all_runs);
    if (one_tells && out.type == ScopeType::sender) {
      out.type = ScopeType::path, out.peer = *partners.begin();
    } else if (one_tells && out.type == ScopeType::receiver) {
      out.type = ScopeType::path, out.peer = std::exchange(out.node, *partners.begin());
    }
    return out;
  }

  const int n_;
  const Readings& alone_;  // one direction at a time
  const Inference& inference_;
  LowReadings low_;
};

}  // namespace

std::vector<Suspect> unsteady_sides(const Readings& readings, const Readings& alone,
                                    const Inference& inference, const Structure& structure) {
  if (readings.nodes() < 2 || inference.reference.rate <= 0 || inference.reference.momentary) return {};
  return UnsteadySides(readings, alone, inference, structure).find();
}

}  // namespace ringtrue::diagnosis
