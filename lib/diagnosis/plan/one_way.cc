// One direction at a time, of two nodes alone: which pair tells more, and what came of it.
#include <algorithm>
#include <set>
#include <tuple>

#include "diagnosis/infer/at_times.h"
#include "diagnosis/plan/planner.h"

namespace ringtrue::diagnosis {
namespace {

constexpr std::size_t one_way_to_agree = 3;  // with what the pairs have shown
constexpr std::size_t max_one_way = 6;       // with one partner
// Of a node: what comes and goes may be away for all of the first.
constexpr std::size_t one_way_at_most = 12;

}  // namespace

std::optional<Planner::OneWayTest> Planner::node_for_one_way(const Inference& inference) const {
  if (overlapped_one_way_) return std::nullopt;
  for (const int x : all_) {
    const bool suspected = inference.find(ScopeType::sender, x) || inference.find(ScopeType::receiver, x);
    if (!(suspected && (undecided_alone(x, inference) || unsteady_alone(x, inference))) &&
        !waiting_alone(x, inference))
      continue;
    if (const auto partner = partner_for_one_way(x, inference)) return OneWayTest{x, *partner};
  }
  return std::nullopt;
}

// One that is as fast, as an older one shows nothing of what is faster; of those one that it met least; of
// those one below the same leaf.
std::optional<int> Planner::partner_for_one_way(int x, const Inference& inference) const {
  std::optional<int> out;
  std::tuple<bool, std::size_t, bool> least;
  for (const int y : all_) {
    const std::size_t tests = seen_.alone.of(x, y).size();
    if (y == x || tests >= max_one_way) continue;  // more with one partner would say the same
    if (inference.find(ScopeType::sender, y) || inference.find(ScopeType::receiver, y)) continue;
    const bool older = inference.generation(y) < inference.generation(x);
    const bool far = between_neighbours(fabric_, n_) && groups_[std::size_t(x)] != groups_[std::size_t(y)];
    const std::tuple cost(older, tests, far);
    if (!out || cost < least) out = y, least = cost;
  }
  return out;
}

std::optional<Planner::OneWayTest> Planner::path_for_one_way(const Inference& inference) const {
  // Of links that a group of nodes may share each member says a little.
  constexpr std::size_t of_a_member = 3;
  const Suspect *next = nullptr, *of_group = nullptr;
  std::size_t fewest = of_a_member;
  for (const Suspect& s : inference.suspects) {  // slowest first
    if (s.type != ScopeType::path || !s.alone || s.confirmed || overlapped_one_way_) continue;
    if (seen_.alone.of(s.node, s.peer).size() >= max_one_way || inference.may_be_at_times(s)) continue;
    // One that was slow alone as well is worth more tests; most others are healthy, and ruled out by a single
    // one-way test.
    if (!next || (next->readings.empty() && !s.readings.empty())) next = &s;
    for (const SlowGroup& group : inference.groups) {
      if (group.confirmed || !group.explains(s.node, s.peer)) continue;
      const bool sends = std::ranges::binary_search(group.members, s.node);
      const std::size_t tests = one_way_tests(sends ? s.node : s.peer);
      if (tests < fewest) fewest = tests, of_group = &s;
    }
  }
  if (of_group) next = of_group;
  if (!next) return std::nullopt;
  return OneWayTest{next->node, next->peer};
}

// Whether so many nodes look slow both ways, by more than scatter, that several one-way tests of each would
// take all the time.
bool Planner::many_both_ways(const Inference& inference) const {
  constexpr int few = 2;
  if (n_ <= few_nodes) return false;
  const double low = inference.thresholds.critical * inference.reference.rate;
  const auto slow = [&](const std::optional<double>& side) { return side && *side < low; };
  return std::ranges::count_if(all_, [&](int x) {
           return slow(inference.sends[std::size_t(x)]) && slow(inference.receives[std::size_t(x)]);
         }) > few;
}

bool Planner::after_one_way() const {
  return !seen_.runs.empty() && seen_.runs.back().stage == Stage::one_way;
}

std::size_t Planner::one_way_tests(int x) const {
  std::size_t out = 0;
  for (const int y : seen_.alone.receivers_of(x)) out += seen_.alone.of(x, y).size();
  return out;
}

// Whether a side of it, which waits for others' traffic in company, has not been told yet by itself.
bool Planner::waiting_alone(int x, const Inference& inference) const {
  if (!inference.is_waiting(x)) return false;
  const bool open = std::ranges::any_of(inference.suspects, [&](const Suspect& s) {
    return s.node == x && s.alone && s.peer < 0 && !s.confirmed;
  });
  return one_way_tests(x) < (open ? one_way_at_most : one_way_to_agree);
}

// Whether both sides of this node look slow, and it has not been told yet which of them are.
bool Planner::undecided_alone(int x, const Inference& inference) const {
  const auto send = inference.sends[std::size_t(x)], receive = inference.receives[std::size_t(x)];
  if (!send || !receive) return false;
  const double better = std::max(*send, *receive), worse = std::min(*send, *receive);
  if (better >= inference.thresholds.warning * inference.reference.rate) return false;
  // A mere disturbance passes by itself, and waiting costs less.
  if (worse >= inference.thresholds.gross * inference.reference.rate && confirm_rounds_ < 2) return false;
  const std::size_t tests = one_way_tests(x);
  const std::size_t enough =
      between_neighbours(fabric_, n_) || many_both_ways(inference) ? 1 : one_way_to_agree;
  // With one of them ruled out, nothing disturbs the other one's readings.
  const bool one_fine =
      inference.fine_alone_at({x, Direction::sends}) || inference.fine_alone_at({x, Direction::receives});
  if (one_fine) return tests < enough;
  for (const Direction d : {Direction::sends, Direction::receives}) {
    const Suspect* s = inference.find(d == Direction::sends ? ScopeType::sender : ScopeType::receiver, x);
    // Too few have met the one that nobody suspects.
    const bool by_tests = inference.is_overshadowed({x, d}) || ((!s || s->alone) && tests < one_way_at_most);
    if (by_tests ? !s || !s->confirmed : tests < enough) return true;
  }
  return false;
}

// Whether a side of it may be slow at times, or may be held up by the other one.
bool Planner::unsteady_alone(int x, const Inference& inference) const {
  constexpr std::size_t enough = 6;  // tests: what is away half of the time has been there twice by then
  constexpr std::size_t enough_there = 3;
  const std::size_t tests = one_way_tests(x);
  std::set<int> there;  // those in which anything of it was low
  struct Partners {
    std::size_t low = 0, all = 0;  // those that are as fast
  } partners[2];
  for (const Direction d : {Direction::sends, Direction::receives})
    for (const auto& [a, b] : pairs_of(seen_.alone, {x, d})) {
      const double level = inference.generation(a, b);
      const double due = inference.thresholds.warning * inference.reference.rate * level;
      bool low = false;
      for (const Reading& r : seen_.alone.of(a, b))
        if (r.rate < due) there.insert(r.run), low = true;
      Partners& of = partners[d == Direction::receives];
      if (level >= inference.generation(x)) ++of.all, of.low += low;
    }
  return std::ranges::any_of(inference.suspects, [&](const Suspect& s) {
    if (s.node != x || !s.unsteady || !s.alone) return false;
    const Partners& of = partners[s.type != ScopeType::sender];
    const bool one_more = of.low > 0 && of.low < at_times::fewest_alone && 2 * of.low >= of.all;
    const std::size_t at_most = n_ > few_nodes ? one_way_at_most : enough;  // few partners soon say all
    return tests < enough || (tests < at_most && (there.size() < enough_there || one_more));
  });
}

Planner::Task Planner::play_one_way(const OneWayTest& pair, Bytes hop) {
  const std::string what = seen_.names[std::size_t(pair.node)] + ", one direction at a time";
  const Experiment experiment = one_way_test(pair.partner, pair.node, hop, options_.max_bytes);
  co_await measure(Stage::one_way, what, experiment);
  double busy = 0;
  for (const HopReading& hop_reading : made_->hops) busy += hop_reading.busy.value;
  if (made_->time.value * made_->experiment.iterations < 0.85 * busy) {
    overlapped_one_way_ = true;  // the directions ran side by side after all: it says nothing new
  } else {
    seen_.alone.add(*made_, seen_.cost.runs, true);
  }
}

}  // namespace ringtrue::diagnosis
