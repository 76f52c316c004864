// Where routes are known: rounds in which every trunk is crossed by one hop at most, until each was met, and
// then hops that tell apart what is slow among them. What is slow about nodes is settled as in a large fleet,
// by readings over trunks that are known to be fine.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/plural.h"
#include "diagnosis/plan/planner.h"
#include "diagnosis/plan/trunk_rounds.h"

namespace ringtrue::diagnosis {
namespace {

constexpr int cover_rounds = 2;      // each trunk in the company of two others, two ports of hosts
constexpr int max_cover_rounds = 6;  // where it takes more to meet all: oversubscribed and irregular fabrics
constexpr int max_alone = 8;         // trunks that no such round has met
constexpr int max_separations = 24;
constexpr int times_repeated = 3;
constexpr int times_port = 8;  // readings by which a port's side is judged, beside those that showed it
constexpr int few_runs = 3;    // a ring for its busbw is played where these were all
constexpr double share_of_budget = 0.06;  // a round

}  // namespace

Planner::Task Planner::routed() {
  co_await probe();
  co_await ports();
  co_await cover_trunks();
  co_await separate_trunks();
  screening_ = false;
  rounds_ = cover_rounds;
  co_await settle();
  co_await cover();
  if (seen_.cost.runs <= few_runs) co_await last_ring();
}

Planner::Task Planner::play_round(Stage stage, std::string_view what, const std::vector<int>& order,
                                  bool screening) {
  const Bytes hop = hop_bytes(order, 1, share_of_budget * options_.budget.value);
  if (!fits(order, 1, hop)) co_return;
  screening_ = screening;
  const Experiment round = pairwise_over(order, 1, hop, options_.max_bytes);
  co_await measure_pairs(stage, what, round);
}

Planner::Task Planner::cover_trunks() {
  co_await cover_together();
  if (fabric_.routes->by_hop()) co_await cover_alone();
}

// A traced way is that of one pair, so that a round may have no room for it.
Planner::Task Planner::cover_alone() {
  for (int turn = 0; turn < max_alone; ++turn) {
    const auto order = TrunkRounds(*seen_.crossings, all_).two_over_unmet();
    if (order.empty()) co_return;
    const int before = seen_.unmet;
    co_await play_round(Stage::pairs, "a trunk by two nodes alone", order, true);
    seen_.unmet = TrunkRounds(*seen_.crossings, all_).unmet();
    if (seen_.unmet == before) co_return;
  }
}

Planner::Task Planner::cover_together() {
  if (TrunkRounds(*seen_.crossings, all_).few_switches()) {
    const auto order = neighbour_order(all_, groups_, Wanted(n_), seen_.readings, 0);
    co_await play_round(Stage::pairs, "every port with a neighbour", order, true);
  }
  for (int turn = 0; turn < max_cover_rounds; ++turn) {
    TrunkRounds rounds(*seen_.crossings, all_);
    seen_.unmet = rounds.unmet();
    if (turn >= cover_rounds && seen_.unmet == 0) co_return;
    const int runs = seen_.cost.runs;
    const auto order = rounds.cover(turn + 1, turn);
    if (order.size() < 2) co_return;
    const std::string what = fmt::format("every trunk, round {}", turn + 1);
    co_await play_round(Stage::pairs, what, order, true);
    if (seen_.cost.runs == runs) co_return;  // there was no time
    const int before = seen_.unmet;
    seen_.unmet = TrunkRounds(*seen_.crossings, all_).unmet();
    if (turn >= cover_rounds && seen_.unmet == before) co_return;  // nothing reaches the rest
  }
}

Planner::Task Planner::separate_trunks() {
  for (int turn = 1; turn <= max_separations; ++turn) {
    const Inference inference = infer_now();
    note_confirmed(inference);
    const auto pairs = pairs_to_repeat(inference);
    if (seen_.trunks.open.empty() && pairs.empty()) co_return;
    const auto next = TrunkRounds(*seen_.crossings, all_).separate(seen_.trunks.open, pairs, turn);
    if (!next.classes.empty()) {
      if (seen_.same.empty())
        seen_.same.resize(std::size_t(seen_.crossings->all())),
            std::iota(seen_.same.begin(), seen_.same.end(), 0);
      for (const auto& list : next.classes)
        for (const int e : list) seen_.same[std::size_t(e)] = list.front();
      judge_trunks();
      if (seen_.trunks.open.empty() && pairs.empty()) co_return;
    }
    const int runs = seen_.cost.runs;
    if (next.order.size() < 2) co_return;
    const std::string what =
        fmt::format("{} that may be slow", plural(seen_.trunks.open.size() + pairs.size(), "link"));
    co_await play_round(Stage::confirm, what, next.order, false);
    for (std::size_t i = 0; i < next.order.size(); ++i) {
      const std::pair pair(next.order[i], next.order[(i + 1) % next.order.size()]);
      if (std::find(pairs.begin(), pairs.end(), pair) != pairs.end()) ++few_pairs_[pair];
    }
    if (seen_.cost.runs == runs) co_return;
  }
}

// What read low once though all on its way has carried more: chance most often, which another reading shows.
Planner::NodePairs Planner::pairs_to_repeat(const Inference& inference) {
  NodePairs out;
  const auto add = [&](int x, int y) {
    if (!seen_.is_dead(x) && !seen_.is_dead(y) && few_pairs_[{x, y}] < times_repeated) out.emplace_back(x, y);
  };
  if (seen_.slowest_hop && seen_.slowest_hop->rate < 0.8 * seen_.slowest_hop->typical &&
      !known(*seen_.slowest_hop))
    add(seen_.slowest_hop->source, seen_.slowest_hop->destination);
  for (const Suspect& s : inference.suspects)
    if (s.type == ScopeType::path && !s.confirmed && !s.alone) add(s.node, s.peer);
  // A port that is slow needs readings with several neighbours, by which its side is judged.
  for (const int port : seen_.trunks.ports) {
    const int node = seen_.crossings->node_of(port);
    const bool sends = (port - seen_.crossings->port_out(node, 0)) % 2 == 0;
    const Suspect* side = inference.find(sends ? ScopeType::sender : ScopeType::receiver, node);
    const Suspect* program = inference.find(ScopeType::node, node);
    if ((side && side->confirmed) || (program && program->confirmed) || port_times_[port] >= times_port)
      continue;
    int best = -1;
    for (const int other : all_) {
      if (other == node || groups_[std::size_t(other)] != groups_[std::size_t(node)]) continue;
      const auto pair = sends ? std::pair(node, other) : std::pair(other, node);
      if (best < 0 || few_pairs_[pair] < few_pairs_[sends ? std::pair(node, best) : std::pair(best, node)])
        best = other;
    }
    if (best < 0) continue;
    ++port_times_[port];
    out.push_back(sends ? std::pair(node, best) : std::pair(best, node));
  }
  return out;
}

void Planner::note_crossings(const Observation& observation, bool confirming, bool screening) {
  seen_.over_trunks.push_back({observation, seen_.cost.runs, confirming, screening});
  seen_.crossings->add(observation, seen_.cost.runs, screening);
  judge_trunks();
}

// What hops have read is left out where their ways have changed meanwhile.
void Planner::forget(const std::vector<std::pair<int, int>>& changed) {
  if (!seen_.crossings || !fabric_.routes->by_hop() || changed.empty()) return;
  seen_.crossings.emplace(*fabric_.routes);
  for (Evidence::OverTrunks& seen : seen_.over_trunks) {
    std::erase_if(seen.observation.hops, [&](const HopReading& hop) {
      return std::find(changed.begin(), changed.end(), std::pair(hop.source, hop.destination)) !=
             changed.end();
    });
    seen_.crossings->add(seen.observation, seen.run, seen.screening);
  }
  judge_trunks();
  seen_.not_checked.push_back(
      {StatementKind::ways_changed,
       {seen_.names[std::size_t(changed[0].first)], seen_.names[std::size_t(changed[0].second)]},
       {{"hops", changed.size()}}});
}

void Planner::judge_trunks() {
  const auto rebuild = [&](bool all) {
    seen_.readings = Readings(n_);
    for (const Evidence::OverTrunks& seen : seen_.over_trunks) {
      Observation kept = seen.observation;
      std::erase_if(kept.hops, [&](const HopReading& hop) {
        if (all || hop.rate().value_or(0) >= seen_.trunks.limit) return false;
        std::vector<int> way;
        if (fabric_.routes->by_hop() && !fabric_.routes->way(hop.source, hop.destination, 0, way))
          return true;  // over whatever it was
        return !seen_.trunks.clear(fabric_.routes->way(hop.source, hop.destination));
      });
      seen_.readings.add(kept, seen.run, seen.confirming);
    }
  };
  rebuild(true);
  seen_.trunks = infer_trunks(*seen_.crossings, infer_now().reference.rate, seen_.same);
  rebuild(false);
}

}  // namespace ringtrue::diagnosis
