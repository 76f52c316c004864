#include "diagnosis/infer/suspects.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "diagnosis/infer/set_cover.h"
#include "diagnosis/infer/significance.h"
#include "diagnosis/plan/plan.h"

namespace ringtrue::diagnosis {
namespace {

// A program that takes as little is slow; above, its readings may be its partners'.
constexpr double slow_program = 0.9;

class SuspectFinder {
 public:
  SuspectFinder(const Readings& readings, const Readings& alone, const Thresholds& thresholds,
                const Structure& structure, Inference& inference)
      : readings_(readings),
        alone_(alone),
        t_(thresholds),
        out_(inference),
        n_(readings.nodes()),
        sparse_(between_neighbours(structure, n_)),
        untold_(structure.leaf.empty()),
        scales_(readings, thresholds, structure, inference),
        fastest_(inference.held_to.empty()
                     ? n_
                     : int(std::ranges::count(inference.held_to, inference.fastest_generation()))) {}

  void run() {
    find_overshadowed();
    choose_sides();
    scales_.join_sides(out_.suspects);
    find_crowds();
    add_paths();
    add_programs();
    std::stable_sort(out_.suspects.begin(), out_.suspects.end(),
                     [](const Suspect& a, const Suspect& b) { return a.ratio < b.ratio; });
  }

 private:
  double reference() const { return out_.reference.rate; }
  bool slow(double rate) const { return rate < t_.warning * reference(); }

  bool overshadowed(Side side) const { return out_.is_overshadowed(side); }
  // Readings of this pair mean nothing, because of what else its ends are doing.
  bool unclear(int x, int y) const {
    return overshadowed({x, Direction::sends}) || overshadowed({y, Direction::receives});
  }

  // Both sides of a node look slow: each may be the other's doing, because acknowledgements queue behind the
  // data in a slow port. What they did alone decides, where it is known.
  void find_overshadowed() {
    if (n_ == 2) return;  // their directions are measured one at a time anyway
    for (int x = 0; x < n_; ++x) {
      const auto send = out_.sends[std::size_t(x)], receive = out_.receives[std::size_t(x)];
      if (!send || !receive || !slow(*send) || !slow(*receive)) continue;
      const Side sends{x, Direction::sends}, receives{x, Direction::receives};
      if (means_nothing(sends, *send, receives, *receive)) out_.overshadowed.push_back(sends);
      if (means_nothing(receives, *receive, sends, *send)) out_.overshadowed.push_back(receives);
    }
  }

  // Whether no reading of some length shows this rate.
  bool momentary(Side side, double rate) const {
    for (const auto& [x, y] : pairs_of(readings_, side)) {
      for (const Reading& r : readings_.counting(x, y)) {
        if (r.rate >= rate * 0.999) return false;
      }
    }
    return true;
  }

  bool means_nothing(Side side, double rate, Side other, double other_rate) const {
    const auto alone = usual_alone(side), other_alone = usual_alone(other);
    if (alone && !slow(*alone)) return true;
    if (other_alone && !slow(*other_alone)) return false;
    if (alone && other_alone) return *alone > rate * 1.05;
    // Until then: beside a very slow side, what the better one shows means nothing.
    return other_rate < t_.gross * reference() && other_rate * 1.25 < rate && !momentary(other, other_rate);
  }

  // Whether a node was as slow in a test of both its directions as it is in company, one way at least.
  bool is_there(const Reading& r, Direction d, const std::optional<double>& in_company) const {
    return in_company && slow(*in_company) && r.carried_by(d) < (*in_company + reference()) / 2;
  }

  // The tests in which what makes it slow in company was there: what comes and goes is away in some, which
  // say nothing of either side then. Empty: it never was.
  std::set<int> tests_of_what_is_there(int node) const {
    std::set<int> out;
    for (const Direction d : {Direction::sends, Direction::receives}) {
      const auto& in_company = (d == Direction::sends ? out_.sends : out_.receives)[std::size_t(node)];
      for (const auto& [x, y] : pairs_of(alone_, {node, d}))
        for (const Reading& r : alone_.counting_for(d, x, y))
          if (is_there(r, d, in_company)) out.insert(r.run);
    }
    return out;
  }

  // Of a node that was slow in company, and in none of so few tests that it may have been away in all.
  bool may_have_been_away(int node, const std::set<int>& tests) const {
    constexpr std::size_t few = 3;
    if (!tests.empty()) return false;
    std::set<int> runs;
    for (const auto& [x, y] : pairs_of(alone_, {node, Direction::sends}))
      for (const Reading& r : alone_.of(x, y)) runs.insert(r.run);
    return runs.size() < few;
  }

  // All, where there are no such tests.
  static std::vector<Reading> of_tests(const std::set<int>& tests, std::vector<Reading> list) {
    if (!tests.empty()) std::erase_if(list, [&](const Reading& r) { return !tests.count(r.run); });
    return list;
  }

  // With most partners, in most tests: a path may be slow. An older one shows nothing of what is faster.
  std::optional<double> usual_alone(Side side) const {
    const std::set<int> tests = tests_of_what_is_there(side.node);
    if (may_have_been_away(side.node, tests)) return std::nullopt;
    const auto pairs = pairs_of(alone_, side);
    const auto is_older = [&](const std::pair<int, int>& pair) {
      const int partner = pair.first == side.node ? pair.second : pair.first;
      return out_.generation(partner) < out_.generation(side.node);
    };
    const bool only_older = std::ranges::all_of(pairs, is_older);
    std::vector<double> rates;
    for (const auto& [x, y] : pairs) {
      if (!only_older && is_older({x, y})) continue;
      const auto best = alone_.best_of(side.direction, x, y);
      if (!best || (alone_.only_momentary(x, y) && slow(*best))) continue;
      std::vector<Reading> list = alone_.counting_for(side.direction, x, y);
      if (list.empty()) {
        rates.push_back(*best);  // brief ones alone
        continue;
      }
      std::vector<double> with_one;
      for (const Reading& r : of_tests(tests, std::move(list))) with_one.push_back(r.rate);
      if (!with_one.empty()) rates.push_back(upper_median(std::move(with_one)));
    }
    if (rates.empty()) return std::nullopt;
    return upper_median(std::move(rates));
  }

  void choose_sides() {
    std::vector<Pair> slow_pairs;
    std::vector<int> row_slow(std::size_t(n_), 0), row_all(std::size_t(n_), 0);
    std::vector<int> column_slow(std::size_t(n_), 0), column_all(std::size_t(n_), 0);
    readings_.each_pair([&](int x, int y) {
      const auto best = readings_.best(x, y);
      if (!best || unclear(x, y) || readings_.only_momentary(x, y)) return;
      // What an end did beside others at the other end is no reason to clear it, nor to suspect it.
      const auto sent = readings_.best_of(Direction::sends, x, y),
                 received = readings_.best_of(Direction::receives, x, y);
      if (sent && (slow(*best) || !slow(*sent)))
        ++row_all[std::size_t(x)], row_slow[std::size_t(x)] += slow(*sent);
      if (received && (slow(*best) || !slow(*received)))
        ++column_all[std::size_t(y)], column_slow[std::size_t(y)] += slow(*received);
      if (slow(*best)) slow_pairs.push_back({x, y, *best < t_.path * reference()});
    });
    std::vector<Side> candidates;
    for (int x = 0; x < n_; ++x) {
      const auto i = std::size_t(x);
      // A side that did well for a few ticks at least is not slow with everyone.
      const bool sends_slow = out_.sends[i] && slow(*out_.sends[i]);
      const bool receives_slow = out_.receives[i] && slow(*out_.receives[i]);
      if (sends_slow && row_all[i] >= 2 && row_slow[i] == row_all[i])
        candidates.push_back({x, Direction::sends});
      if (receives_slow && column_all[i] >= 2 && column_slow[i] == column_all[i])
        candidates.push_back({x, Direction::receives});
    }
    std::vector<char> sending(std::size_t(n_), 0), receiving(std::size_t(n_), 0);
    for (const Side side : candidates)
      (side.direction == Direction::sends ? sending : receiving)[std::size_t(side.node)] = 1;
    for (Pair& pair : slow_pairs)
      pair.counts |= sending[std::size_t(pair.source)] || receiving[std::size_t(pair.destination)];
    const Cover cover = minimum_set_cover(slow_pairs, candidates);
    suspected_ = cover.sides;
    for (std::size_t i = 0; i < suspected_.size(); ++i) add_side(suspected_[i], cover.alternative[i]);
    // An overshadowed side is suspected by what it did alone, or not at all.
    for (const Side side : out_.overshadowed) judge_alone(side);
    // And one that too few have met, beside one that is slow.
    for (const Side side : std::vector(suspected_)) {
      const Side other{side.node,
                       side.direction == Direction::sends ? Direction::receives : Direction::sends};
      if (n_ > 2 && !is_suspected(other.node, other.direction) && !overshadowed(other) && shown_slow(other))
        judge_alone(other);
    }
  }

  bool shown_slow(Side side) const {
    const auto& shown =
        (side.direction == Direction::sends ? out_.sends : out_.receives)[std::size_t(side.node)];
    return shown && slow(*shown);
  }

  void judge_alone(Side side) {
    const auto alone = usual_alone(side);
    if (!alone) return;
    if (!slow(*alone)) {
      out_.fine_alone.push_back({side, *alone});
      return;
    }
    if (!is_suspected(side.node, side.direction)) suspected_.push_back(side);
    add_side_alone(side);
  }

  bool is_suspected(int node, Direction d) const {
    return std::find(suspected_.begin(), suspected_.end(), Side{node, d}) != suspected_.end();
  }

  void add_suspect(Suspect suspect, std::vector<Reading> list, double limit, int partners_needed) {
    if (auto s = scales_.test(std::move(suspect), std::move(list), limit, partners_needed))
      out_.suspects.push_back(std::move(*s));
  }

  // How many of its low readings waited for what others sent the other way, and how many did not.
  std::pair<int, int> waiting(Side side) const {
    int waited = 0, others = 0;
    for (const auto& [x, y] : pairs_of(readings_, side))
      for (const Reading& r : readings_.of(x, y)) {
        if (r.momentary || !slow(r.carried_by(side.direction))) continue;
        ++(r.waits_for_others() ? waited : others);
      }
    return {waited, others};
  }

  // Of a side that waits what did not wait may prove it, else what it does alone.
  void add_side(Side side, bool alternative) {
    const auto [waited, others] = n_ > 2 ? waiting(side) : std::pair(0, 0);
    if (others >= waited) {
      const std::size_t before = out_.suspects.size();
      add_side_in_company(side, alternative);
      if (waited == 0 || out_.suspects.size() > before) return;
    }
    out_.waiting.push_back(side);
    judge_alone(side);
  }

  void add_side_in_company(Side side, bool alternative) {
    const bool sends = side.direction == Direction::sends;
    Suspect s;
    s.type = sends ? ScopeType::sender : ScopeType::receiver;
    s.node = side.node;
    s.alternative = alternative;
    std::vector<Reading> good, all;
    std::set<int> partners, any;
    for (const auto& [x, y] : pairs_of(readings_, side)) {
      if (!readings_.best(x, y) || unclear(x, y)) continue;
      const int other = sends ? y : x;
      const bool partner_good = !is_suspected(other, sends ? Direction::receives : Direction::sends);
      for (const Reading& r : readings_.counting_for(side.direction, x, y)) {
        all.push_back(r), any.insert(other);
        if (partner_good) good.push_back(r), partners.insert(other);
      }
    }
    if (good.empty()) {
      good = std::move(all), partners = std::move(any);
    } else {
      // It can do what it did with anybody, if that is no burst.
      const double best = std::ranges::max_element(good, {}, &Reading::rate)->rate;
      for (const Reading& r : all)
        if (r.without_burst() > best) good.push_back(r);
    }
    s.partners = int(partners.size());
    add_suspect(std::move(s), std::move(good), reference(), 2);
  }

  void add_side_alone(Side side) {
    const bool sends = side.direction == Direction::sends;
    Suspect s;
    s.type = sends ? ScopeType::sender : ScopeType::receiver;
    s.node = side.node;
    s.alone = true;
    std::vector<Reading> list;
    std::set<int> partners;
    const std::set<int> tests = tests_of_what_is_there(side.node);
    for (const auto& [x, y] : pairs_of(alone_, side)) {
      for (const Reading& r : of_tests(tests, alone_.counting_for(side.direction, x, y)))
        list.push_back(r), partners.insert(sends ? y : x);
    }
    s.partners = int(partners.size());
    add_suspect(std::move(s), std::move(list), reference(), 2);
  }

  // What a side can do, as far as is known; nullopt: its readings mean nothing.
  std::optional<double> side_limit(Side side) const {
    if (overshadowed(side)) return out_.fine_alone_at(side);
    return (side.direction == Direction::sends ? out_.sends : out_.receives)[std::size_t(side.node)];
  }

  // What both ends of a path can do, where neither is suspected; nullopt: they say nothing of the path.
  std::optional<double> good_ends(int x, int y) const {
    const auto send = side_limit({x, Direction::sends}), receive = side_limit({y, Direction::receives});
    if (!send || !receive || unclear(x, y)) return std::nullopt;
    if (is_suspected(x, Direction::sends) || is_suspected(y, Direction::receives)) return std::nullopt;
    return std::min({reference(), *send, *receive});
  }

  void find_crowds() {
    constexpr int min_small = 5;  // nodes
    if (n_ < min_small || !untold_) return;
    int repeated = 0, again = 0, more = 0;
    readings_.each_pair([&](int x, int y) {
      const auto limit = good_ends(x, y);
      int all = 0, low = 0;
      for (const Reading& r : readings_.of(x, y))
        if (limit && !r.held_back && !r.momentary) ++all, low += r.rate < t_.path * *limit;
      if (low == 0) return;
      ++out_.low_pairs;
      if (all > 1) ++repeated, again += low - 1, more += all - 1;
    });
    // Most pairs of a large fleet are measured once. Of a small one disturbances make any pair low, and hops
    // that share links the same ones more often.
    out_.crowded =
        sparse_ ? out_.low_pairs > 3 : repeated >= std::max(4, n_ / 2) && again >= 4 && again > 0.3 * more;
  }

  // The median of a side's readings, and whether most of them had packets to send again.
  std::pair<double, bool> usual_of(Side side) const {
    std::vector<double> rates;
    std::size_t losing = 0;
    for (const auto& [x, y] : pairs_of(readings_, side))
      for (const Reading& r : readings_.counting(x, y)) rates.push_back(r.rate), losing += r.retransmits > 0;
    const bool loses = 2 * losing > rates.size();
    return {rates.empty() ? reference() : upper_median(std::move(rates)), loses};
  }

  void add_paths() {
    if (out_.crowded && sparse_) return;  // too many to look at each of them alone
    readings_.each_pair([&](int x, int y) {
      const auto best = untold_ && (sparse_ || out_.crowded) ? readings_.shown(x, y) : readings_.best(x, y);
      const auto send = side_limit({x, Direction::sends}), receive = side_limit({y, Direction::receives});
      if (!best || !send || !receive || readings_.only_momentary(x, y)) return;
      double limit = reference(), share = t_.warning;
      const bool only_pair = are_alone(x, y);
      if (!only_pair) {
        limit = std::min({limit, *send, *receive});
        bool suspected = false;
        for (const Side side : {Side{x, Direction::sends}, Side{y, Direction::receives}}) {
          if (!is_suspected(side.node, side.direction)) continue;
          suspected = true;
          const auto [usual, loses] = usual_of(side);
          if (sparse_ || loses) limit = std::min(limit, usual);  // where packets get lost, the best is luck
        }
        share = suspected ? t_.path_of_suspected : t_.path;
        // A burst may have doubled what the side showed elsewhere.
        if (suspected && readings_.only_brief(x, y)) share = gross_share;
      }
      if (*best >= share * limit || (!only_pair && rails_did_well(x, y, share * limit))) return;
      Suspect s;
      s.node = x;
      s.peer = y;
      s.partners = 1;
      s.ends_alike = only_pair;
      // Beside a slow side of the same node, acknowledgements queue: then only the path alone says more.
      s.alone = out_.crowded || (untold_ && sparse_) || unclear(x, y) ||
                is_suspected(x, Direction::receives) || is_suspected(y, Direction::sends);
      const auto alone = alone_.best(x, y);
      if (s.alone && alone && *alone >= share * limit) return;
      auto list = s.alone ? alone_.counting(x, y) : readings_.counting_and_better(x, y);
      add_suspect(std::move(s), std::move(list), limit, 1);
    });
  }

  bool is_fastest(int node) const { return out_.generation(node) == out_.fastest_generation(); }
  // Nobody else shows what their ends can do: two nodes, or two that are faster than all others.
  bool are_alone(int x, int y) const { return fastest_ == 2 && is_fastest(x) && is_fastest(y); }

  // Another rail was the slowest each time, so that none of them is slow.
  bool rails_did_well(int x, int y, double rate) const {
    const auto list = readings_.of(x, y);
    const bool several = std::ranges::any_of(list, [](const Reading& r) { return r.rails.size() > 1; });
    return several && readings_.shown(x, y).value_or(0) >= rate;
  }

  // Programs that take their data slowly, from everybody and each time.
  void add_programs() {
    for (int y = 0; y < n_; ++y) {
      Suspect s;
      s.type = ScopeType::node;
      s.node = y;
      std::vector<Reading> list;
      double held = 0, free = 0;
      for (const int x : readings_.senders_to(y)) {
        if (readings_.held_by_partner(Direction::receives, x, y)) continue;
        for (const Reading& r : readings_.of(x, y)) {
          if (r.momentary) continue;
          (r.held_back ? held : free) = std::max(r.held_back ? held : free, r.rate);
          if (r.held_back) list.push_back(r);
        }
        ++s.partners;
      }
      if (list.empty() || free > 1.02 * held || held >= slow_program * reference()) continue;
      add_suspect(std::move(s), std::move(list), reference(), std::min(2, n_ - 1));
    }
  }

  const Readings& readings_;
  const Readings& alone_;
  const Thresholds& t_;
  Inference& out_;
  const int n_;
  const bool sparse_, untold_;
  const Significance scales_;
  const int fastest_;  // nodes of that generation
  std::vector<Side> suspected_;
};

}  // namespace

void add_suspects(const Readings& readings, const Readings& alone, const Structure& structure,
                  Inference& inference) {
  SuspectFinder(readings, alone, inference.thresholds, structure, inference).run();
}

}  // namespace ringtrue::diagnosis
