// Where routes are known: rounds in which every trunk is crossed by one hop at most, until each was met, and
// then hops that tell apart what is slow among them. What is slow about nodes is settled as in a large fleet,
// by readings over trunks that are known to be fine.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/plural.h"
#include "diagnosis/findings/trunk_findings.h"
#include "diagnosis/plan/examination.h"
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

bool Examination::routed() {
  if (!probe() || !ports() || !cover_trunks() || !separate_trunks()) return false;
  screening_ = false;
  rounds_ = cover_rounds;
  if (!settle() || !cover()) return false;
  return out_.cost.runs > few_runs || last_ring();
}

bool Examination::play_round(Stage stage, const std::string& what, const std::vector<int>& order,
                             bool screening) {
  const Bytes hop = hop_bytes(order, 1, share_of_budget * options_.budget.value);
  if (!fits(order, 1, hop)) return true;
  screening_ = screening;
  return measure_pairs(stage, what, pairwise_over(order, 1, hop, options_.max_bytes));
}

bool Examination::cover_trunks() {
  return cover_together() && (!structure_.routes->by_hop() || cover_alone());
}

// A traced way is that of one pair, so that a round may have no room for it.
bool Examination::cover_alone() {
  for (int turn = 0; turn < max_alone; ++turn) {
    const auto order = TrunkRounds(*crossings_, all_).two_over_unmet();
    if (order.empty()) return true;
    const int before = unmet_;
    if (!play_round(Stage::pairs, "a trunk by two nodes alone", order, true)) return false;
    unmet_ = TrunkRounds(*crossings_, all_).unmet();
    if (unmet_ == before) return true;
  }
  return true;
}

bool Examination::cover_together() {
  if (TrunkRounds(*crossings_, all_).few_switches()) {
    const auto order = neighbour_order(all_, groups_, Wanted(n_), readings_, 0);
    if (!play_round(Stage::pairs, "every port with a neighbour", order, true)) return false;
  }
  for (int turn = 0; turn < max_cover_rounds; ++turn) {
    TrunkRounds rounds(*crossings_, all_);
    unmet_ = rounds.unmet();
    if (turn >= cover_rounds && unmet_ == 0) return true;
    const int runs = out_.cost.runs;
    const auto order = rounds.cover(turn + 1, turn);
    if (order.size() < 2) return true;
    if (!play_round(Stage::pairs, fmt::format("every trunk, round {}", turn + 1), order, true)) return false;
    if (out_.cost.runs == runs) return true;  // there was no time
    const int before = unmet_;
    unmet_ = TrunkRounds(*crossings_, all_).unmet();
    if (turn >= cover_rounds && unmet_ == before) return true;  // nothing reaches the rest
  }
  return true;
}

bool Examination::separate_trunks() {
  for (int turn = 1; turn <= max_separations; ++turn) {
    const Inference inference = infer_now();
    note_confirmed(inference);
    const auto pairs = pairs_to_repeat(inference);
    if (trunks_.open.empty() && pairs.empty()) return true;
    const auto next = TrunkRounds(*crossings_, all_).separate(trunks_.open, pairs, turn);
    if (!next.classes.empty()) {
      if (same_.empty())
        same_.resize(std::size_t(crossings_->all())), std::iota(same_.begin(), same_.end(), 0);
      for (const auto& list : next.classes)
        for (const int e : list) same_[std::size_t(e)] = list.front();
      judge_trunks();
      if (trunks_.open.empty() && pairs.empty()) return true;
    }
    const int runs = out_.cost.runs;
    if (next.order.size() < 2) return true;
    if (!play_round(Stage::confirm,
                    fmt::format("{} that may be slow", plural(trunks_.open.size() + pairs.size(), "link")),
                    next.order, false))
      return false;
    for (std::size_t i = 0; i < next.order.size(); ++i) {
      const std::pair pair(next.order[i], next.order[(i + 1) % next.order.size()]);
      if (std::find(pairs.begin(), pairs.end(), pair) != pairs.end()) ++few_pairs_[pair];
    }
    if (out_.cost.runs == runs) return true;
  }
  return true;
}

// What read low once though all on its way has carried more: chance most often, which another reading shows.
Examination::NodePairs Examination::pairs_to_repeat(const Inference& inference) {
  NodePairs out;
  const auto add = [&](int x, int y) {
    if (!is_dead(x) && !is_dead(y) && few_pairs_[{x, y}] < times_repeated) out.emplace_back(x, y);
  };
  if (slowest_hop_ && slowest_hop_->rate < 0.8 * slowest_hop_->typical && !known(*slowest_hop_))
    add(slowest_hop_->source, slowest_hop_->destination);
  for (const Suspect& s : inference.suspects)
    if (s.type == ScopeType::path && !s.confirmed && !s.alone) add(s.node, s.peer);
  // A port that is slow needs readings with several neighbours, by which its side is judged.
  for (const int port : trunks_.ports) {
    const int node = crossings_->node_of(port);
    const bool sends = (port - crossings_->port_out(node, 0)) % 2 == 0;
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

void Examination::note_crossings(const Observation& observation, bool confirming, bool screening) {
  seen_.push_back({observation, out_.cost.runs, confirming, screening});
  crossings_->add(observation, out_.cost.runs, screening);
  judge_trunks();
}

// What hops have read is left out where their ways have changed meanwhile.
void Examination::forget_changed_ways() {
  if (!structure_.routes->by_hop()) return;
  const auto changed = measurer_.changed_ways();
  if (changed.empty()) return;
  crossings_.emplace(*structure_.routes);
  for (Seen& seen : seen_) {
    std::erase_if(seen.observation.hops, [&](const HopReading& hop) {
      return std::find(changed.begin(), changed.end(), std::pair(hop.source, hop.destination)) !=
             changed.end();
    });
    crossings_->add(seen.observation, seen.run, seen.screening);
  }
  judge_trunks();
  out_.not_checked.push_back(
      {StatementKind::ways_changed,
       {out_.nodes[std::size_t(changed[0].first)], out_.nodes[std::size_t(changed[0].second)]},
       {{"hops", changed.size()}}});
}

void Examination::judge_trunks() {
  const auto rebuild = [&](bool all) {
    readings_ = Readings(n_);
    for (const Seen& seen : seen_) {
      Observation kept = seen.observation;
      std::erase_if(kept.hops, [&](const HopReading& hop) {
        if (all || hop.rate().value_or(0) >= trunks_.limit) return false;
        std::vector<int> way;
        if (structure_.routes->by_hop() && !structure_.routes->way(hop.source, hop.destination, 0, way))
          return true;  // over whatever it was
        return !trunks_.clear(structure_.routes->way(hop.source, hop.destination));
      });
      readings_.add(kept, seen.run, seen.confirming);
    }
  };
  rebuild(true);
  trunks_ = infer_trunks(*crossings_, infer_now().reference.rate, same_);
  rebuild(false);
}

void Examination::add_trunks(const Inference& inference, Diagnosis& to) const {
  diagnosis::add_trunks({*crossings_, trunks_, inference.reference.rate, unmet_}, thresholds_, to);
  if (to.rates.empty()) return;
  for (const Seen& seen : seen_) {
    for (const HopReading& hop : seen.observation.hops) {
      auto& known = to.rates[std::size_t(hop.source)][std::size_t(hop.destination)];
      const auto rate = hop.rate();
      if (readings_.of(hop.source, hop.destination).empty() && rate && (!known || known->value < *rate))
        known = BytesPerSecond(*rate);
    }
  }
}

}  // namespace ringtrue::diagnosis
