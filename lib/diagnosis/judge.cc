#include "diagnosis/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "diagnosis/cover.h"

namespace ringtrue::diagnosis {
namespace {

// What is slow beyond doubt, where ticks may have made the reference or the reading wrong by half.
constexpr double gross_share = 0.4;
// Seconds, and a little more: a lesser gap may be the count of ticks.
constexpr double one_tick = 0.005;

bool better(const std::optional<double>& a, const std::optional<double>& b) {
  return a && (!b || *a > *b);
}

struct Limits {
  explicit Limits(int nodes)
      : rate(std::size_t(nodes)),
        brief(std::size_t(nodes), true),
        steady(std::size_t(nodes)),
        settled(std::size_t(nodes)) {}
  void meet(int node, const std::optional<double>& best, bool is_brief) {
    const auto i = std::size_t(node);
    if (!best || (is_brief && !brief[i])) return;  // longer readings are there
    if ((brief[i] && !is_brief) || better(best, rate[i])) rate[i] = best;
    brief[i] = is_brief;
  }
  void note(int node, const Reading& r) {
    const auto i = std::size_t(node);
    if (r.held_back || r.momentary) return;
    steady[i] = std::max(steady[i], r.rate);
    if (r.busy >= settled_from) settled[i] = std::max(settled[i], r.rate);
  }
  // Its rate comes from readings of a few ticks.
  bool momentary(std::size_t i) const { return brief[i] && steady[i] < *rate[i] * 0.999; }

  std::vector<std::optional<double>> rate;
  std::vector<bool> brief;
  std::vector<double> steady, settled;  // best of longer readings; 0: none
};

// The majority is taken over sides, not over pairs: one bad node spoils its whole row and column of pairs,
// but only two sides.
Reference reference_of(const Limits& sends, const Limits& receives, std::optional<double> attainable,
                       std::optional<double> nominal) {
  std::vector<double> limits, brief, settled;
  std::size_t momentary = 0;
  for (const Limits* side : {&sends, &receives}) {
    for (std::size_t i = 0; i < side->rate.size(); ++i) {
      if (!side->rate[i]) continue;
      double rate = *side->rate[i];
      if (side->momentary(i)) {
        ++momentary;
        if (attainable) rate = std::min(rate, *attainable);
      }
      (side->brief[i] ? brief : limits).push_back(rate);
      if (side->settled[i] > 0) settled.push_back(side->settled[i]);
    }
  }
  // Sides that were only measured briefly are so because they are very slow, or met such; they still are part
  // of the fleet, as its slow part.
  const double longest = limits.empty() ? 0 : *std::max_element(limits.begin(), limits.end());
  for (const double rate : brief) limits.push_back(longest > 0 ? std::min(rate, longest) : rate);
  Reference out;
  if (limits.empty()) return out;
  const double majority = upper_median(limits);
  const double most = *std::max_element(limits.begin(), limits.end());
  out.majority = true;
  out.rate = majority;
  out.momentary = 2 * momentary >= limits.size();
  const bool mostly_settled = 2 * settled.size() > limits.size();
  if (!attainable) return out;
  out.share = majority / *attainable;
  if (nominal && mostly_settled && upper_median(settled) > *nominal * 1.1) {
    out.above_declared = true;
  } else if (out.share >= 0.9) {
    // Measuring costs a little everywhere: nobody is accused of what most do.
    out.majority = out.share < 1;
    out.rate = std::min(majority, *attainable);
  } else if (out.momentary || most >= *attainable * 0.95 || sends.rate.size() == 2) {
    out.majority = false;
    out.rate = *attainable;  // it can be reached: those who do not are slow, however many they are
  } else {
    out.fleet_slow = true;
  }
  return out;
}

class Judge {
 public:
  Judge(const Readings& readings, const Readings& alone, const Thresholds& thresholds, Inference& inference)
      : readings_(readings), alone_(alone), t_(thresholds), out_(inference), n_(readings.nodes()) {}

  void run() {
    find_overshadowed();
    choose_sides();
    add_paths();
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
    for (int y = 0; y < n_; ++y) {
      const auto list = side.direction == Direction::sends ? readings_.counting(side.node, y)
                                                           : readings_.counting(y, side.node);
      for (const Reading& r : list) {
        if (r.rate >= rate * 0.999) return false;
      }
    }
    return true;
  }

  bool means_nothing(Side side, double rate, Side other, double other_rate) const {
    const auto alone = best_alone(side), other_alone = best_alone(other);
    if (alone && !slow(*alone)) return true;
    if (other_alone && !slow(*other_alone)) return false;
    if (alone && other_alone) return *alone > rate * 1.05;
    // Until then: beside a very slow side, what the better one shows means nothing.
    return other_rate < t_.gross * reference() && other_rate * 1.25 < rate && !momentary(other, other_rate);
  }

  std::optional<double> best_alone(Side side) const {
    std::optional<double> best;
    for (int y = 0; y < n_; ++y) {
      const auto b =
          side.direction == Direction::sends ? alone_.best(side.node, y) : alone_.best(y, side.node);
      const bool momentary = side.direction == Direction::sends ? alone_.only_momentary(side.node, y)
                                                                : alone_.only_momentary(y, side.node);
      if (b && momentary && slow(*b)) continue;
      if (better(b, best)) best = b;
    }
    return best;
  }

  void choose_sides() {
    std::vector<Pair> slow_pairs;
    std::vector<int> row_slow(std::size_t(n_), 0), row_all(std::size_t(n_), 0);
    std::vector<int> column_slow(std::size_t(n_), 0), column_all(std::size_t(n_), 0);
    for (int x = 0; x < n_; ++x) {
      for (int y = 0; y < n_; ++y) {
        const auto best = readings_.best(x, y);
        if (!best || unclear(x, y) || readings_.only_momentary(x, y)) continue;
        ++row_all[std::size_t(x)], ++column_all[std::size_t(y)];
        if (!slow(*best)) continue;
        ++row_slow[std::size_t(x)], ++column_slow[std::size_t(y)];
        slow_pairs.push_back({x, y, *best < t_.path * reference()});
      }
    }
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
    for (Pair& pair : slow_pairs) {
      for (const Side side : candidates) {
        pair.counts |= side.node == (side.direction == Direction::sends ? pair.source : pair.destination);
      }
    }
    const Cover cover = smallest_cover(slow_pairs, candidates);
    accused_ = cover.sides;
    for (std::size_t i = 0; i < accused_.size(); ++i) add_side(accused_[i], cover.alternative[i]);
    // An overshadowed side is accused by what it did alone, or not at all.
    for (const Side side : out_.overshadowed) {
      const auto best = best_alone(side);
      if (!best) continue;
      if (!slow(*best)) {
        out_.cleared.push_back({side, *best});
        continue;
      }
      accused_.push_back(side);
      add_side_alone(side);
    }
  }

  bool is_accused(int node, Direction d) const {
    return std::find(accused_.begin(), accused_.end(), Side{node, d}) != accused_.end();
  }

  void add_side(Side side, bool alternative) {
    const bool sends = side.direction == Direction::sends;
    Suspect s;
    s.type = sends ? ScopeType::sender : ScopeType::receiver;
    s.node = side.node;
    s.alternative = alternative;
    std::vector<Reading> good, all;
    std::set<int> partners, any;
    for (int other = 0; other < n_; ++other) {
      const int x = sends ? side.node : other, y = sends ? other : side.node;
      if (!readings_.best(x, y) || unclear(x, y)) continue;
      const bool partner_good = !is_accused(other, sends ? Direction::receives : Direction::sends);
      for (const Reading& r : readings_.counting(x, y)) {
        all.push_back(r), any.insert(other);
        if (partner_good) good.push_back(r), partners.insert(other);
      }
    }
    if (good.empty()) good = std::move(all), partners = std::move(any);
    s.partners = int(partners.size());
    finish(s, std::move(good), reference(), 2);
  }

  void add_side_alone(Side side) {
    const bool sends = side.direction == Direction::sends;
    Suspect s;
    s.type = sends ? ScopeType::sender : ScopeType::receiver;
    s.node = side.node;
    s.alone = true;
    std::vector<Reading> list;
    std::set<int> partners;
    for (int other = 0; other < n_; ++other) {
      for (const Reading& r : sends ? alone_.counting(side.node, other) : alone_.counting(other, side.node)) {
        list.push_back(r), partners.insert(other);
      }
    }
    s.partners = int(partners.size());
    finish(s, std::move(list), reference(), 2);
  }

  // What a side can do, as far as is known; nullopt: its readings mean nothing.
  std::optional<double> side_limit(Side side) const {
    if (overshadowed(side)) return out_.cleared_at(side);
    return (side.direction == Direction::sends ? out_.sends : out_.receives)[std::size_t(side.node)];
  }

  void add_paths() {
    for (int x = 0; x < n_; ++x) {
      for (int y = 0; y < n_; ++y) {
        const auto best = readings_.best(x, y);
        const auto send = side_limit({x, Direction::sends}), receive = side_limit({y, Direction::receives});
        if (!best || !send || !receive || readings_.only_momentary(x, y)) continue;
        double limit = reference(), share = t_.warning;
        if (n_ > 2) {
          limit = std::min({limit, *send, *receive});
          const bool accused = is_accused(x, Direction::sends) || is_accused(y, Direction::receives);
          share = accused ? t_.path_of_accused : t_.path;
          // A burst may have doubled what the side showed elsewhere.
          if (accused && readings_.only_brief(x, y)) share = gross_share;
        }
        if (*best >= share * limit) continue;
        Suspect s;
        s.node = x;
        s.peer = y;
        s.partners = 1;
        // Beside a slow side of the same node, acknowledgements queue: then only the path alone says more.
        s.alone = unclear(x, y) || is_accused(x, Direction::receives) || is_accused(y, Direction::sends);
        const auto alone = alone_.best(x, y);
        if (s.alone && alone && *alone >= share * limit) continue;
        finish(s, s.alone ? alone_.counting(x, y) : readings_.counting(x, y), limit, 1);
      }
    }
  }

  // `limit`: what the readings would show if the suspect were innocent.
  void finish(Suspect& s, std::vector<Reading> list, double limit, int partners_needed) {
    if (list.empty() && s.peer < 0) return;  // nothing that may accuse
    double longest = 0;
    for (const Reading& r : list) longest = r.brief ? longest : std::max(longest, r.rate);
    for (Reading& r : list) {
      // Above the longer ones by no more than a burst explains: it says the same as they do.
      const double raised = longest * (1 + 256.0 * 1024 / double(r.bytes));
      if (longest > 0 && r.brief && r.rate > longest && r.rate < raised) r.rate = longest;
    }
    std::sort(list.begin(), list.end(), [](const Reading& a, const Reading& b) { return a.rate > b.rate; });
    s.best = !list.empty() ? list.front().rate : readings_.best(s.node, s.peer).value_or(0);
    s.ratio = s.best / reference();
    // A brief reading that no burst explains has shown that it can do better.
    if (s.best >= t_.warning * limit) return;
    double busy = 0;
    for (const Reading& r : list) busy = std::max(busy, r.busy);
    if (!list.empty() && 1 - s.best / limit < one_tick / busy) return;
    const bool vague = out_.reference.momentary || (!list.empty() && busy < settled_from);
    if (vague && s.best >= gross_share * limit) return;
    const double as_low = readings_.share_as_low(s.best, true, [&](int x, int y) {
      if (s.type == ScopeType::path) return x == s.node && y == s.peer;
      return s.type == ScopeType::sender ? x == s.node : y == s.node;
    });
    if (as_low > common_share) return;
    s.missing = lacks(list, s.best / limit, s.partners, partners_needed);
    s.readings = std::move(list);
    if (s.missing.empty() && spread(s) + 0.02 > 1 - s.best / limit) {
      s.missing = fmt::format("its readings scatter by {:.1f} %, more than is missing", spread(s) * 100);
    }
    std::set<int> runs;
    for (const Reading& r : s.readings) runs.insert(r.run);
    if (s.missing.empty() && may_be_chance(as_low, int(runs.size()), n_)) {
      s.missing =
          fmt::format("others that can do better read as low in {:.0f} % of their readings", as_low * 100);
    }
    s.confirmed = s.missing.empty();
    out_.suspects.push_back(std::move(s));
  }

  std::string lacks(const std::vector<Reading>& list, double ratio, int partners, int partners_needed) const {
    const std::size_t needed = ratio < 0.7 ? 4 : ratio < t_.critical ? 5 : ratio < 0.9 ? 8 : 12;
    const double agreement = ratio < 0.5 ? 0.5 : ratio < 0.7 ? 0.85 : ratio < 0.9 ? 0.97 : 0.985;
    const std::size_t agreeing = ratio < 0.9 ? 2 : 3;
    std::set<int> runs, confirming;
    for (const Reading& r : list) {
      runs.insert(r.run);
      if (r.confirming) confirming.insert(r.run);
    }
    if (list.size() < needed || runs.size() < 3 || confirming.size() < 2) {
      return fmt::format("{} readings in {} experiments, {} of them repeats, are too few at {:.1f} %",
                         list.size(), runs.size(), confirming.size(), ratio * 100);
    }
    if (partners < partners_needed) return "too few partners that are known to be good";
    if (list[agreeing - 1].rate < list[0].rate * agreement) {
      return fmt::format("its readings do not agree: the {} best are {:.1f} % apart", agreeing,
                         (1 - list[agreeing - 1].rate / list[0].rate) * 100);
    }
    return {};
  }

  const Readings& readings_;
  const Readings& alone_;
  const Thresholds& t_;
  Inference& out_;
  const int n_;
  std::vector<Side> accused_;
};

}  // namespace

const Suspect* Inference::find(ScopeType type, int node) const {
  for (const Suspect& s : suspects) {
    if (s.type == type && s.node == node) return &s;
  }
  return nullptr;
}

bool Inference::is_overshadowed(Side side) const {
  return std::find(overshadowed.begin(), overshadowed.end(), side) != overshadowed.end();
}

std::optional<double> Inference::cleared_at(Side side) const {
  for (const Cleared& c : cleared) {
    if (c.side == side) return c.rate;
  }
  return std::nullopt;
}

Inference infer(const Readings& readings, const Readings& alone, std::optional<double> attainable,
                std::optional<double> nominal, const Thresholds& thresholds) {
  Inference inference;
  const int n = readings.nodes();
  Limits sends(n), receives(n);
  for (int x = 0; x < n; ++x) {
    for (int y = 0; y < n; ++y) {
      const auto best = readings.best(x, y);
      for (const Reading& r : readings.of(x, y)) sends.note(x, r), receives.note(y, r);
      sends.meet(x, best, readings.only_brief(x, y));
      receives.meet(y, best, readings.only_brief(x, y));
    }
  }
  inference.reference = reference_of(sends, receives, attainable, nominal);
  inference.sends = std::move(sends.rate);
  inference.receives = std::move(receives.rate);
  if (inference.reference.rate > 0) Judge(readings, alone, thresholds, inference).run();
  return inference;
}

bool may_be_chance(double share_as_low, int runs, int nodes) {
  const double candidates = nodes * (nodes + 1.0);  // n (n - 1) paths, 2 n sides
  return std::pow(share_as_low, runs) * candidates > 0.01;
}

double spread(const Suspect& s) {
  std::vector<double> rates;
  for (const Reading& r : s.readings) rates.push_back(r.rate);
  return s.best > 0 ? std::max(0.0, 1 - upper_median(std::move(rates)) / s.best) : 0;
}

double confidence(const Suspect& s) {
  if (s.readings.empty()) return 0;
  int agreeing = 0;
  bool busy = true;
  for (const Reading& r : s.readings) {
    agreeing += r.rate >= s.best * 0.95;
    busy &= r.cpu_busy > 0.9;
  }
  const double gap = std::max(0.0, 1 - s.ratio);
  double value = (1 - std::exp2(-agreeing)) * gap / (gap + spread(s) + 0.02);
  if (s.alternative) value *= 0.7;
  if (busy) value *= 0.8;
  return std::clamp(value, 0.0, 1.0);
}

}  // namespace ringtrue::diagnosis
