#include "diagnosis/plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/clock.h"
#include "base/statistics.h"
#include "diagnosis/counters.h"
#include "diagnosis/infer/at_times.h"
#include "diagnosis/infer/generations.h"
#include "diagnosis/infer/loss.h"

namespace ringtrue::diagnosis {
namespace {

constexpr std::size_t max_dead = 8;  // nodes that a check goes on without
// Of the budget, at least, where nothing is proven: of many nodes one is the likelier to be slow at times.
constexpr double watch_share = 0.1875, watch_share_of_many = 0.375;

}  // namespace

Planner::Planner(Evidence& evidence, Structure told, const Options& options, int ranks_a_node)
    : seen_(evidence),
      fabric_(std::move(told)),
      options_(options),
      n_(int(evidence.names.size())),
      ranks_a_node_(ranks_a_node),
      standards_(standards_of(options)) {
  if (fabric_.leaf.size() != std::size_t(n_)) {
    Structure unknown;
    unknown.port_rates = std::move(fabric_.port_rates);
    unknown.one_machine = fabric_.one_machine;
    fabric_ = std::move(unknown);
  }
  if (fabric_.port_rates.size() != std::size_t(n_)) fabric_.port_rates.clear();
  if (fabric_.routes && fabric_.routes->nodes() != n_) fabric_.routes = nullptr;
  if (fabric_.routes && between_neighbours(fabric_, n_))
    seen_.routes = fabric_.routes, seen_.crossings.emplace(*seen_.routes);
  groups_ = groups_of(fabric_, n_);
  all_.resize(std::size_t(n_));
  std::iota(all_.begin(), all_.end(), 0);
  std::vector<std::string> names;
  for (const int node : options.left_out) {
    std::erase(all_, node);
    seen_.dead.push_back({node, {}, {}, true});
    names.push_back(seen_.names[std::size_t(node)]);
  }
  proven_dead_ = seen_.dead.size();
  if (!names.empty()) seen_.not_checked.push_back({StatementKind::left_out_blocked, {}, {{"names", names}}});
  start_ = elapsed();  // start_ is 0 here
}

double Planner::elapsed() const {
  const double now = options_.clock ? options_.clock().value : double(now_ns()) * 1e-9;
  return now - start_;
}

const Step* Planner::next() {
  while (!step_) {
    if (waiting_) {
      std::exchange(waiting_, nullptr).resume();
      continue;
    }
    // What was under way is over, or waits for nothing any more.
    switch (tasks_begun_++) {
      case 0:
        task_ = main();
        break;
      case 1:
        task_ = settle_losses();
        break;
      case 2:
        task_ = settle_dead();
        break;
      default:
        task_ = {};
        seen_.cost.seconds = Seconds(elapsed());
        seen_.cost.budget = options_.budget;
        if (seen_.error)
          seen_.dead.erase(seen_.dead.begin() + std::ptrdiff_t(std::min(proven_dead_, seen_.dead.size())),
                           seen_.dead.end());
        return nullptr;
    }
    task_.start();
  }
  return &*step_;
}

void Planner::answer(Observation observation) {
  made_ = std::move(observation);
  step_.reset();
}

void Planner::failed(const Error& error, bool can_go_on) {
  made_.reset();
  failure_ = error;
  can_go_on_ = can_go_on;
  step_.reset();
}

// Each stage goes on from what the one before has shown; one that fails ends the check.
Planner::Task Planner::main() {
  if (all_.size() < 2 || n_ < 2) co_return;
  if (seen_.crossings) {
    co_await routed();
  } else if (between_neighbours(fabric_, n_)) {
    co_await large();
  } else {
    co_await small();
  }
}

bool Planner::any_node_proven(const Inference& inference) const {
  return !seen_.dead.empty() || std::ranges::any_of(inference.suspects, [](const Suspect& s) {
    return s.confirmed && s.type != ScopeType::path;
  });
}

bool Planner::repeats_fleet(const Inference& inference) const {
  constexpr int most = 2, most_of_a_part = 4;
  if (inference.reference.fleet_slow) return seen_.fleet_repeats < most;
  return seen_.fleet_repeats < most_of_a_part &&
         below_declared(inference.generations, inference.reference.rate, standards_.attainable(),
                        inference.thresholds.warning, fabric_.port_rates) &&
         !are_shown(inference.generations, seen_.readings);
}

bool Planner::watches(const Inference& inference) const {
  if (seen_.crossings)
    return false;  // every trunk was met some times, which is enough for what is always there
  const double share = n_ <= all_pairs_up_to ? watch_share : watch_share_of_many;
  return elapsed() < share * options_.budget.value && !any_node_proven(inference);
}

Bytes Planner::watched_bytes(Bytes hop) const {
  const double least = std::max(std::min(target_bytes, longest_target_seconds * typical_), min_hop_bytes);
  return std::min(hop, Bytes(std::uint64_t(std::max(watch_seconds * typical_, least))));
}

// Where packets get lost and it is open whose, every pair says more of it.
Planner::Task Planner::settle_losses() {
  constexpr int max_rounds = 4;
  constexpr double worth_it = 10 * loss_warning;
  const int n = int(all_.size());
  for (int round = 0; round < max_rounds && n > 2 && !seen_.error; ++round) {
    const Lost all = seen_.losses.all();
    if (all.lost < min_losses || all.share() < worth_it) co_return;
    const auto culprit = seen_.losses.culprit();
    if (culprit && !culprit->alternative) co_return;
    const auto slow = [&](const Scope& scope) {
      return pace(scope, seen_, infer_now()).share() < standards_.thresholds.warning;
    };
    if (seen_.rails.empty() && !(culprit && slow(culprit->scope))) co_return;
    if (int(all_.size()) != n) co_return;  // a node has died
    const int shift = 1 + round % (n - 1);
    const Bytes hop = hop_bytes(all_, shift, 0.05 * options_.budget.value);
    if (!fits(all_, shift, hop)) co_return;
    const Experiment experiment = exchange(all_, shift, hop);
    co_await measure_pairs(Stage::confirm, "where packets get lost", experiment, Shared::across);
  }
}

bool Planner::known(const SlowestHop& slowest) const {
  return !seen_.readings.of(slowest.source, slowest.destination).empty();
}

// What would be found if the check ended here.
void Planner::note_confirmed(const Inference& inference) {
  const Diagnosis now = found_so_far(seen_, fabric_, standards_, inference);
  seen_.time_to_detect.note(now.findings, seen_.cost.runs);
  if (!options_.on_suspects) return;
  std::vector<Candidate> candidates;
  for (const Finding& f : now.findings)
    if (f.severity != Severity::info) candidates.push_back({f.scope, f.confidence, true});
  const auto name = [&](int node) { return node < 0 ? std::string() : now.nodes[std::size_t(node)]; };
  for (const Suspect& s : inference.suspects) {
    if (s.confirmed) continue;
    candidates.push_back({{s.type, s.node, s.peer, {name(s.node)}, name(s.peer)}, prominence(s), false});
  }
  options_.on_suspects(candidates);
}

// Every port has to meet several others with enough bytes, and what is slow repeats.
void Planner::fit_budget() {
  constexpr int repeats = 12, between_neighbours_first = 4;
  constexpr double slowest_share = 0.25;  // what is slower is soon told
  const int rounds = repeats + (between_neighbours(fabric_, n_) ? between_neighbours_first
                                                                : std::min(n_ - 1, all_pairs_up_to));
  const double reading = stretch_ * min_hop_bytes / std::max({slowest_, slowest_share * typical_, 1.0});
  const double needed = rounds * (overhead_ + reading);
  options_.budget = Seconds(std::clamp(needed, options_.budget.value,
                                       std::max(options_.budget.value, options_.budget_at_most.value)));
  if (options_.on_budget) options_.on_budget(options_.budget, Seconds(reading));
}

bool Planner::takes_longer(const Inference& inference, double chance_of_leaves) {
  constexpr double worth_longer = 1, worth_longer_of_more = 0.01;  // such sides expected of chance
  // It has taken time that the others are in want of. With the usual 16 s that makes 18 s: what begins and
  // ends the command takes up to 2 s more on a slow machine, and 20 s is what a check with a dead node may
  // take.
  constexpr double as_long_with_a_dead_node = 1.125;
  const auto& suspects = inference.suspects;
  const bool proven = !seen_.dead.empty() || std::ranges::any_of(suspects, &Suspect::confirmed);
  // Once something is proven, only what may be more of the same: the other side of a node that is slow at
  // times both ways is so about as often, and one that acknowledgements slow is so more seldom.
  const auto of_proven = [&](const Suspect& s) {
    return std::ranges::any_of(suspects, [&](const Suspect& other) {
      const bool as_often = !s.unsteady || 2 * s.low_share >= other.low_share;
      return other.confirmed && as_often && (other.node == s.node || other.peer == s.node);
    });
  };
  // What is slow for good disturbs its node's other side now and then, for as long as anybody looks; it is
  // worth more time where another node looks slow for good, too.
  const auto is_steady = [](const Suspect& s) { return s.confirmed && !s.unsteady; };
  const bool steady = std::ranges::any_of(suspects, is_steady);
  if (!seen_.dead.empty() && another_is_slow(inference)) return make_longer(as_long_with_a_dead_node);
  if (steady)
    return n_ > few_nodes && (another_is_slow(inference) || other_side_is_slow(inference)) && make_longer();
  const auto may_tell = [&](const Suspect& s) {
    if (s.confirmed || s.alone || s.beside_others) return false;
    if (proven && !of_proven(s)) return false;
    if (!s.unsteady) return !s.chance;
    const bool deep = s.ratio < very_slow_share;  // which noise is not
    if (proven) return s.chance_of_it < worth_longer_of_more && s.low_share >= at_times::least_share;
    return deep || s.chance_of_it < worth_longer;
  };
  const bool open = (chance_of_leaves < worth_longer && !proven) || std::ranges::any_of(suspects, may_tell);
  return open && make_longer();
}

bool Planner::another_is_slow(const Inference& inference) const {
  std::set<int> proven, open;
  for (const Suspect& s : inference.suspects) {
    if (s.peer >= 0 || s.unsteady) continue;
    if (s.confirmed)
      proven.insert(s.node);
    else if (!s.chance && !s.alone && !s.beside_others && s.ratio < inference.thresholds.critical)
      open.insert(s.node);
  }
  // Too few may have met one until then: no suspect yet.
  const double low = inference.thresholds.critical * inference.reference.rate;
  if (n_ <= few_nodes)
    for (const int node : all_)
      for (const auto* sides : {&inference.sends, &inference.receives})
        if (const auto& side = (*sides)[std::size_t(node)]; side && *side < low) open.insert(node);
  std::erase_if(open, [&](int node) { return proven.contains(node); });
  return !open.empty();
}

// Of a node that is proven, which is so both ways, it seems.
bool Planner::other_side_is_slow(const Inference& inference) const {
  return std::ranges::any_of(inference.suspects, [&](const Suspect& s) {
    const bool side = s.type == ScopeType::sender || s.type == ScopeType::receiver;
    if (!side || s.confirmed || s.unsteady || s.chance || s.beside_others) return false;
    if (s.ratio >= inference.thresholds.critical) return false;
    const Suspect* other =
        inference.find(s.type == ScopeType::sender ? ScopeType::receiver : ScopeType::sender, s.node);
    return other && other->confirmed;
  });
}

bool Planner::make_longer(double times) {
  const double longer = std::min(times * options_.budget.value, options_.budget_at_most.value);
  if (longer <= options_.budget.value) return false;
  options_.budget = Seconds(longer);
  if (options_.on_budget) options_.on_budget(options_.budget, std::nullopt);
  return true;
}

// Where the error names a node that does not answer, the rest go on without it. Only then is it proven that
// the node is the reason, unless nobody is left to go on.
Planner::Task Planner::measure(Stage stage, std::string_view what, const Experiment& asked,
                               bool losses_tell) {
  Step step{stage, std::string(what), asked, losses_tell};
  const std::size_t dead_before = seen_.dead.size();
  std::optional<Error> first;  // of several nodes that died one after the other
  for (;;) {
    if (options_.cancelled && options_.cancelled()) {
      seen_.error = Error{Cause::cancelled, "the check was stopped", key_of(stage), {}};
      break;
    }
    if (options_.on_progress)
      options_.on_progress(stage, step.what, std::clamp(elapsed() / options_.budget.value, 0.0, 1.0));
    const double before = elapsed();
    step_ = step;
    co_await Suspended{waiting_};
    ++seen_.cost.runs;
    if (made_) {
      note_time(made_->time.value * step.experiment.iterations, elapsed() - before);
      proven_dead_ = seen_.dead.size();
      seen_.add(step, *made_);
      co_return;
    }
    if (!leave_out(*failure_, step.experiment)) {
      seen_.error = first ? *first : *failure_;
      break;
    }
    const bool omnireduce = step.experiment.algorithm == collective::AlgorithmId::omnireduce;
    if (step.experiment.order.size() < 2 || omnireduce) {
      if (all_.size() < 2) {
        if (first) seen_.error = *first;
        break;
      }
      // A test of two nodes of more, or one whose shares are dealt by node: what comes next goes on without
      // it.
      made_ = Observation{};
      made_->experiment = std::move(step.experiment);
      co_return;
    }
    if (!first) first = *failure_;
  }
  if (first) seen_.dead.erase(seen_.dead.begin() + std::ptrdiff_t(dead_before), seen_.dead.end());
  co_await Ended{};
}

bool Planner::leave_out(const Error& error, Experiment& experiment) {
  const auto named = std::find_if(experiment.order.begin(), experiment.order.end(), [&](int node) {
    return seen_.names[std::size_t(node)] == error.where.node;
  });
  const bool silent =
      error.cause == Cause::unreachable || error.cause == Cause::peer_lost || error.cause == Cause::stopping;
  if (!silent || !can_go_on_ || named == experiment.order.end() ||
      seen_.dead.size() >= max_dead + options_.left_out.size())
    return false;
  const int node = *named;
  std::erase(experiment.order, node);
  std::erase(all_, node);
  DeadNode dead{node, error};
  for (const RunRecord& run : seen_.runs) {
    const auto& order = run.experiment.order;
    if (std::find(order.begin(), order.end(), node) != order.end()) dead.last_run = run.stage;
  }
  seen_.dead.push_back(std::move(dead));
  if (experiment.order.size() > 1)
    experiment.shift = std::max(experiment.shift % int(experiment.order.size()), 1);
  return true;
}

// Nobody is dead for an error alone: it may be this side that reaches nobody. So those who are left show that
// they go on.
Planner::Task Planner::settle_dead() {
  if (!seen_.error && seen_.dead.size() > proven_dead_ && all_.size() >= 2) {
    const Experiment ring = ring_over(all_, Bytes(std::uint64_t(min_call_bytes)), options_.max_bytes);
    co_await measure(Stage::ring, "a short ring of those that are left", ring);
  }
}

// Short experiments tell what one takes beside its transfer, long ones how often the transfer is made.
void Planner::note_time(double transfer, double wall) {
  if (transfer < 0.1) overhead_ = 0.7 * overhead_ + 0.3 * std::max(0.0, wall - stretch_ * transfer);
  if (transfer > 0.2) stretch_ = 0.5 * stretch_ + 0.5 * std::clamp((wall - overhead_) / transfer, 1.0, 4.0);
}

// Whether what the nodes below its ends' leaves carry for others may be what a hop lacks: it crosses the same
// trunks.
bool Planner::beside_others_on_trunks(const HopReading& hop, const Observation& observation) const {
  if (!fabric_.crosses(hop.source, hop.destination)) return false;
  const auto leaf = [&](int node) { return fabric_.leaf[std::size_t(node)]; };
  double others = 0;
  for (const auto& [node, traffic] : observation.others) {
    if (leaf(node) == leaf(hop.source)) others += traffic.sends_at_most();
    if (leaf(node) == leaf(hop.destination)) others += traffic.receives_at_most();
  }
  const double rate = hop.rate().value_or(0);
  Reading reading;
  reading.rate = rate;
  return reading.is_beside(others) && rate + others >= standards_.thresholds.path * typical_;
}

Planner::Task Planner::measure_pairs(Stage stage, std::string_view what, const Experiment& experiment,
                                     Shared shared) {
  co_await measure(stage, what, experiment);
  const Observation& made = *made_;
  if (seen_.crossings) {
    note_crossings(made, stage == Stage::confirm, screening_);
  } else {
    seen_.readings.add(made, seen_.cost.runs, stage == Stage::confirm, [&](const HopReading& hop) {
      return shared == Shared::all ||
             (shared == Shared::across && fabric_.crosses(hop.source, hop.destination)) ||
             beside_others_on_trunks(hop, made);
    });
  }
  for (const HopReading& hop : made.hops) {
    if (hop.source < 0 || hop.source >= n_ || hop.destination < 0 || hop.destination >= n_) continue;
    ++counts_[{hop.source, hop.destination}];
  }
  typical_ = std::max(typical_, upper_median(hop_rates(made)));
}

// --- sizes ---------------------------------------------------------------------------------------------

double Planner::slowest_of(const std::vector<int>& order, int shift) const {
  // Of two nodes alone, ever: what comes and goes may take the time of many runs.
  const int lately = order.size() > 2 ? 4 : seen_.cost.runs;
  double slowest = typical_;
  std::vector<double> sends(std::size_t(n_), 0), receives(std::size_t(n_), 0);
  seen_.readings.each_pair([&](int x, int y) {
    double best = seen_.readings.best(x, y).value_or(0);
    if (best <= 0)  // held back: no less slow for that
      for (const Reading& r : seen_.readings.of(x, y)) best = std::max(best, r.rate);
    sends[std::size_t(x)] = std::max(sends[std::size_t(x)], best);
    receives[std::size_t(y)] = std::max(receives[std::size_t(y)], best);
  });
  // What was very slow lately, and can do better, may be so again: the next ones are short.
  const double very_slow = very_slow_share * typical_;
  std::vector<double> lately_sent(sends.size(), typical_), lately_received(sends.size(), typical_);
  seen_.readings.each_pair([&](int x, int y) {
    double &sent = lately_sent[std::size_t(x)], &received = lately_received[std::size_t(y)];
    if (sends[std::size_t(x)] < very_slow || receives[std::size_t(y)] < very_slow) return;
    for (const Reading& r : seen_.readings.of(x, y))
      if (r.run + lately >= seen_.cost.runs && r.rate < very_slow)
        sent = std::min(sent, r.rate), received = std::min(received, r.rate);
  });
  const std::size_t n = order.size();
  for (std::size_t i = 0; i < n; ++i) {
    const int x = order[i], y = order[(i + std::size_t(shift)) % n];
    slowest = std::min({slowest, lately_sent[std::size_t(x)], lately_received[std::size_t(y)]});
    if (const auto best = seen_.readings.best(x, y)) {
      slowest = std::min(slowest, *best);
    } else if (seen_.readings.pairs_measured() == 0) {
      slowest = std::min(slowest, slowest_);  // the ring's slow hop may be any of these
    } else {
      // Not measured yet, but its ends may have been: assume no better than the worse of them.
      for (const double limit : {sends[std::size_t(x)], receives[std::size_t(y)]})
        if (limit > 0) slowest = std::min(slowest, limit);
    }
  }
  return std::max(slowest, 1.0);
}

double Planner::wanted_bytes() const {
  return std::max(std::clamp(target_bytes, target_seconds * typical_, longest_target_seconds * typical_),
                  min_hop_bytes);
}

Bytes Planner::hop_bytes(const std::vector<int>& order, int shift, double seconds) const {
  const double slowest = slowest_of(order, shift);
  const double wanted = wanted_bytes();
  const double min_bytes = std::clamp(0.3 * slowest, min_call_bytes, 2e6);
  return Bytes(std::uint64_t(std::min(wanted, std::max(min_bytes, slowest * seconds / stretch_))));
}

bool Planner::fits(const std::vector<int>& order, int shift, Bytes hop) const {
  return overhead_ + 1.2 * stretch_ * double(hop.value) / slowest_of(order, shift) <= left();
}

}  // namespace ringtrue::diagnosis
