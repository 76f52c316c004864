// Of a large fleet of which nobody told how it hangs together: all ports at once, some times, which clears
// most of them; then only what is still open, a few pairs at once, each with a good partner. The fewer hops
// there are, the less likely two of them share a link between switches: what reads low then is slow.
#include <fmt/format.h>

#include <algorithm>

#include "base/plural.h"
#include "base/splitmix64.h"
#include "diagnosis/infer/groups.h"
#include "diagnosis/infer/significance.h"
#include "diagnosis/plan/planner.h"

namespace ringtrue::diagnosis {
namespace {

constexpr int max_few_rounds = 96;
constexpr std::size_t min_pairs = 3;
// Pairs of a round: one of so many nodes at first; fewer where many of them read low, which tells that they
// share links, and more where hardly any does.
constexpr double nodes_a_pair = 16, nodes_a_pair_at_least = 8;
constexpr double nodes_a_pair_uncrowded = 4;  // where all ports at once hardly slow one another
constexpr double seldom_low = 0.1, often_low = 0.35, step = 1.4;
constexpr double brief_seconds = 0.08;  // of a hop, while more nodes are open than two rounds can have
constexpr int enough_for_a_node = 14;   // rounds: what is open then, more of the same does not close
constexpr int together_times = 3;
constexpr int turns_without_busy = 3, tries_with_busy = 3, tries_while_low_with_busy = 6;
constexpr int enough_for_a_path = 6, max_tries_while_low = 12;
constexpr int max_lone_rounds = 32, max_lone_rounds_of_paths = 16;
constexpr int tries_of_a_low_path = 3;  // before it is measured alone
constexpr double seconds_share = 0.03;
// With whom: one that is near in the order given; one that is open as well, to see whether they are slow with
// all or but with others; any.
constexpr int turn_near = 0, turn_mutual = 1, turn_any = 2;

}  // namespace

// Nodes with a side that has not read well yet, and good pairs beside them, as many as a round may have.
// Empty where nothing is open, unless `more` is wanted anyway.
Planner::NodePairs Planner::next_pairs(const Inference& inference, bool more) {
  const double good = inference.thresholds.warning * inference.reference.rate;
  const auto n = std::size_t(n_);
  const Readings& rated = inference.rated(seen_.readings);
  const Shown shown(rated);
  const auto &sends = shown.sends, &receives = shown.receives;
  const std::vector<int> component = components(rated, seen_.alone, inference);
  const auto settled = [&](int node) {  // what is slow of it is proven
    const Suspect* s = inference.find(ScopeType::sender, node);
    const Suspect* r = inference.find(ScopeType::receiver, node);
    const auto i = std::size_t(node);
    const auto in = [&](const SlowGroup& g) { return g.confirmed && g.explains(node, -1); };
    if (std::any_of(inference.groups.begin(), inference.groups.end(), in)) return true;
    return (sends[i] >= good || (s && s->confirmed)) && (receives[i] >= good || (r && r->confirmed)) &&
           ((s && s->confirmed) || (r && r->confirmed));
  };
  const auto may_be_unsteady = [&](int node) {
    return std::any_of(inference.suspects.begin(), inference.suspects.end(),
                       [&](const Suspect& s) { return s.unsteady && !s.confirmed && s.node == node; });
  };
  few_times_.resize(n, 0);
  std::vector<int> open, fine, at_times;
  for (const int node : all_) {
    const auto i = std::size_t(node);
    if (may_be_unsteady(node)) {
      at_times.push_back(node);
    } else if (sends[i] >= good && receives[i] >= good && component[i] == 0) {
      fine.push_back(node);
    } else if (!settled(node) && few_times_[i] < enough_for_a_node) {
      open.push_back(node);
    }
  }
  // What may be slow for good comes first.
  (open.empty() ? open : fine).insert((open.empty() ? open : fine).end(), at_times.begin(), at_times.end());
  NodePairs paths;
  for (const Late& late : seen_.latencies.late(fabric_, n_))
    if (late.peer >= 0 && !late.confirmed()) paths.emplace_back(late.node, late.peer);
  std::erase_if(paths, [&](const auto& pair) {
    return few_pairs_[std::minmax(pair.first, pair.second)] >= enough_for_a_path;
  });
  if (few_rounds_ > 0 && open.empty() && paths.empty() && !more) return {};

  SplitMix64 draw(splitmix64(options_.seed) + std::uint64_t(seen_.cost.runs));
  for (auto* list : {&open, &fine})
    for (std::size_t i = list->size(); i > 1; --i) std::swap((*list)[i - 1], (*list)[draw() % i]);
  std::stable_sort(open.begin(), open.end(),
                   [&](int a, int b) { return few_times_[std::size_t(a)] < few_times_[std::size_t(b)]; });
  if (room_ <= 0)
    room_ = double(all_.size()) / (seldom_crowded(inference) ? nodes_a_pair_uncrowded : nodes_a_pair);
  const auto room = std::max(min_pairs, std::size_t(room_));
  many_open_ = open.size() > 2 * room;
  NodePairs out;
  std::vector<char> used = taken_by_the_dead();
  const auto take = [&](int x, int y) {
    out.emplace_back(x, y);
    used[std::size_t(x)] = used[std::size_t(y)] = 1;
  };
  for (const auto& [x, y] : paths)
    if (out.size() < room && !used[std::size_t(x)] && !used[std::size_t(y)]) take(x, y);
  // Those that stay open may share a link with one another: then not all of them at once, so that each has
  // other company in other rounds.
  const bool apart = open.size() > 1 && few_times_[std::size_t(open.front())] >= together_times;
  const std::size_t last = out.size() + (apart ? (open.size() + 1) / 2 : open.size());
  for (const int x : open) {
    if (out.size() >= std::min(room, last) || used[std::size_t(x)]) continue;
    // Those whose traffic may be what it lacks tell whether it is, once others have not cleared it.
    const auto i = std::size_t(x);
    int best = -1;
    const auto ask = [&](bool low, int busy) {
      if (best < 0 && low && busy >= 0 && few_times_[i] >= turns_without_busy && !used[std::size_t(busy)] &&
          few_pairs_[std::minmax(x, busy)] < tries_with_busy &&
          inference.generation(busy) >= inference.generation(x))
        best = busy;
    };
    ask(sends[i] < good, inference.beside_sends[i].node);
    ask(receives[i] < good, inference.beside_receives[i].node);
    if (best < 0) best = partner_of(x, few_times_[i] % 3, fine, open, used, inference);
    if (best >= 0) take(x, best);
  }
  // Good pairs tell how common low readings are in such company: near ones and others.
  for (std::size_t i = 0; i < fine.size() && out.size() < room; ++i) {
    const int x = fine[i];
    if (used[std::size_t(x)]) continue;
    used[std::size_t(x)] = 1;
    const int y = partner_of(x, out.size() % 2 ? turn_near : turn_any, fine, {}, used, inference);
    used[std::size_t(x)] = 0;
    if (y >= 0) take(x, y);
  }
  return out;
}

// By node: whether it takes part no more.
std::vector<char> Planner::taken_by_the_dead() const {
  std::vector<char> out(std::size_t(n_), 1);
  for (const int node : all_) out[std::size_t(node)] = 0;
  return out;
}

// Whom `x` meets next: one that it has met least.
int Planner::partner_of(int x, int turn, const std::vector<int>& fine, const std::vector<int>& open,
                        const std::vector<char>& used, const Inference& inference) {
  constexpr double shows_nothing = 1000;  // of a slower generation: only where there is nobody else
  int best = -1;
  double least = 1e9;
  const auto look = [&](const std::vector<int>& list, bool near) {
    for (const int y : list) {
      if (y == x || used[std::size_t(y)] || (near && !is_near(x, y))) continue;
      double met = few_pairs_[std::minmax(x, y)];
      if (inference.generation(y) < inference.generation(x)) met += shows_nothing;
      if (met < least) best = y, least = met;
    }
  };
  if (turn == turn_near) look(fine, true);
  if (turn == turn_mutual || fine.empty()) look(open, false);
  if (best < 0) look(fine, false);
  if (best < 0) look(open, false);
  return best;
}

Planner::NodePairs Planner::low_paths(const Inference& inference) {
  NodePairs out;
  if (!inference.crowded) return out;
  const auto room = std::size_t(std::max(2, int(all_.size()) / 5));
  std::vector<char> used = taken_by_the_dead();
  for (const Suspect& s : inference.suspects) {
    if (s.type != ScopeType::path || s.confirmed || !s.readings.empty() || out.size() == room) continue;
    const auto x = std::size_t(s.node), y = std::size_t(s.peer);
    if (used[x] || used[y] || few_pairs_[std::minmax(s.node, s.peer)] >= tries_of_a_low_path) continue;
    used[x] = used[y] = 1;
    out.emplace_back(s.node, s.peer);
  }
  return out;
}

// Sides below what was guessed to be one leaf, and paths across leaves, that nothing but others on their
// links explains any more: so few that these are hardly their own.
Planner::NodePairs Planner::lone_paths(const Inference& inference, const Parts& parts) const {
  NodePairs out;
  if (lone_rounds_ >= max_lone_rounds) return out;
  std::vector<char> used = taken_by_the_dead();
  const auto tries = [&](int from, int to) {
    const auto times = few_pairs_.find(std::minmax(from, to));
    return times == few_pairs_.end() ? 0 : times->second;
  };
  const auto is_low_now = [&](const Suspect& s) {
    return std::ranges::any_of(s.readings, [&](const Reading& r) { return r.run == seen_.cost.runs; });
  };
  const auto take = [&](int from, int to) {
    // Other partners tell more of a leaf that may be slow at times.
    if (out.size() == std::size_t(most_lone_hops) / 2 || parts.may_be_at_times(from, to)) return;
    char &x = used[std::size_t(from)], &y = used[std::size_t(to)];
    if (!x && !y) x = y = 1, out.emplace_back(from, to);
  };
  for (const Suspect& s : inference.suspects) {
    if (!s.in_company || s.peer >= 0 || s.readings.empty()) continue;
    // With whom it was low, and was alone the least; of what comes and goes, while it is there.
    const auto low = std::ranges::min_element(
        s.readings, {}, [&](const Reading& r) { return std::pair(tries(r.source, r.destination), r.rate); });
    const int enough = !s.unsteady ? enough_for_a_path : is_low_now(s) ? max_tries_while_low : 0;
    if (tries(low->source, low->destination) < enough) take(low->source, low->destination);
  }
  // Together with those whose traffic may be what it lacks, while it does.
  for (const Suspect& s : inference.suspects)
    if (s.busy >= 0 && is_low_now(s) && tries(s.node, s.busy) < tries_while_low_with_busy)
      take(s.node, s.busy);
  for (const Suspect& s : inference.suspects)
    if (s.in_company && s.peer >= 0 && lone_rounds_ < max_lone_rounds_of_paths &&
        tries(s.node, s.peer) < enough_for_a_path)
      take(s.node, s.peer);
  // Who was together with whom changes.
  if (out.size() > 1 && lone_rounds_ % 2 == 1) out.resize(1);
  return out;
}

Planner::Task Planner::few_at_once(const NodePairs& pairs, std::string_view what, double seconds) {
  const Experiment shape = between_pairs(pairs, Bytes(8), options_.max_bytes);
  Bytes hop = hop_bytes(shape.order, shape.shift, seconds);
  if (many_open_)
    hop = std::min(hop, Bytes(std::uint64_t(std::max(min_hop_bytes, brief_seconds * typical_))));
  if (!fits(shape.order, shape.shift, hop)) co_return;
  ++few_rounds_;
  for (const auto& [x, y] : pairs) {
    ++few_pairs_[std::minmax(x, y)];
    if (few_times_.empty()) continue;
    ++few_times_[std::size_t(x)], ++few_times_[std::size_t(y)];
  }
  const Experiment experiment = between_pairs(pairs, hop, options_.max_bytes);
  co_await measure_pairs(Stage::confirm, what, experiment);
}

Planner::Task Planner::settle_untold() {
  for (;;) {
    const bool screening = rounds_ < screening_rounds();
    if (!screening) {
      co_await settle_few();
      if (!watches(infer_now())) co_return;
    }
    const std::uint64_t seed = rounds_ == 0 ? 0 : options_.seed * 1000003 + std::uint64_t(seen_.cost.runs);
    const auto order = neighbour_order(all_, groups_, Wanted(n_), seen_.readings, seed);
    const Bytes longest = hop_bytes(order, 1, 2 * seconds_share * options_.budget.value),
                hop = screening ? longest : watched_bytes(longest);
    if (!fits(order, 1, hop)) co_return;
    ++(screening ? rounds_ : watched_);
    const std::string what = fmt::format("every port, round {}", rounds_ + watched_);
    const Experiment round = pairwise_over(order, 1, hop, options_.max_bytes);
    co_await measure_pairs(Stage::pairs, what, round, Shared::all);
  }
}

// Until nothing is open that a few pairs at once may tell.
Planner::Task Planner::settle_few() {
  while (few_rounds_ < max_few_rounds) {
    const Inference inference = infer_now();
    note_confirmed(inference);
    const bool fleet = repeats_fleet(inference);
    const NodePairs pairs = next_pairs(inference, fleet);
    auto alone = few_rounds_ > 0 ? node_for_one_way(inference) : std::nullopt;
    if (!alone && pairs.empty()) alone = path_for_one_way(inference);
    if (alone) {
      const Bytes hop = hop_bytes({alone->partner, alone->node}, 1, 0.04 * options_.budget.value);
      if (fits({alone->partner, alone->node}, 1, hop)) {
        co_await play_one_way(*alone, hop);
        continue;
      }
    }
    const int before = few_rounds_;
    if (pairs.empty()) co_return;
    const std::string what = fmt::format("{} of nodes at once", plural(pairs.size(), "pair"));
    co_await few_at_once(pairs, what, seconds_share * options_.budget.value);
    if (few_rounds_ == before) {  // there was no time
      if (!takes_longer(inference)) co_return;
      continue;
    }
    fit_room(pairs, inference);
    seen_.fleet_repeats += fleet;
    ++confirm_rounds_;
  }
}

// Whether ends that do well hardly ever read low, though all ports send at once.
bool Planner::seldom_crowded(const Inference& inference) const {
  constexpr double seldom = 0.05, fewest = 16;
  const double good = inference.thresholds.warning * inference.reference.rate;
  double all = 0, low = 0;
  seen_.readings.each_pair([&](int x, int y) {
    if (inference.due(x, y) < good) return;
    const double level = inference.generation(x, y);
    for (const Reading& r : seen_.readings.of(x, y))
      if (r.shared && !r.momentary && !r.held_back) ++all, low += r.rate < good * level;
  });
  return all >= fewest && low <= seldom * all;
}

// By how many of the last round's hops between ends that do well read low.
void Planner::fit_room(const NodePairs& pairs, const Inference& inference) {
  const double good = inference.thresholds.warning * inference.reference.rate;
  int all = 0, low = 0;
  for (const auto& [x, y] : pairs) {
    for (const auto& [from, to] : {std::pair(x, y), std::pair(y, x)}) {
      const auto list = seen_.readings.of(from, to);
      if (list.empty() || list.back().run != seen_.cost.runs) continue;
      if (inference.due(from, to) < good) continue;  // it may be an end that is slow
      const double level = inference.generation(from, to);
      ++all, low += list.back().carried() < good * level;
    }
  }
  if (all == 0) return;
  const double n = double(all_.size()), share = double(low) / all;
  room_ = std::clamp(share > often_low    ? room_ / step
                     : share < seldom_low ? room_ * step
                                          : room_,
                     double(min_pairs),
                     std::max(double(min_pairs), n / (seldom_crowded(inference) ? nodes_a_pair_uncrowded
                                                                                : nodes_a_pair_at_least)));
}

}  // namespace ringtrue::diagnosis
