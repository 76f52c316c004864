// A fleet of up to 16 nodes: every ordered pair, then suspects again.
#include <fmt/format.h>

#include <algorithm>

#include "base/statistics.h"
#include "diagnosis/findings/conclusion.h"
#include "diagnosis/infer/at_times.h"
#include "diagnosis/plan/planner.h"

namespace ringtrue::diagnosis {
namespace {

constexpr int shifts_beyond = 8;       // where there are more nodes than that
constexpr int max_doublings = 4;       // of the bytes in one-way tests of one path
constexpr int max_few_rounds = 12;     // of paths that read low, a few at a time
constexpr int max_retries_of_few = 6;  // of pairs that read low though nobody is suspected

}  // namespace

void Planner::note_ring(const Observation& observation) {
  seen_.note_ring(observation);
  std::vector<double> rates = hop_rates(observation);
  if (rates.empty()) return;
  // Of three hops around one bad node two are slow: for sizes, look at the better ones.
  std::sort(rates.begin(), rates.end());
  typical_ = rates[rates.size() * 3 / 4];
  const auto attainable = standards_.attainable();
  if (attainable && observation.time.value < settled_from) typical_ = std::min(typical_, *attainable);
  slowest_ = rates.front();
}

Planner::Task Planner::small() {
  co_await short_ring();
  co_await guess_leaves();
  if (between_neighbours(fabric_, n_)) {
    co_await between_them();
    co_return;
  }
  co_await long_ring();
  co_await ports();
  co_await pairs();
  co_await confirm();
  co_await watch();
  co_await rings_again();
}

Planner::Task Planner::short_ring() {
  const double probe_bytes = min_call_bytes * 2 * (n_ - 1) / n_;  // a hop
  const Experiment ring = ring_over(all_, Bytes(std::uint64_t(probe_bytes)), options_.max_bytes);
  co_await measure(Stage::probe, "a short ring", ring);
  note_ring(*made_);
  if (!seen_.slowest_hop) {
    seen_.not_checked.push_back({StatementKind::no_data_moved, {}, {{"ring", true}}});
    co_await Ended{};
  }
  fit_budget();
}

Planner::Task Planner::long_ring() {
  const double probe_bytes = min_call_bytes * 2 * (n_ - 1) / n_;  // a hop
  const Bytes hop = hop_bytes(all_, 1, 0.04 * options_.budget.value);
  // One as short as the probe says nothing new, and a very slow hop makes it expensive.
  if (!fits(all_, 1, hop) || double(hop.value) < 1.5 * probe_bytes) co_return;
  const Experiment ring = ring_over(all_, hop, options_.max_bytes);
  co_await measure(Stage::ring, "a ring over all nodes", ring);
  note_ring(*made_);
}

// An incast, for what it tells of the aggregators' ports. Never worth more than a little of the budget.
Planner::Task Planner::ports() {
  const auto workers = int(
      std::count_if(all_.begin(), all_.end(), [&](int node) { return node < options_.workers; }));  // alive
  if (workers < 1) co_return;
  const double seconds = 0.05 * options_.budget.value;
  // All of them may have to pass the ring's slowest hop.
  const double slowest = std::max(std::min(typical_, slowest_), 1.0);
  const double wanted = std::min(wanted_bytes(), slowest * seconds / stretch_);
  const Bytes port(std::uint64_t(std::max(wanted, min_call_bytes)));
  if (overhead_ + 1.2 * stretch_ * double(port.value) / slowest > 0.3 * left()) {
    seen_.not_checked.push_back({StatementKind::too_long_for_ports, {}, {{"rate_Bps", slowest}}});
    co_return;
  }
  const Experiment incast = omnireduce_over(all_, workers, port, options_.max_bytes);
  co_await measure(Stage::ports, "an omnireduce, for its aggregators' ports", incast);
  seen_.ports = seen_.runs.back().ports;
}

// Of two nodes alone, a slow direction's data delays the other one's acknowledgements: one after the other.
Experiment Planner::exchange(const std::vector<int>& order, int shift, Bytes hop) const {
  if (n_ == 2) return one_way_test(order[0], order[1], hop, options_.max_bytes);
  return pairwise_over(order, shift, hop, options_.max_bytes);
}

Planner::Task Planner::shifts_over(std::vector<int> nodes, int max_shifts, double share_of_budget,
                                   std::string_view what) {
  const int n = int(nodes.size());
  const auto list = shifts(n, std::min(max_shifts, n <= all_pairs_up_to ? n - 1 : shifts_beyond));
  const double seconds = share_of_budget * options_.budget.value / double(list.size()) - overhead_;
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::erase_if(nodes, [this](int node) { return seen_.is_dead(node); });  // in the shift before
    if (list[i] >= int(nodes.size())) continue;
    const Bytes hop = hop_bytes(nodes, list[i], std::max(seconds, 0.05));
    // What is left must do for repeats, without which nothing can be said.
    if (elapsed() > 0.65 * options_.budget.value || !fits(nodes, list[i], hop)) co_return;
    const auto text = fmt::format("{}, {} of {}", what, i + 1, list.size());
    const Experiment experiment = exchange(nodes, list[i], hop);
    co_await measure_pairs(Stage::pairs, text, experiment);
  }
}

std::vector<int> Planner::very_slow(const Inference& inference) const {
  std::vector<int> out;
  for (const Suspect& s : inference.suspects) {
    if (s.type == ScopeType::path || s.ratio >= very_slow_share) continue;
    if (std::find(out.begin(), out.end(), s.node) == out.end()) out.push_back(s.node);
  }
  return out;
}

std::vector<int> Planner::nodes_without(const std::vector<int>& some) const {
  std::vector<int> out;
  for (const int node : all_) {
    if (std::find(some.begin(), some.end(), node) == some.end()) out.push_back(node);
  }
  return out;
}

Planner::Task Planner::pairs() {
  const bool gross = slowest_ < very_slow_share * typical_;
  // Where even short messages take long, two partners of each node must do: enough for a side that is slow
  // with both, and time remains to repeat it.
  const double min_seconds = overhead_ + stretch_ * min_call_bytes / std::max(slowest_, 1.0);
  gross_ = gross && n_ > 3 && min_seconds * (n_ - 1) > 0.3 * options_.budget.value;
  co_await shifts_over(all_, gross_ ? 2 : n_, gross ? 0.15 : 0.4, "every port with changing partners");
  const auto slow = very_slow(infer_now());
  const auto rest = nodes_without(slow);
  // Long enough experiments for the others, which the slow ones kept short.
  const bool all_long = std::none_of(rest.begin(), rest.end(), [&](int x) {
    return std::any_of(rest.begin(), rest.end(), [&](int y) {
      const auto list = seen_.readings.of(x, y);
      return y != x && std::all_of(list.begin(), list.end(),
                                   [](const Reading& r) { return double(r.bytes) < min_hop_bytes; });
    });
  });
  if (rest.size() < 2 || all_long) co_return;
  if (slow.empty()) {
    // A hop that was slow for a moment may have kept them all too short to say much.
    std::uint64_t longest = 0;
    seen_.readings.each_pair([&](int x, int y) {
      for (const Reading& r : seen_.readings.of(x, y)) longest = std::max(longest, r.bytes);
    });
    if (hop_bytes(all_, 1, 0.25 * options_.budget.value / n_).value < 4 * longest) co_return;
  }
  co_await shifts_over(rest, n_, gross_ ? 0.15 : 0.25, "the same without the slowest nodes");
}

// The one longer reading of a pair that keeps the others short is not answered by brief ones.
Bytes Planner::long_enough(const std::vector<int>& order, Bytes hop) const {
  constexpr double most = 1.5;  // times as long: what is far slower is soon told by brief ones
  const Bytes longer(std::uint64_t(brief_below) + 1);
  if (hop.value >= longer.value || most * double(hop.value) < brief_below) return hop;
  const double slowest = slowest_of(order, 1);
  bool answers = false;
  for (std::size_t r = 0; r < order.size(); ++r) {
    const int source = order[r], destination = order[(r + 1) % order.size()];
    const auto best = seen_.readings.best(source, destination);
    const auto list = seen_.readings.of(source, destination);
    answers |= best && *best <= slowest &&
               std::count_if(list.begin(), list.end(), [](const Reading& r) { return !r.brief; }) == 1;
  }
  return answers && fits(order, 1, longer) ? longer : hop;
}

Planner::Task Planner::confirm() {
  for (int round = 0; round < 64; ++round) {
    const Inference inference = infer_now();
    note_confirmed(inference);
    std::vector<const Suspect*> very, fine;
    // What may be slow at times is not worth the time of paths that are slow for good; of those that are as
    // slow as it, it may be the reason.
    const bool paths_left = std::ranges::any_of(inference.suspects, [&](const Suspect& s) {
      return s.alone && !s.confirmed && !inference.may_be_at_times(s) && !inference.end_may_be_as_slow(s);
    });
    const bool late = paths_left && elapsed() > 0.35 * options_.budget.value;
    for (const Suspect& s : inference.suspects) {
      const bool by_chance = s.unsteady && s.chance_of_it >= at_times::by_chance;
      if (s.confirmed || s.alone || (by_chance && late)) continue;
      (s.type != ScopeType::path && s.ratio < very_slow_share ? very : fine).push_back(&s);
    }
    // Of few nodes one that is slow is much of what was seen.
    const bool fleet = repeats_fleet(inference) || (inference.reference.few_alike && seen_.fleet_repeats < 2);
    const bool nothing_else = very.empty() && fine.empty() && !fleet;
    auto pair = node_for_one_way(inference);
    if (gross_ && !very.empty()) pair.reset();  // the very slow first
    // Of many nodes one at a time, in turn with what repeats all of them.
    if (after_one_way() && !(very.empty() && fine.empty()) && many_both_ways(inference)) pair.reset();
    double share = 0.025;
    int doublings = 0;
    if (const auto low = low_paths(inference);
        !pair && nothing_else && !low.empty() && few_rounds_ < max_few_rounds) {
      const int before = few_rounds_;
      co_await few_at_once(low, "paths that read low, a few at a time", 0.01 * options_.budget.value);
      if (few_rounds_ > before) continue;
    }
    // There may be many such paths, and most are healthy.
    if (!pair && nothing_else) {
      pair = path_for_one_way(inference);
      share = 0.015;
      // The slow direction keeps them short, so that a late acknowledgement (40 ms) is most of the other
      // one's time: the same in all of them. Of a slow path, longer ones take as much longer.
      if (pair && !inference.crowded)
        doublings = std::min(int(seen_.alone.of(pair->node, pair->partner).size()), max_doublings);
      // What was begun is worth more of the time than what may be nothing.
      if (elapsed() >= (doublings > 0 ? 0.9 : 0.75) * options_.budget.value) pair.reset();
    }
    if (pair) {
      Bytes hop = hop_bytes({pair->partner, pair->node}, 1, share * options_.budget.value);
      hop.value <<= doublings;
      if (fits({pair->partner, pair->node}, 1, hop)) {
        co_await play_one_way(*pair, hop);
        continue;
      }
    }
    // Where nobody is suspected, what is late or still reads low may be told by more of the same.
    Wanted again(n_);
    for (const Late& l : seen_.latencies.late(fabric_, n_))
      if (l.peer >= 0 && !l.confirmed()) again.paths.emplace_back(l.node, l.peer);
    if (inference.suspects.empty() && retries_ < max_retries_of_few)
      for (const auto& pair :
           inconclusive_pairs(inference.rated(seen_.readings), inference, inference.thresholds))
        again.paths.push_back(pair);
    std::erase_if(again.paths,
                  [this](const auto& p) { return seen_.is_dead(p.first) || seen_.is_dead(p.second); });
    if (nothing_else && again.paths.empty()) co_return;
    retries_ += nothing_else;

    std::vector<int> nodes = all_;
    std::vector<const Suspect*> suspects = very;
    if (!fine.empty() || very.empty()) {
      std::vector<int> slow = very_slow(inference);
      for (const Suspect* s : fine) {
        std::erase_if(slow, [&](int node) { return node == s->node || node == s->peer; });
      }
      const auto rest = nodes_without(slow);
      // The very slow first, they are soon decided; then in turn, so that neither kind starves the other.
      const bool turn = very.empty() || (round >= 4 && round % 2 == 0);
      if (rest.size() >= std::clamp<std::size_t>(all_.size() - 1, 2, 3) && turn)
        nodes = rest, suspects = fine;
      if (nodes.size() == all_.size()) suspects.insert(suspects.end(), fine.begin(), fine.end());
    }
    const std::uint64_t seed = options_.seed * 1000003 + std::uint64_t(seen_.cost.runs);
    const auto order = nothing_else ? neighbour_order(all_, std::vector<int>(std::size_t(n_), 0), again,
                                                      seen_.readings, seed)
                                    : changed_partners(nodes, suspects, inference, counts_, seed);
    // Of few nodes both ends of a path that comes and goes look slow at times, and would meet no more.
    const bool at_times = n_ <= few_nodes && n_ > 2 && !suspects.empty() &&
                          std::ranges::all_of(suspects, [](const Suspect* s) { return s->unsteady; });
    const int shift =
        at_times && order.size() == all_.size() ? 1 + confirm_rounds_ % (int(order.size()) - 1) : 1;
    const Bytes hop = long_enough(order, hop_bytes(order, shift, 0.05 * options_.budget.value));
    if (!fits(order, shift, hop) && (nothing_else || !takes_longer(inference))) co_return;
    std::string what = "most nodes again";
    if (!suspects.empty()) {
      const Suspect& s = *suspects.front();
      what = Scope{s.type, s.node, s.peer, seen_.names[std::size_t(s.node)],
                   s.peer < 0 ? "" : seen_.names[std::size_t(s.peer)]}
                 .text();
      if (suspects.size() > 1) what += fmt::format(" and {} more", suspects.size() - 1);
    }
    const Experiment experiment = exchange(order, shift, hop);
    co_await measure_pairs(Stage::confirm, what, experiment);
    seen_.fleet_repeats += fleet;
    ++confirm_rounds_;
  }
}

Planner::Task Planner::watch() {
  for (int round = 0; watches(infer_now()); ++round) {
    const int n = int(all_.size()), shift = 1 + round % std::max(1, n - 1);
    const Bytes hop = watched_bytes(hop_bytes(all_, shift, 0.04 * options_.budget.value));
    if (n < 2 || !fits(all_, shift, hop)) co_return;
    const Experiment experiment = exchange(all_, shift, hop);
    co_await measure_pairs(Stage::pairs, "every port again", experiment);
    co_await confirm();
  }
}

Planner::Task Planner::pairs_again() {
  for (int round = 0; round < rounds_of_a_look; ++round) {
    const int n = int(all_.size());
    if (n < 2) co_return;
    const int shift = 1 + round % (n - 1);
    const Bytes hop = hop_bytes(all_, shift, 0.04 * options_.budget.value);
    if (!fits(all_, shift, hop)) co_return;
    const Experiment experiment = exchange(all_, shift, hop);
    co_await measure_pairs(Stage::confirm, "every port again, as the ring was slow", experiment);
  }
  co_await confirm();
}

// What held up a ring that no link explains may have been that moment's: the best of three counts. What comes
// and goes may have been away while the pairs were measured: they are once more, first.
Planner::Task Planner::rings_again() {
  for (int times = 0; times < 2; ++times) {
    const Inference inference = infer_now();
    const bool over = std::all_of(inference.suspects.begin(), inference.suspects.end(),
                                  [](const Suspect& s) { return s.unsteady && s.course == Course::ended; });
    const bool slow =
        over && slow_ring(seen_, standards_.declared(),
                          inference.slowest_generation() * inference.reference.rate, inference.thresholds);
    const Bytes hop = hop_bytes(all_, 1, 0.04 * options_.budget.value);
    if (!slow || !fits(all_, 1, hop)) co_return;
    co_await pairs_again();
    const Bytes again = hop_bytes(all_, 1, 0.04 * options_.budget.value);
    if (all_.size() < 2 || !fits(all_, 1, again)) co_return;
    const Experiment ring = ring_over(all_, again, options_.max_bytes);
    co_await measure(Stage::ring, "a ring over all nodes again", ring);
    const auto& busbw = seen_.runs.back().busbw;
    if (busbw && busbw->value > seen_.ring_busbw->value) note_ring(*made_);
  }
}

}  // namespace ringtrue::diagnosis
