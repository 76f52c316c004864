// A large fleet, or one whose leaves are known: every port for a moment, with a neighbour, another, and an
// end where nothing is slow. What is slow meets good ones until it is proven or ruled out.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/splitmix64.h"
#include "diagnosis/findings/conclusion.h"
#include "diagnosis/infer/at_times.h"
#include "diagnosis/infer/attribute.h"
#include "diagnosis/infer/generations.h"
#include "diagnosis/infer/leaf_guess.h"
#include "diagnosis/plan/planner.h"

namespace ringtrue::diagnosis {
namespace {

constexpr int fewest_to_guess = 8;  // nodes
constexpr int max_guess_runs = 200;
constexpr int guess_messages = 4;        // of a pair in a run, of which the least time counts
constexpr double guess_share = 0.2;      // of the budget
constexpr int max_rounds = 24;           // for what is severe, and for pairs between leaves
constexpr int most_long_rounds = 4;      // without those that keep the others' readings short
constexpr double spine_met = 4.6;        // pairs a spine: one of them crosses it with 99 %
constexpr int rounds_for_paths = 5;      // and for single paths where others read as low
constexpr int rounds_for_repeated = 14;  // and for those of them that stay low when repeated
constexpr int looks = 2;                 // again, where a ring was slow
constexpr double share_of_round = 0.06;
constexpr int first_across = 3;         // rounds of all nodes with other leaves
constexpr double across_seconds = 0.5;  // of their slowest hop, at most
constexpr int fewest_leaves_across = 3;
constexpr int max_retries = 6;          // for ends of which too little is known
constexpr int economical = 7;           // runs besides these; a ring for its busbw is played only within them
constexpr double may_wait = 0.1;        // sides as low as that expected of chance, once something is proven
constexpr double first_seconds = 0.05;  // of a hop, at first
constexpr double cover_seconds = 0.06;  // of a hop: long enough to be no matter of ticks

// Takes out of `pairs` those that one experiment has room for.
LeafGuess::NodePairs at_once(LeafGuess::NodePairs& pairs, int nodes, int ranks_a_node) {
  std::vector<int> ranks(std::size_t(nodes), 0);
  LeafGuess::NodePairs now, later;
  for (const auto& [x, y] : pairs) {
    int& a = ranks[std::size_t(x)];
    int& b = ranks[std::size_t(y)];
    const bool room = a < ranks_a_node && b < ranks_a_node;
    if (room) ++a, ++b;
    (room ? now : later).emplace_back(x, y);
  }
  pairs = std::move(later);
  return now;
}

}  // namespace

Planner::Task Planner::probe() {
  const auto order = neighbour_order(all_, groups_, Wanted(n_), seen_.readings, 0);
  const Experiment neighbours =
      pairwise_over(order, 1, Bytes(std::uint64_t(min_call_bytes)), options_.max_bytes);
  co_await measure(Stage::probe, "a short exchange between neighbours", neighbours);
  const bool first = !seen_.slowest_hop;
  note_ring(*made_);
  if (!seen_.slowest_hop) {
    seen_.not_checked.push_back(StatementKind::no_data_moved);
    co_await Ended{};
  }
  if (first) fit_budget();
}

// Where nobody told which leaves the nodes hang below: many short messages tell who is near whom.
Planner::Task Planner::guess_leaves() {
  if (!fabric_.leaf.empty() || fabric_.one_machine || n_ < fewest_to_guess || seen_.latencies.usual() <= 0)
    co_return;
  LeafGuess guess(n_);
  bool settled = false;
  const auto in_time = [this] { return elapsed() < guess_share * options_.budget.value; };
  for (int turn = 0; turn < max_guess_runs && in_time(); ++turn) {
    auto pairs = guess.next(all_, ranks_a_node_, options_.seed);
    settled = pairs.empty();
    if (settled) break;
    while (!pairs.empty() && in_time()) {
      Experiment messages = between_pairs(at_once(pairs, n_, ranks_a_node_), Bytes(8), Bytes(8));
      messages.iterations = guess_messages;
      co_await measure(Stage::probe, "who is near whom", messages, false);
      guess.add(*made_);
    }
  }
  if (!settled) co_return;  // a leaf that is known in part is worse than none
  fabric_.leaf = guess.leaves();
  fabric_.guessed = !fabric_.leaf.empty();
  // Of few partners each, which are neighbours first, all may be near by chance.
  fabric_.all_alike = ranks_a_node_ == most_ranks_a_node && guess.all_alike();
  if (!fabric_.guessed) co_return;
  groups_ = fabric_.leaf;
  co_await probe();  // the one before crossed trunks wherever the order of the nodes has it
}

// Rounds that every check has. What is there in half of the runs alone is missed by two in a quarter of the
// cases; where a round is short, there is time for more.
int Planner::screening_rounds() const {
  return n_ <= all_pairs_up_to ? 6 : n_ <= 4 * all_pairs_up_to ? 4 : 3;
}

// The ends of pairs that were slow when they were measured first: either may be the culprit.
bool Planner::slow_ends(Wanted& wanted) const {
  const Inference inference = infer_now();
  const double due = inference.thresholds.warning * inference.reference.rate;
  bool any = false;
  seen_.readings.each_pair([&](int x, int y) {
    double best = 0;
    for (const Reading& r : seen_.readings.of(x, y)) best = std::max(best, r.rate);
    if (best >= due) return;
    wanted.sends[std::size_t(x)] = wanted.receives[std::size_t(y)] = 1, any = true;
  });
  return any;
}

Wanted Planner::wanted(const Inference& inference, const Parts& parts) const {
  Wanted out(n_);
  if (rounds_ < screening_rounds()) {
    (void)slow_ends(out);
    return out;
  }
  for (const int node : all_) {
    const auto i = std::size_t(node);
    out.busy[i] = !inference.lasting.empty() && inference.lasting[i].most() > 0;
    out.level[i] = inference.generation(node);
  }
  SplitMix64 draw(splitmix64(options_.seed) + std::uint64_t(seen_.cost.runs));
  for (const Suspect& s : inference.suspects) {
    if (s.type == ScopeType::sender) out.sends[std::size_t(s.node)] = 1;
    if (s.type == ScopeType::receiver || s.type == ScopeType::node) out.receives[std::size_t(s.node)] = 1;
    // Of a part of the fabric, other pairs tell more than the same again.
    const bool tells = s.type == ScopeType::path && !s.confirmed && !s.alone;
    if (!tells || parts.part_of(s.node, s.peer) || parts.may_be_at_times(s.node, s.peer)) continue;
    // Once repeated, not in every round: two that share a trunk slow one another, and it may be an end that
    // is slow at times, which others tell. Also where they do not count, beside others' traffic: more of them
    // would not either.
    if (seen_.readings.of(s.node, s.peer).size() >= 2 && draw() % 2 == 0)
      out.sends[std::size_t(s.node)] = out.receives[std::size_t(s.peer)] = 1;
    else
      out.paths.emplace_back(s.node, s.peer);
  }
  for (const auto& path : among_slow_alike(inference)) out.paths.push_back(path);
  for (const Late& late : seen_.latencies.late(fabric_, n_)) {
    if (late.peer >= 0 && !late.confirmed()) out.paths.emplace_back(late.node, late.peer);
  }
  std::erase_if(out.paths,
                [this](const auto& p) { return seen_.is_dead(p.first) || seen_.is_dead(p.second); });
  // Too little is known of either end.
  for (const auto& [x, y] : low_with_few(inference))
    out.sends[std::size_t(x)] = out.receives[std::size_t(y)] = 1;
  for (const auto& [node, direction] : unseen_while_low(inference))
    (direction == Direction::sends ? out.sends : out.receives)[std::size_t(node)] = 1;
  return out;
}

// Nodes that are slow both ways and have not met: a generation of slower NICs is as slow among itself, and
// where their ports do not say so, nothing else tells it (generations.h). Those below one leaf first.
Planner::NodePairs Planner::among_slow_alike(const Inference& inference) const {
  if (retries_ >= max_retries || knows_all(fabric_.port_rates)) return {};
  std::vector<int> slow;
  for (const int node : all_)
    if (inference.find(ScopeType::sender, node) && inference.find(ScopeType::receiver, node))
      slow.push_back(node);
  std::ranges::stable_sort(slow, {}, [&](int node) { return groups_[std::size_t(node)]; });
  NodePairs out;
  const auto met = [&](int x, int y) {
    return !seen_.readings.of(x, y).empty() || !seen_.readings.of(y, x).empty();
  };
  for (std::size_t i = 0; i + 1 < slow.size(); ++i)
    if (!met(slow[i], slow[i + 1])) out.emplace_back(slow[i], slow[i + 1]);
  return out;
}

// Pairs that read low, of ends with too few others to tell whether it is them.
Planner::NodePairs Planner::low_with_few(const Inference& inference) const {
  if (retries_ >= max_retries || any_node_proven(inference)) return {};
  NodePairs out = inconclusive_pairs(inference.rated(seen_.readings), inference, inference.thresholds);
  std::erase_if(out, [&](const auto& pair) {
    return fabric_.crosses(pair.first, pair.second) || seen_.is_dead(pair.first) ||
           seen_.is_dead(pair.second);
  });
  return out;
}

// The other sides of nodes of which one is slow at times: nobody knows what they did meanwhile.
std::vector<Side> Planner::unseen_while_low(const Inference& inference) const {
  constexpr int enough = 2;
  std::vector<Side> out;
  if (retries_ >= max_retries) return out;
  for (const Suspect& s : inference.suspects) {
    const bool side = s.type == ScopeType::sender || s.type == ScopeType::receiver;
    if (!s.confirmed || !s.unsteady || !side || s.course == Course::ended) continue;
    std::set<int> low;
    for (const Reading& r : s.readings) low.insert(r.run);
    const Side other{s.node, s.type == ScopeType::receiver ? Direction::sends : Direction::receives};
    int seen = 0;
    for (const auto& [x, y] : pairs_of(seen_.readings, other)) {
      if (fabric_.crosses(x, y)) continue;
      for (const Reading& r : seen_.readings.of(x, y)) seen += low.contains(r.run);
    }
    if (seen < enough) out.push_back(other);
  }
  return out;
}

Planner::Task Planner::large() {
  co_await probe();
  co_await guess_leaves();
  co_await between_them();
}

Planner::Task Planner::between_them() {
  co_await ports();
  co_await first_look();
  co_await settle();
  co_await cover();
  co_await last_ring();
}

// What fails at times may have carried the first few bytes well, and would take the whole budget for the
// first of the rounds below.
Planner::Task Planner::first_look() {
  const auto order = neighbour_order(all_, groups_, Wanted(n_), seen_.readings, options_.seed * 1000003);
  const Bytes hop = std::min(hop_bytes(order, 1, share_of_round * options_.budget.value),
                             Bytes(std::uint64_t(std::max(min_hop_bytes, first_seconds * typical_))));
  if (!fits(order, 1, hop)) co_return;
  const Shared shared = fabric_.leaf.empty() ? Shared::all : Shared::across;
  const Experiment moment = pairwise_over(order, 1, hop, options_.max_bytes);
  co_await measure_pairs(Stage::pairs, "every port for a moment", moment, shared);
}

// Rounds until nothing is left that may be proven or ruled out.
Planner::Task Planner::settle() {
  if (fabric_.leaf.empty()) {
    co_await settle_untold();
    co_return;
  }
  for (int last = rounds_ + max_rounds;;) {
    const Inference inference = infer_now();
    note_confirmed(inference);
    const Parts parts(fabric_, inference.rated(seen_.readings), seen_.across, inference);
    const bool any_open = is_open(inference, parts);
    auto pair = rounds_ < screening_rounds() ? std::nullopt : node_for_one_way(inference);
    // Of many nodes one at a time, in turn with what repeats all of them.
    if (after_one_way() && many_both_ways(inference) && any_open) pair.reset();
    if (pair) {
      const Bytes hop = hop_bytes({pair->partner, pair->node}, 1, 0.04 * options_.budget.value);
      if (fits({pair->partner, pair->node}, 1, hop)) {
        co_await play_one_way(*pair, hop);
        continue;
      }
    }
    const bool fleet = rounds_ > 0 && repeats_fleet(inference);
    // Those that are far slower keep the others' readings short.
    const auto slow = inference.reference.kept_short ? very_slow(inference) : std::vector<int>();
    const bool too_brief = !slow.empty() && rounds_ >= screening_rounds() && long_rounds_ < most_long_rounds;
    const bool suspected = fleet || too_brief || any_open;
    const bool little_known = !suspected && rounds_ >= screening_rounds() &&
                              (!low_with_few(inference).empty() || !unseen_while_low(inference).empty() ||
                               !among_slow_alike(inference).empty());
    const bool open = suspected || little_known;
    if (may_go_across(inference, parts, open)) {
      if (const auto round = next_across(inference)) {
        co_await all_across(*round);
        continue;
      }
    }
    const NodePairs lone = lone_paths(inference, parts);
    if (const int before = few_rounds_; !lone.empty()) {
      co_await few_at_once(lone, "paths across leaves, few at a time", 0.02 * options_.budget.value);
      ++lone_rounds_;
      if (few_rounds_ > before) continue;
    }
    const bool enough = !open && rounds_ >= screening_rounds() && !trunks_wanted(inference, parts);
    if (enough && !watches(inference)) co_return;
    const std::uint64_t seed = rounds_ == 0 ? 0 : options_.seed * 1000003 + std::uint64_t(seen_.cost.runs);
    const auto nodes = too_brief ? nodes_without(slow) : all_;
    const auto order = neighbour_order(nodes, groups_, wanted(inference, parts), seen_.readings, seed);
    const double seconds = share_of_round * options_.budget.value;
    const Bytes longest = hop_bytes(order, 1, seconds), hop = enough ? watched_bytes(longest) : longest;
    if (rounds_ >= last || !fits(order, 1, hop)) {
      if (!open || !takes_longer(inference, parts.chance_at_times())) co_return;
      last = rounds_ + max_rounds;
    }
    const std::string what = fmt::format("every port with a neighbour, round {}", rounds_ + watched_ + 1);
    const Experiment round = pairwise_over(order, 1, hop, options_.max_bytes);
    const Stage stage = open ? Stage::confirm : Stage::pairs;
    co_await measure_pairs(stage, what, round);
    seen_.fleet_repeats += fleet;
    confirm_rounds_ += open;
    retries_ += little_known;
    long_rounds_ += too_brief;
    // A hop that was slow for a moment may have kept it too short to say much.
    const bool too_short = !enough && too_shorts_ < 2 && 4 * hop.value < hop_bytes(order, 1, seconds).value;
    ++(too_short ? too_shorts_ : enough ? watched_ : rounds_);
  }
}

// All nodes with other leaves at once, some times, and more often while a leaf may be slow.
bool Planner::may_go_across(const Inference& inference, const Parts& parts, bool open) const {
  if (seen_.crossings || rounds_ < screening_rounds()) return false;
  if (across_rounds_ >= (parts.any_at_times() ? at_times::most_together : first_across)) return false;
  if (std::ranges::any_of(inference.suspects, &Suspect::confirmed)) return false;  // first things first
  // Now and then between the others: what comes and goes is not away in all of them.
  const bool others = open || watches(inference);
  if (others &&
      (across_run_ == seen_.cost.runs || splitmix64(options_.seed + std::uint64_t(seen_.cost.runs)) % 2 == 0))
    return false;
  std::map<int, int> members;
  for (const int node : all_) ++members[fabric_.leaf[std::size_t(node)]];
  const auto several = std::ranges::count_if(members, [](const auto& leaf) { return leaf.second > 1; });
  return several >= fewest_leaves_across;
}

std::optional<Experiment> Planner::next_across(const Inference& inference) const {
  const std::uint64_t seed = options_.seed * 1000003 + std::uint64_t(seen_.cost.runs);
  const auto order = across_order(nodes_without(very_slow(inference)), fabric_.leaf, seed);
  const double longest = std::min(across_seconds, share_of_round * options_.budget.value);
  const double at_most = across_slowest_ > 0 ? longest * across_slowest_ : first_seconds * typical_;
  const Bytes hop(std::uint64_t(std::max(min_hop_bytes, std::min(first_seconds * typical_, at_most))));
  if (!fits(order, 1, hop)) return std::nullopt;
  return pairwise_over(order, 1, hop, options_.max_bytes);
}

Planner::Task Planner::all_across(const Experiment& round) {
  ++across_rounds_;
  co_await measure(Stage::pairs, "every node with another leaf", round, false);
  Observation seen = *made_;
  const auto rates = hop_rates(seen);
  const double slowest = rates.empty() ? 0 : *std::ranges::min_element(rates);
  // What was very slow once may be so again.
  if (slowest > 0) across_slowest_ = across_slowest_ > 0 ? std::min(across_slowest_, slowest) : slowest;
  const auto far = seen_.latencies.far_leaves(fabric_);
  std::erase_if(seen.hops, [&](const HopReading& hop) {
    return far.contains(fabric_.leaf[std::size_t(hop.source)]) ||
           far.contains(fabric_.leaf[std::size_t(hop.destination)]);
  });
  seen_.across.add(seen, seen_.cost.runs, across_rounds_ > first_across);
  across_run_ = seen_.cost.runs;
}

// Whether something looks slow that another round may prove or clear.
bool Planner::is_open(const Inference& inference, const Parts& parts) const {
  if (rounds_ < screening_rounds()) {
    Wanted ends(n_);
    return rounds_ > 0 && slow_ends(ends);
  }
  auto late = seen_.latencies.late(fabric_, n_);
  std::erase_if(late, [this](const Late& l) {
    return seen_.is_dead(l.node) || (l.peer >= 0 && seen_.is_dead(l.peer));
  });
  // Something is proven: then what may be chance can wait.
  bool proven = !seen_.dead.empty();
  for (const Late& l : late) proven |= l.confirmed();
  bool for_good = proven;
  for (const Suspect& s : inference.suspects)
    if (s.confirmed && s.type != ScopeType::path) proven = true, for_good |= !s.unsteady;
  for (const Suspect& s : inference.suspects) {
    if (s.confirmed || s.alone || (for_good && s.unsteady && s.chance_of_it > may_wait)) continue;
    if (s.type != ScopeType::path) return true;
    if (seen_.crossings) continue;  // routed.cc has repeated it
    const FabricPart* part = parts.part_of(s.node, s.peer);
    // What stays low is worth more rounds than what read low once.
    const int worth = proven ? 0 : s.readings.size() >= 3 ? rounds_for_repeated : rounds_for_paths;
    // More of the same does not tell chance, or others' traffic, from what is slow.
    const bool may_stay = s.chance || s.beside_others;
    if (!(part && part->confirmed) && (!may_stay || rounds_ < worth)) return true;
  }
  if (!proven && (parts.any_at_times() || (parts.undecided() && rounds_ < rounds_for_repeated))) return true;
  return std::any_of(late.begin(), late.end(), [](const Late& l) { return !l.confirmed(); });
}

// All pairs, where that was asked for: each node with the next, then with the one behind that, and so on.
// Hops may meet on the trunks between leaves, so that there they may rule out and not confirm.
Planner::Task Planner::cover() {
  if (options_.path_coverage != PathCoverage::pairs) co_return;
  const std::size_t n = all_.size();
  for (int shift = 1; shift < int(n); ++shift) {
    const Bytes hop = hop_bytes(all_, shift, 1.3 * cover_seconds);
    if (elapsed() > 0.85 * options_.budget.value || !fits(all_, shift, hop)) break;
    const std::string what = fmt::format("all pairs, {} of {}", shift, n - 1);
    const Shared shared = fabric_.leaf.empty() || fabric_.spines > 0 ? Shared::all : Shared::across;
    const Experiment experiment = pairwise_over(all_, shift, hop, options_.max_bytes);
    co_await measure_pairs(Stage::cover, what, experiment, shared);
    if (all_.size() != n) break;  // a node has died, and what was measured does not go on from there
  }
  co_await settle();
}

// Whether more pairs between leaves are to be measured: of each rail so many that a spine which carries its
// share of them would most likely have been met. Each round has one pair out of each leaf.
bool Planner::trunks_wanted(const Inference& inference, const Parts& parts) const {
  if (options_.path_coverage == PathCoverage::ports || fabric_.spines < 1) return false;
  if (elapsed() > 0.6 * options_.budget.value) return false;
  const auto& fabric = parts.fabric();
  if (any_node_proven(inference) ||
      std::any_of(fabric.begin(), fabric.end(), [](const auto& part) { return part.confirmed; }))
    return false;  // first things first
  return crossings_measured() < spine_met * fabric_.spines;
}

double Planner::crossings_measured() const {
  double pairs = 0, rails = 1;
  seen_.readings.each_pair([&](int x, int y) {
    if (fabric_.leaf[std::size_t(x)] == fabric_.leaf[std::size_t(y)]) return;
    const auto list = seen_.readings.counting(x, y);
    pairs += !list.empty();
    if (!list.empty()) rails = std::max(rails, double(list[0].rails.size()));
  });
  return pairs * rails;
}

// For busbw as it is now; what is slow is known by then.
Planner::Task Planner::last_ring() {
  const Bytes hop = hop_bytes(all_, 1, 0.04 * options_.budget.value);
  if ((seen_.cost.runs - across_rounds_ - watched_ >= economical && looked_again_ == 0) ||
      !fits(all_, 1, hop))
    co_return;
  // Leaf by leaf, so that it crosses as few trunks as may be.
  const auto order = neighbour_order(all_, groups_, Wanted(n_), seen_.readings, 0);
  const Experiment ring = ring_over(order, hop, options_.max_bytes);
  co_await measure(Stage::ring, "a ring over all nodes", ring);
  note_ring(*made_);
  co_await look_again();
}

// Where that ring was slower than any link explains, a link may have been slow for that moment.
Planner::Task Planner::look_again() {
  const Inference inference = infer_now();
  const bool slow =
      inference.suspects.empty() && seen_.others.empty() &&
      slow_ring(seen_, standards_.declared(), inference.slowest_generation() * inference.reference.rate,
                inference.thresholds);
  if (!slow || looked_again_ == looks) co_return;
  ++looked_again_;
  for (int round = 0; round < rounds_of_a_look; ++round) {
    const std::uint64_t seed = options_.seed * 1000003 + std::uint64_t(seen_.cost.runs);
    const auto order = neighbour_order(all_, groups_, Wanted(n_), seen_.readings, seed);
    const Bytes hop = hop_bytes(order, 1, share_of_round * options_.budget.value);
    if (!fits(order, 1, hop)) co_return;
    const Shared shared = fabric_.leaf.empty() ? Shared::all : Shared::none;
    const Experiment experiment = pairwise_over(order, 1, hop, options_.max_bytes);
    co_await measure_pairs(Stage::confirm, "every port again, as the ring was slow", experiment, shared);
  }
  co_await settle();
  co_await last_ring();
}

}  // namespace ringtrue::diagnosis
