#include "diagnosis/plan/examination.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/clock.h"
#include "base/statistics.h"
#include "diagnosis/counters.h"
#include "diagnosis/infer/loss.h"

namespace ringtrue::diagnosis {
namespace {

constexpr std::size_t max_dead = 8;     // nodes that a check goes on without
constexpr double watch_share = 0.1875;  // of the budget, at least, where nothing is proven

}  // namespace

Diagnosis run_check(Measurer& measurer, const Options& options) {
  return Examination(measurer, options).run();
}

Examination::Examination(Measurer& measurer, const Options& options)
    : measurer_(measurer),
      options_(options),
      n_(std::max(0, measurer.nodes())),
      readings_(n_),
      alone_(n_),
      across_(n_),
      losses_(options.segment) {
  thresholds_.warning = options.warning;
  thresholds_.critical = options.critical;
  thresholds_.path = std::min(thresholds_.path, options.warning);
  structure_ = measurer.structure();
  if (structure_.leaf.size() != std::size_t(n_)) {
    Structure unknown;
    unknown.port_rates = std::move(structure_.port_rates);
    structure_ = std::move(unknown);
  }
  if (structure_.port_rates.size() != std::size_t(n_)) structure_.port_rates.clear();
  if (structure_.routes && structure_.routes->nodes() != n_) structure_.routes = nullptr;
  if (structure_.routes && between_neighbours(structure_, n_)) crossings_.emplace(*structure_.routes);
  groups_ = groups_of(structure_, n_);
  all_.resize(std::size_t(n_));
  std::iota(all_.begin(), all_.end(), 0);
  for (int i = 0; i < n_; ++i) out_.nodes.push_back(measurer.name(i));
  std::vector<std::string> names;
  for (const int node : options.left_out) {
    std::erase(all_, node);
    dead_.push_back({node, {}, {}, true});
    names.push_back(measurer.name(node));
  }
  proven_dead_ = dead_.size();
  if (!names.empty()) out_.not_checked.push_back({StatementKind::left_out_blocked, {}, {{"names", names}}});
  if (options.link_rate) {
    const ideal::Efficiency efficiency = options.efficiency ? *options.efficiency : *ideal::ethernet_tcp();
    attainable_ = options.link_rate->value * efficiency.share;
    out_.expected = {
        BytesPerSecond(*attainable_), ideal::Origin::declared,
        fmt::format("link rate {} x {:.1f} % ({}) = {}", to_text(*options.link_rate), efficiency.share * 100,
                    efficiency.source, to_text(BytesPerSecond(*attainable_)))};
  }
}

double Examination::elapsed() const {
  const double now = options_.clock ? options_.clock().value : double(now_ns()) * 1e-9;
  return now - start_;
}

Diagnosis Examination::run() {
  start_ = elapsed();  // start_ is 0 here
  if (n_ < 2) {
    out_.not_checked.push_back({StatementKind::no_wire, {}, {{"members", n_}}});
  } else if (all_.size() > 1) {
    // Each stage goes on from what the one before has shown; one that fails ends the check.
    (void)(crossings_ ? routed() : between_neighbours(structure_, n_) ? large() : small());
  }
  if (!out_.error) settle_losses();
  settle_dead();
  if (crossings_ && !out_.error) forget_changed_ways();
  const Inference inference = infer_now();
  set_expected(inference);
  if (n_ == 2 && !options_.link_rate && !out_.error) {
    out_.not_checked.push_back(StatementKind::alike_directions);
  }
  if (slowest_hop_ && slowest_hop_->rate < 0.8 * slowest_hop_->typical && !known(*slowest_hop_)) {
    out_.not_checked.push_back(
        {StatementKind::seen_once,
         {out_.nodes[std::size_t(slowest_hop_->source)], out_.nodes[std::size_t(slowest_hop_->destination)]},
         {{"rate_Bps", slowest_hop_->rate}, {"typical_Bps", slowest_hop_->typical}}});
  }
  for (const PortReading& port : ports_) {
    const auto& side = port.receives ? inference.receives : inference.sends;
    if (port.rate >= very_slow_share * port.typical || side[std::size_t(port.node)]) continue;
    out_.not_checked.push_back(
        {StatementKind::port_seen_once,
         {out_.nodes[std::size_t(port.node)]},
         {{"receives", port.receives}, {"rate_Bps", port.rate}, {"typical_Bps", port.typical}}});
  }
  out_.cost.seconds = Seconds(elapsed());
  out_.cost.budget = options_.budget;
  conclude(measured(inference), out_);
  if (crossings_) add_trunks(inference, out_);
  add_losses(
      losses_, out_.counters, out_.rails, [&](const Scope& s) { return pace(s, inference); },
      inference.thresholds, out_);
  time_to_detect_.tell(out_.findings, out_.cost.runs);
  out_.plans = advise(out_);
  join_counters(out_.counters, out_.rails, "during the check", out_.findings);
  if (out_.coverage.pairs_measured < out_.coverage.pairs && n_ >= 2) {
    out_.not_checked.push_back(
        {StatementKind::single_paths,
         {},
         {{"pairs_measured", out_.coverage.pairs_measured}, {"pairs", out_.coverage.pairs}}});
  }
  return std::move(out_);
}

Pace Examination::pace(const Scope& scope, const Inference& inference) const {
  std::vector<double> rates;
  readings_.each_pair([&](int x, int y) {
    if (!covers(scope, x, y)) return;
    for (const Reading& r : readings_.of(x, y)) rates.push_back(r.rate);
  });
  if (rates.empty()) return {};
  const auto quarter = rates.begin() + std::ptrdiff_t(rates.size() / 4);
  std::nth_element(rates.begin(), quarter, rates.end(), std::greater<>());
  return {*quarter, inference.reference.rate};
}

bool Examination::any_node_proven(const Inference& inference) const {
  return !dead_.empty() || std::ranges::any_of(inference.suspects, [](const Suspect& s) {
    return s.confirmed && s.type != ScopeType::path;
  });
}

bool Examination::watches(const Inference& inference) const {
  if (crossings_) return false;  // every trunk was met some times, which is enough for what is always there
  return elapsed() < watch_share * options_.budget.value && !any_node_proven(inference);
}

Bytes Examination::watched_bytes(Bytes hop) const {
  const double least = std::max(std::min(target_bytes, longest_target_seconds * typical_), min_hop_bytes);
  return std::min(hop, Bytes(std::uint64_t(std::max(watch_seconds * typical_, least))));
}

// Where packets get lost and it is open whose, every pair says more of it.
void Examination::settle_losses() {
  constexpr int max_rounds = 4;
  constexpr double worth_it = 10 * loss_warning;
  const int n = int(all_.size());
  for (int round = 0; round < max_rounds && n > 2; ++round) {
    const Lost all = losses_.all();
    if (all.lost < min_losses || all.share() < worth_it) return;
    const auto culprit = losses_.culprit();
    if (culprit && !culprit->alternative) return;
    if (out_.rails.empty() && !(culprit && pace(culprit->scope, infer_now()).share() < thresholds_.warning))
      return;
    if (int(all_.size()) != n) return;  // a node has died
    const int shift = 1 + round % (n - 1);
    const Bytes hop = hop_bytes(all_, shift, 0.05 * options_.budget.value);
    if (!fits(all_, shift, hop) ||
        !measure_pairs(Stage::confirm, "where packets get lost", exchange(all_, shift, hop), Shared::across))
      return;
  }
}

bool Examination::known(const SlowestHop& slowest) const {
  return !readings_.of(slowest.source, slowest.destination).empty();
}

Inference Examination::infer_now() const {
  std::optional<double> nominal;
  if (options_.link_rate) nominal = options_.link_rate->value;
  Inference inference = infer(readings_, alone_, attainable_, nominal, thresholds_, structure_);
  // What was slow about a node that has died since is no matter any more, and cannot be measured again.
  std::erase_if(inference.suspects,
                [&](const Suspect& s) { return is_dead(s.node) || (s.peer >= 0 && is_dead(s.peer)); });
  return inference;
}

Measured Examination::measured(const Inference& inference) const {
  return {inference.rated(readings_),
          readings_,
          across_,
          inference,
          inference.thresholds,
          slowest_hop_,
          ports_,
          fleet_repeats_,
          structure_,
          latencies_.late(structure_, n_),
          latencies_.usual(),
          dead_,
          others_,
          options_.segment};
}

// What would be found if the check ended here.
void Examination::note_confirmed(const Inference& inference) {
  Diagnosis now;
  now.nodes = out_.nodes;
  now.rails = out_.rails;
  now.ring_busbw = out_.ring_busbw;
  conclude(measured(inference), now);
  if (crossings_) add_trunks(inference, now);
  time_to_detect_.note(now.findings, out_.cost.runs);
  if (!options_.on_suspects) return;
  std::vector<Candidate> candidates;
  for (const Finding& f : now.findings) candidates.push_back({f.scope, f.confidence, true});
  const auto name = [&](int node) { return node < 0 ? std::string() : now.nodes[std::size_t(node)]; };
  for (const Suspect& s : inference.suspects) {
    if (s.confirmed) continue;
    candidates.push_back({{s.type, s.node, s.peer, {name(s.node)}, name(s.peer)}, confidence(s), false});
  }
  options_.on_suspects(candidates);
}

// Every port has to meet several others with enough bytes, and what is slow repeats.
void Examination::fit_budget() {
  constexpr int repeats = 12, between_neighbours_first = 4;
  constexpr double slowest_share = 0.25;  // what is slower is soon told
  const int rounds = repeats + (between_neighbours(structure_, n_) ? between_neighbours_first
                                                                   : std::min(n_ - 1, all_pairs_up_to));
  const double reading = stretch_ * min_hop_bytes / std::max({slowest_, slowest_share * typical_, 1.0});
  const double needed = rounds * (overhead_ + reading);
  options_.budget = Seconds(std::clamp(needed, options_.budget.value,
                                       std::max(options_.budget.value, options_.budget_at_most.value)));
  if (options_.on_budget) options_.on_budget(options_.budget, Seconds(reading));
}

bool Examination::takes_longer(const Inference& inference, double chance_of_leaves) {
  constexpr double times = 2, worth_longer = 1, worth_longer_of_more = 0.01;  // such sides expected of chance
  const auto& suspects = inference.suspects;
  const bool proven = !dead_.empty() || std::ranges::any_of(suspects, &Suspect::confirmed);
  // Once something is proven, only what may be more of the same.
  const auto of_proven = [&](const Suspect& s) {
    return std::ranges::any_of(suspects, [&](const Suspect& other) {
      return other.confirmed && (other.node == s.node || other.peer == s.node);
    });
  };
  // What is slow for good disturbs its node's other side now and then, for as long as anybody looks.
  if (std::ranges::any_of(suspects, [](const Suspect& s) { return s.confirmed && !s.unsteady; }))
    return false;
  const auto may_tell = [&](const Suspect& s) {
    if (s.confirmed || s.alone || s.beside_others) return false;
    if (proven && !of_proven(s)) return false;
    if (!s.unsteady) return !s.chance;
    const bool deep = s.ratio < very_slow_share;  // which noise is not
    return proven ? s.chance_of_it < worth_longer_of_more : deep || s.chance_of_it < worth_longer;
  };
  const double longer = std::min(times * options_.budget.value, options_.budget_at_most.value);
  const bool open = (chance_of_leaves < worth_longer && !proven) || std::ranges::any_of(suspects, may_tell);
  if (longer <= options_.budget.value || !open) return false;
  options_.budget = Seconds(longer);
  if (options_.on_budget) options_.on_budget(options_.budget, std::nullopt);
  return true;
}

void Examination::set_expected(const Inference& inference) {
  const Reference& r = inference.reference;
  if (r.rate <= 0) return;
  if (attainable_) {
    if (r.rate != *attainable_) out_.expected.of_most = BytesPerSecond(r.rate);
    return;
  }
  out_.expected = {BytesPerSecond(r.rate), ideal::Origin::fleet_majority,
                   n_ == 2 ? std::string("the faster of the two directions")
                           : fmt::format("upper median of what {} nodes send and receive at their best", n_)};
}

std::optional<Observation> Examination::measure(Stage stage, const std::string& what,
                                                const Experiment& experiment, bool losses_tell) {
  if (options_.cancelled && options_.cancelled()) {
    out_.error = Error{Cause::cancelled, "the check was stopped", key_of(stage), {}};
    return std::nullopt;
  }
  if (options_.on_progress) {
    options_.on_progress(stage, what, std::clamp(elapsed() / options_.budget.value, 0.0, 1.0));
  }
  const double before = elapsed();
  auto observation = measurer_.measure(experiment);
  ++out_.cost.runs;
  if (!observation) return without_the_dead(observation.error(), stage, what, experiment);
  proven_dead_ = dead_.size();
  const double wall = elapsed() - before;
  const double transfer = observation->time.value * experiment.iterations;
  // Short experiments tell the overhead, long ones how often the transfer is made.
  if (transfer < 0.1) overhead_ = 0.7 * overhead_ + 0.3 * std::max(0.0, wall - stretch_ * transfer);
  if (transfer > 0.2) stretch_ = 0.5 * stretch_ + 0.5 * std::clamp((wall - overhead_) / transfer, 1.0, 4.0);
  for (const HopReading& hop : observation->hops) out_.cost.bytes += hop.bytes;
  latencies_.add(*observation, out_.cost.runs);
  add(observation->counters, out_.counters);
  for (const auto& [node, ports] : observation->rails) out_.rails.try_emplace(node, ports);
  if (losses_tell) losses_.add(*observation, out_.nodes, out_.cost.runs);
  note_others(*observation);
  RunRecord record{stage, experiment, observation->time, std::nullopt, {}};
  const bool omnireduce = experiment.algorithm == collective::AlgorithmId::omnireduce;
  if ((experiment.algorithm == collective::AlgorithmId::ring || omnireduce) && observation->time.value > 0) {
    const double n = omnireduce ? experiment.workers : double(experiment.order.size());
    record.busbw = BytesPerSecond(2 * (n - 1) / n * (experiment.bytes / observation->time).value);
  }
  if (omnireduce) record.ports = port_readings(*observation);
  out_.runs.push_back(std::move(record));
  return *observation;
}

// Of each node the most that it carried for others, where that is so much that a reading says less.
void Examination::note_others(const Observation& observation) {
  for (const HopReading& hop : observation.hops) {
    Reading r;
    r.rate = hop.rate().value_or(0);
    for (const bool sends : {true, false}) {
      const auto at = observation.others.find(sends ? hop.source : hop.destination);
      if (at == observation.others.end()) continue;
      const double rate = sends ? at->second.sends : at->second.receives;
      if (!r.is_beside(rate)) continue;
      double& most = sends ? others_[at->first].sends : others_[at->first].receives;
      most = std::max(most, rate);
    }
  }
}

bool Examination::is_dead(int node) const {
  return std::any_of(dead_.begin(), dead_.end(), [&](const DeadNode& dead) { return dead.node == node; });
}

// Nobody is dead for an error alone: it may be this side that reaches nobody.
void Examination::settle_dead() {
  if (!out_.error && dead_.size() > proven_dead_ && all_.size() >= 2)
    (void)measure(Stage::ring, "a short ring of those that are left",
                  ring_over(all_, Bytes(std::uint64_t(min_call_bytes)), options_.max_bytes));
  if (out_.error)
    dead_.erase(dead_.begin() + std::ptrdiff_t(std::min(proven_dead_, dead_.size())), dead_.end());
}

// Where the error names a node that does not answer, the rest go on without it. Only then is it proven that
// the node is the reason, unless nobody is left to go on.
std::optional<Observation> Examination::without_the_dead(const Error& error, Stage stage,
                                                         const std::string& what, Experiment experiment) {
  const auto named = std::find_if(experiment.order.begin(), experiment.order.end(), [&](int node) {
    return out_.nodes[std::size_t(node)] == error.where.node;
  });
  const bool silent =
      error.cause == Cause::unreachable || error.cause == Cause::peer_lost || error.cause == Cause::stopping;
  if (!silent || !measurer_.outlives_failures() || named == experiment.order.end() ||
      dead_.size() >= max_dead + options_.left_out.size()) {
    out_.error = error;
    return std::nullopt;
  }
  const int node = *named;
  std::erase(experiment.order, node);
  std::erase(all_, node);
  DeadNode dead{node, error};
  for (const RunRecord& run : out_.runs) {
    const auto& order = run.experiment.order;
    if (std::find(order.begin(), order.end(), node) != order.end()) dead.last_run = run.stage;
  }
  const bool omnireduce = experiment.algorithm == collective::AlgorithmId::omnireduce;
  if (experiment.order.size() < 2 || omnireduce) {
    dead_.push_back(std::move(dead));
    if (all_.size() < 2) return std::nullopt;
    // A test of two nodes of more, or one whose shares are dealt by node: what comes next goes on without it.
    Observation nothing;
    nothing.experiment = std::move(experiment);
    return nothing;
  }
  experiment.shift %= int(experiment.order.size());
  experiment.shift = std::max(experiment.shift, 1);
  const auto before = dead_.size();
  dead_.push_back(std::move(dead));
  auto seen = measure(stage, what, experiment);
  if (!seen) {
    dead_.erase(dead_.begin() + std::ptrdiff_t(before));
    if (!out_.error || out_.error->cause != Cause::cancelled) out_.error = error;
  }
  return seen;
}

// Whether what the nodes below its ends' leaves carry for others may be what a hop lacks: it crosses the same
// trunks.
bool Examination::beside_others_on_trunks(const HopReading& hop, const Observation& observation) const {
  if (!structure_.crosses(hop.source, hop.destination)) return false;
  const auto leaf = [&](int node) { return structure_.leaf[std::size_t(node)]; };
  double others = 0;
  for (const auto& [node, traffic] : observation.others) {
    if (leaf(node) == leaf(hop.source)) others += traffic.sends;
    if (leaf(node) == leaf(hop.destination)) others += traffic.receives;
  }
  const double rate = hop.rate().value_or(0);
  Reading reading;
  reading.rate = rate;
  return reading.is_beside(others) && rate + others >= thresholds_.path * typical_;
}

bool Examination::measure_pairs(Stage stage, const std::string& what, const Experiment& experiment,
                                Shared shared) {
  const auto observation = measure(stage, what, experiment);
  if (!observation) return false;
  if (crossings_) {
    note_crossings(*observation, stage == Stage::confirm, screening_);
  } else {
    readings_.add(*observation, out_.cost.runs, stage == Stage::confirm, [&](const HopReading& hop) {
      return shared == Shared::all ||
             (shared == Shared::across && structure_.crosses(hop.source, hop.destination)) ||
             beside_others_on_trunks(hop, *observation);
    });
  }
  for (const HopReading& hop : observation->hops) {
    if (hop.source < 0 || hop.source >= n_ || hop.destination < 0 || hop.destination >= n_) continue;
    ++counts_[{hop.source, hop.destination}];
  }
  typical_ = std::max(typical_, upper_median(hop_rates(*observation)));
  return true;
}

// --- sizes ---------------------------------------------------------------------------------------------

double Examination::slowest_of(const std::vector<int>& order, int shift) const {
  // Of two nodes alone, ever: what comes and goes may take the time of many runs.
  const int lately = order.size() > 2 ? 4 : out_.cost.runs;
  double slowest = typical_;
  std::vector<double> sends(std::size_t(n_), 0), receives(std::size_t(n_), 0);
  readings_.each_pair([&](int x, int y) {
    double best = readings_.best(x, y).value_or(0);
    if (best <= 0)  // held back: no less slow for that
      for (const Reading& r : readings_.of(x, y)) best = std::max(best, r.rate);
    sends[std::size_t(x)] = std::max(sends[std::size_t(x)], best);
    receives[std::size_t(y)] = std::max(receives[std::size_t(y)], best);
  });
  // What was very slow lately, and can do better, may be so again: the next ones are short.
  const double very_slow = very_slow_share * typical_;
  std::vector<double> lately_sent(sends.size(), typical_), lately_received(sends.size(), typical_);
  readings_.each_pair([&](int x, int y) {
    double &sent = lately_sent[std::size_t(x)], &received = lately_received[std::size_t(y)];
    if (sends[std::size_t(x)] < very_slow || receives[std::size_t(y)] < very_slow) return;
    for (const Reading& r : readings_.of(x, y))
      if (r.run + lately >= out_.cost.runs && r.rate < very_slow)
        sent = std::min(sent, r.rate), received = std::min(received, r.rate);
  });
  const std::size_t n = order.size();
  for (std::size_t i = 0; i < n; ++i) {
    const int x = order[i], y = order[(i + std::size_t(shift)) % n];
    slowest = std::min({slowest, lately_sent[std::size_t(x)], lately_received[std::size_t(y)]});
    if (const auto best = readings_.best(x, y)) {
      slowest = std::min(slowest, *best);
    } else if (readings_.pairs_measured() == 0) {
      slowest = std::min(slowest, slowest_);  // the ring's slow hop may be any of these
    } else {
      // Not measured yet, but its ends may have been: assume no better than the worse of them.
      for (const double limit : {sends[std::size_t(x)], receives[std::size_t(y)]})
        if (limit > 0) slowest = std::min(slowest, limit);
    }
  }
  return std::max(slowest, 1.0);
}

double Examination::wanted_bytes() const {
  return std::max(std::clamp(target_bytes, target_seconds * typical_, longest_target_seconds * typical_),
                  min_hop_bytes);
}

Bytes Examination::hop_bytes(const std::vector<int>& order, int shift, double seconds) const {
  const double slowest = slowest_of(order, shift);
  const double wanted = wanted_bytes();
  const double min_bytes = std::clamp(0.3 * slowest, min_call_bytes, 2e6);
  return Bytes(std::uint64_t(std::min(wanted, std::max(min_bytes, slowest * seconds / stretch_))));
}

bool Examination::fits(const std::vector<int>& order, int shift, Bytes hop) const {
  return overhead_ + 1.2 * stretch_ * double(hop.value) / slowest_of(order, shift) <= left();
}

}  // namespace ringtrue::diagnosis
