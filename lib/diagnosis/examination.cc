#include "diagnosis/examination.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.h"
#include "diagnosis/counters.h"
#include "diagnosis/loss.h"

namespace ringtrue::diagnosis {
namespace {

constexpr int all_pairs_up_to = 16;  // nodes; beyond, a choice of shifts
constexpr int shifts_beyond = 8;
// Calls of up to 256 KiB are played several times in a row, so that shorter ones take longer.
constexpr double fewest_bytes = 272 * 1024;  // a call
constexpr double least_bytes = 8e6;          // a hop; a shaper's burst of 128 KiB is then 1.6 %
constexpr double target_seconds = 0.25;      // of a hop at full speed
constexpr double very_slow_share = 0.6;
constexpr int most_doublings = 4;  // of the bytes in duets of one path

}  // namespace

Examination::Examination(Measurer& measurer, const Options& options)
    : measurer_(measurer), options_(options), n_(std::max(0, measurer.nodes())), readings_(n_), alone_(n_) {
  thresholds_.warning = options.warning;
  thresholds_.critical = options.critical;
  thresholds_.path = std::min(thresholds_.path, options.warning);
  counts_.assign(std::size_t(n_), std::vector<int>(std::size_t(n_), 0));
  all_.resize(std::size_t(n_));
  std::iota(all_.begin(), all_.end(), 0);
  for (int i = 0; i < n_; ++i) out_.nodes.push_back(measurer.name(i));
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
    out_.not_checked.push_back({"the network", fmt::format("{} nodes have no wire between them", n_)});
  } else {
    // Each stage goes on from what the one before has shown; one that fails ends the check.
    (void)(rings() && ports() && pairs() && confirm());
  }
  const Inference inference = judge();
  set_expected(inference);
  if (n_ == 2 && !options_.link_rate && !out_.error) {
    out_.not_checked.push_back({"whether both directions are slow alike",
                                "with two nodes, only --link-rate tells what they should carry"});
  }
  if (witness_ && witness_->rate < 0.8 * witness_->typical && !known(*witness_)) {
    out_.not_checked.push_back(
        {fmt::format("{} -> {}", out_.nodes[std::size_t(witness_->source)],
                     out_.nodes[std::size_t(witness_->destination)]),
         fmt::format("it was the slowest hop of the ring ({}, typical {}), and the check ended before it "
                     "could be repeated",
                     to_text(BytesPerSecond(witness_->rate)), to_text(BytesPerSecond(witness_->typical)))});
  }
  for (const PortReading& port : ports_) {
    const auto& side = port.receives ? inference.receives : inference.sends;
    if (port.rate >= very_slow_share * port.typical || side[std::size_t(port.node)]) continue;
    out_.not_checked.push_back(
        {fmt::format("{}'s {} side", out_.nodes[std::size_t(port.node)],
                     port.receives ? "receiving" : "sending"),
         fmt::format("in an omnireduce its port carried {} (typical {}), and the check ended before pairs "
                     "could tell why",
                     to_text(BytesPerSecond(port.rate)), to_text(BytesPerSecond(port.typical)))});
  }
  out_.cost.seconds = Seconds(elapsed());
  conclude({readings_, inference, thresholds_, witness_, ports_, all_, fleet_repeats_}, out_);
  add_losses(out_.counters, out_.rails, out_);
  join_counters(out_.counters, out_.rails, "during the check", out_.findings);
  if (out_.coverage.pairs_measured < out_.coverage.pairs && n_ >= 2) {
    out_.not_checked.push_back(
        {"paths of single pairs", fmt::format("{} of {} ordered pairs were measured",
                                              out_.coverage.pairs_measured, out_.coverage.pairs)});
  }
  return std::move(out_);
}

bool Examination::known(const RingWitness& witness) const {
  return readings_.best(witness.source, witness.destination).has_value();
}

Inference Examination::judge() const {
  std::optional<double> nominal;
  if (options_.link_rate) nominal = options_.link_rate->value;
  return infer(readings_, alone_, attainable_, nominal, thresholds_);
}

void Examination::set_expected(const Inference& inference) {
  const Reference& r = inference.reference;
  if (options_.link_rate || r.rate <= 0) return;
  out_.expected = {BytesPerSecond(r.rate), ideal::Origin::fleet_majority,
                   n_ == 2 ? std::string("the faster of the two directions")
                           : fmt::format("upper median of what {} nodes send and receive at their best", n_)};
}

std::optional<Observation> Examination::measure(const std::string& stage, const std::string& what,
                                                const Experiment& experiment) {
  if (options_.cancelled && options_.cancelled()) {
    out_.error = Error{Cause::cancelled, "the check was stopped", stage, {}};
    return std::nullopt;
  }
  if (options_.on_progress) {
    options_.on_progress(stage, what, std::clamp(elapsed() / options_.budget.value, 0.0, 1.0));
  }
  const double before = elapsed();
  auto observation = measurer_.measure(experiment);
  const double wall = elapsed() - before;
  ++out_.cost.runs;
  if (!observation) {
    out_.error = observation.error();
    return std::nullopt;
  }
  const double transfer = observation->time.value * experiment.iterations;
  // Short experiments tell the overhead, long ones how often the transfer is made.
  if (transfer < 0.1) overhead_ = 0.7 * overhead_ + 0.3 * std::max(0.0, wall - stretch_ * transfer);
  if (transfer > 0.2) stretch_ = 0.5 * stretch_ + 0.5 * std::clamp((wall - overhead_) / transfer, 1.0, 4.0);
  for (const HopReading& hop : observation->hops) out_.cost.bytes += hop.bytes;
  add(observation->counters, out_.counters);
  for (const auto& [node, ports] : observation->rails) out_.rails.try_emplace(node, ports);
  RunRecord record{stage, experiment, observation->time, std::nullopt, {}};
  const bool omnireduce = experiment.algorithm == "omnireduce";
  if ((experiment.algorithm == "ring" || omnireduce) && observation->time.value > 0) {
    const double n = omnireduce ? experiment.workers : double(experiment.order.size());
    record.busbw = BytesPerSecond(2 * (n - 1) / n * (experiment.bytes / observation->time).value);
  }
  if (omnireduce) record.ports = port_readings(*observation);
  out_.runs.push_back(std::move(record));
  return *observation;
}

bool Examination::measure_pairs(const std::string& stage, const std::string& what,
                                const Experiment& experiment) {
  const auto observation = measure(stage, what, experiment);
  if (!observation) return false;
  readings_.add(*observation, out_.cost.runs, stage == "confirm");
  for (const HopReading& hop : observation->hops) {
    if (hop.source < 0 || hop.source >= n_ || hop.destination < 0 || hop.destination >= n_) continue;
    ++counts_[std::size_t(hop.source)][std::size_t(hop.destination)];
  }
  typical_ = std::max(typical_, upper_median(hop_rates(*observation)));
  return true;
}

// --- sizes ---------------------------------------------------------------------------------------------

double Examination::slowest_of(const std::vector<int>& order, int shift) const {
  double slowest = typical_;
  const std::size_t n = order.size();
  for (std::size_t i = 0; i < n; ++i) {
    const int x = order[i], y = order[(i + std::size_t(shift)) % n];
    if (const auto best = readings_.best(x, y)) {
      slowest = std::min(slowest, *best);
    } else if (readings_.pairs_measured() == 0) {
      slowest = std::min(slowest, slowest_);  // the ring's slow hop may be any of these
    } else {
      // Not measured yet, but its ends may have been: assume no better than the worse of them.
      double send = 0, receive = 0;
      for (int other = 0; other < n_; ++other) {
        send = std::max(send, readings_.best(x, other).value_or(0));
        receive = std::max(receive, readings_.best(other, y).value_or(0));
      }
      if (send > 0) slowest = std::min(slowest, send);
      if (receive > 0) slowest = std::min(slowest, receive);
    }
  }
  return std::max(slowest, 1.0);
}

Bytes Examination::hop_bytes(const std::vector<int>& order, int shift, double seconds) const {
  const double slowest = slowest_of(order, shift);
  const double wanted = std::max(target_seconds * typical_, least_bytes);
  const double least = std::clamp(0.3 * slowest, fewest_bytes, 2e6);
  return Bytes(std::uint64_t(std::min(wanted, std::max(least, slowest * seconds / stretch_))));
}

bool Examination::fits(const std::vector<int>& order, int shift, Bytes hop) const {
  return overhead_ + 1.2 * stretch_ * double(hop.value) / slowest_of(order, shift) <= left();
}

// --- stages --------------------------------------------------------------------------------------------

void Examination::note_ring(const Observation& observation) {
  RingWitness witness;
  const std::vector<double> rates = hop_rates(observation);
  witness.typical = upper_median(rates);
  for (const HopReading& hop : observation.hops) {
    if (hop.bytes.value == 0 || !(hop.busy.value > 0)) continue;
    const double rate = (hop.bytes / hop.busy).value;
    if (witness.source < 0 || rate < witness.rate) {
      witness.source = hop.source, witness.destination = hop.destination, witness.rate = rate;
    }
  }
  if (witness.source >= 0) {
    witness_ = witness;
    // Of three hops around one bad node two are slow: for sizes, look at the better ones.
    std::vector<double> better = rates;
    std::sort(better.begin(), better.end());
    typical_ = better[better.size() * 3 / 4];
    if (attainable_ && observation.time.value < settled_from) typical_ = std::min(typical_, *attainable_);
    slowest_ = witness.rate;
  }
  const auto& busbw = out_.runs.back().busbw;
  if (busbw) out_.ring_busbw = busbw;  // the later is the longer, which no burst flatters
}

bool Examination::rings() {
  const double probe_bytes = fewest_bytes * 2 * (n_ - 1) / n_;  // a hop
  const auto probe = measure("probe", "a short ring",
                             ring_over(all_, Bytes(std::uint64_t(probe_bytes)), options_.most_bytes));
  if (!probe) return false;
  note_ring(*probe);
  if (!witness_) {
    out_.not_checked.push_back({"every hop", "the ring's trace holds no hop that moved anything"});
    return false;
  }
  const Bytes hop = hop_bytes(all_, 1, 0.04 * options_.budget.value);
  // One as short as the probe says nothing new, and a very slow hop makes it dear.
  if (!fits(all_, 1, hop) || double(hop.value) < 1.5 * probe_bytes) return true;
  const auto ring = measure("ring", "a ring over all nodes", ring_over(all_, hop, options_.most_bytes));
  if (!ring) return false;
  note_ring(*ring);
  return true;
}

// An incast, for what it tells of the aggregators' ports. Never worth more than a little of the budget.
bool Examination::ports() {
  const int workers = std::min(options_.workers, n_);
  if (workers < 1) return true;
  const double seconds = 0.05 * options_.budget.value;
  // All of them may have to pass the ring's slowest hop.
  const double slowest = std::max(std::min(typical_, slowest_), 1.0);
  const double wanted =
      std::min(std::max(target_seconds * typical_, least_bytes), slowest * seconds / stretch_);
  const Bytes port(std::uint64_t(std::max(wanted, fewest_bytes)));
  if (overhead_ + 1.2 * stretch_ * double(port.value) / slowest > 0.3 * left()) {
    out_.not_checked.push_back({"the aggregators' ports under an omnireduce",
                                fmt::format("the slowest hop ({}) makes it too long for the time there is",
                                            to_text(BytesPerSecond(slowest)))});
    return true;
  }
  const auto observation = measure("ports", "an omnireduce, for its aggregators' ports",
                                   omnireduce_over(all_, workers, port, options_.most_bytes));
  if (!observation) return false;
  ports_ = out_.runs.back().ports;
  return true;
}

// Of two nodes alone, a slow direction's data delays the other one's acknowledgements: one after the other.
Experiment Examination::exchange(const std::vector<int>& order, int shift, Bytes hop) const {
  if (n_ == 2) return duet(order[0], order[1], hop, options_.most_bytes);
  return pairwise_over(order, shift, hop, options_.most_bytes);
}

bool Examination::shifts_over(const std::vector<int>& nodes, int most, double share_of_budget,
                              const std::string& what) {
  const int n = int(nodes.size());
  const auto list = shifts(n, std::min(most, n <= all_pairs_up_to ? n - 1 : shifts_beyond));
  const double seconds = share_of_budget * options_.budget.value / double(list.size()) - overhead_;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Bytes hop = hop_bytes(nodes, list[i], std::max(seconds, 0.05));
    // What is left must do for repeats, without which nothing can be said.
    if (elapsed() > 0.65 * options_.budget.value || !fits(nodes, list[i], hop)) return true;
    const auto text = fmt::format("{}, {} of {}", what, i + 1, list.size());
    if (!measure_pairs("pairs", text, exchange(nodes, list[i], hop))) return false;
  }
  return true;
}

std::vector<int> Examination::very_slow(const Inference& inference) const {
  std::vector<int> out;
  for (const Suspect& s : inference.suspects) {
    if (s.type == ScopeType::path || s.ratio >= very_slow_share) continue;
    if (std::find(out.begin(), out.end(), s.node) == out.end()) out.push_back(s.node);
  }
  return out;
}

std::vector<int> Examination::nodes_without(const std::vector<int>& some) const {
  std::vector<int> out;
  for (const int node : all_) {
    if (std::find(some.begin(), some.end(), node) == some.end()) out.push_back(node);
  }
  return out;
}

bool Examination::pairs() {
  const bool gross = slowest_ < very_slow_share * typical_;
  // Where even short messages take long, two partners of each node must do: enough for a side that is slow
  // with both, and time remains to repeat it.
  const double least = overhead_ + stretch_ * fewest_bytes / std::max(slowest_, 1.0);
  gross_ = gross && n_ > 3 && least * (n_ - 1) > 0.3 * options_.budget.value;
  if (!shifts_over(all_, gross_ ? 2 : n_, gross ? 0.15 : 0.4, "every port with changing partners"))
    return false;
  const auto slow = very_slow(judge());
  const auto rest = nodes_without(slow);
  // Long enough experiments for the others, which the slow ones kept short.
  const bool all_long = std::none_of(rest.begin(), rest.end(), [&](int x) {
    return std::any_of(rest.begin(), rest.end(), [&](int y) {
      const auto list = readings_.of(x, y);
      return y != x && std::all_of(list.begin(), list.end(),
                                   [](const Reading& r) { return double(r.bytes) < least_bytes; });
    });
  });
  if (slow.empty() || rest.size() < 2 || all_long) return true;
  return shifts_over(rest, n_, gross_ ? 0.15 : 0.25, "the same without the slowest nodes");
}

bool Examination::confirm() {
  for (int round = 0; round < 64; ++round) {
    const Inference inference = judge();
    std::vector<const Suspect*> very, fine;
    for (const Suspect& s : inference.suspects) {
      if (s.confirmed || s.alone) continue;
      (s.type != ScopeType::path && s.ratio < very_slow_share ? very : fine).push_back(&s);
    }
    const bool fleet = inference.reference.fleet_slow && fleet_repeats_ < 2;
    const bool nothing_else = very.empty() && fine.empty() && !fleet;
    auto pair = node_for_duet(inference);
    if (gross_ && !very.empty()) pair.reset();  // the very slow first
    double share = 0.04;
    int doublings = 0;
    // There may be many such paths, and most are innocent.
    if (!pair && nothing_else) {
      pair = path_for_duet(inference);
      share = 0.015;
      // The slow direction keeps them short, so that a late acknowledgement (40 ms) is most of the other
      // one's time: the same in all of them. Of a slow path, longer ones take as much longer.
      if (pair) doublings = std::min(int(alone_.of(pair->node, pair->partner).size()), most_doublings);
      // What was begun is worth more of the time than what may be nothing.
      if (elapsed() >= (doublings > 0 ? 0.9 : 0.75) * options_.budget.value) pair.reset();
    }
    if (pair) {
      Bytes hop = hop_bytes({pair->partner, pair->node}, 1, share * options_.budget.value);
      hop.value <<= doublings;
      if (fits({pair->partner, pair->node}, 1, hop)) {
        if (!play_duet(*pair, hop)) return false;
        continue;
      }
    }
    if (nothing_else) return true;

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
      if (rest.size() >= std::min<std::size_t>(3, all_.size() - 1) && turn) nodes = rest, suspects = fine;
      if (nodes.size() == all_.size()) suspects.insert(suspects.end(), fine.begin(), fine.end());
    }
    const auto order = changed_partners(nodes, suspects, inference, counts_,
                                        options_.seed * 1000003 + std::uint64_t(out_.cost.runs));
    const Bytes hop = hop_bytes(order, 1, 0.05 * options_.budget.value);
    if (!fits(order, 1, hop)) return true;
    std::string what = "most nodes again";
    if (!suspects.empty()) {
      const Suspect& s = *suspects.front();
      what = Scope{s.type,
                   s.node,
                   s.peer,
                   out_.nodes[std::size_t(s.node)],
                   s.peer < 0 ? "" : out_.nodes[std::size_t(s.peer)],
                   ""}
                 .text();
      if (suspects.size() > 1) what += fmt::format(" and {} more", suspects.size() - 1);
    }
    if (!measure_pairs("confirm", what, exchange(order, 1, hop))) return false;
    fleet_repeats_ += fleet;
    ++confirm_rounds_;
  }
  return true;
}

}  // namespace ringtrue::diagnosis
