#include "operator/auto_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/plural.h"
#include "base/statistics.h"
#include "engine/session/session.h"
#include "run/job.h"
#include "run/report.h"

namespace ringtrue::ops {
namespace {

constexpr std::uint64_t small_bytes = 8;
constexpr std::uint64_t large_bytes = 256 * 1024;
// A trial costs little for calls shorter than this, and the model may be this far off.
constexpr double trial_seconds = 5e-3;
constexpr double model_error = 4;
constexpr std::size_t max_trials = 4;
// Of what a message takes, the part that the sender's processor is busy with; the rest passes by itself.
constexpr double overhead_share = 0.2;

Outcome<double> time_of(Runner& runner, run::Job job, collective::AlgorithmId algorithm, int shift,
                        std::uint64_t bytes) {
  job.algorithm = algorithm;
  job.call.elements = bytes / size_of(job.call.type);
  job.call.shift = shift;
  job.iterations = 5;
  job.warmup = 1;
  job.events = false;
  job.check = false;
  job.fault.clear();
  auto report = runner.play(job);
  if (!report) return tl::unexpected(report.error());
  return upper_median(run::slowest(*report));
}

Outcome<collective::HopCost> hop_cost(Runner& runner, const run::Job& job, int shift, double sharers) {
  auto small = time_of(runner, job, collective::AlgorithmId::pairwise, shift, small_bytes);
  if (!small) return tl::unexpected(small.error());
  auto large = time_of(runner, job, collective::AlgorithmId::pairwise, shift, large_bytes);
  if (!large) return tl::unexpected(large.error());
  const double whole = std::max(*small, 1e-7);
  const double moving = std::max(*large - *small, double(large_bytes) / 1e12);
  collective::HopCost cost;
  cost.overhead = Seconds(whole * overhead_share);
  cost.latency = Seconds(whole * (1 - overhead_share));
  cost.rate = BytesPerSecond(double(large_bytes) / moving * sharers);
  return cost;
}

}  // namespace

Outcome<collective::Costs> measure_costs(Runner& runner, const run::Job& like) {
  collective::Costs costs;
  const int ranks = like.ranks(), per_node = runner.place().ranks_per_node;
  costs.intra = {Seconds(2e-6), BytesPerSecond(5e9), Seconds(0.5e-6)};
  costs.inter = {Seconds(50e-6), BytesPerSecond(125e6), Seconds(5e-6)};
  costs.shared_memory =
      ranks <= per_node && like.transport != run::Transport::tcp && like.transport != run::Transport::verbs;
  if (ranks < 2) return costs;
  if (ranks <= per_node) {
    auto cost = hop_cost(runner, like, 1, 1);
    if (!cost) return tl::unexpected(cost.error());
    costs.intra = *cost;
    if (costs.shared_memory) {
      // The probe's messages, one from every rank, were played one after the other.
      const Seconds whole = cost->latency + cost->overhead;
      costs.intra.latency = costs.intra.overhead = whole / double(ranks);
      const int cores = std::max(1, int(std::thread::hardware_concurrency()));
      costs.players = engine::Session::one_thread_plays(like, 0) ? 1 : cores;
    }
    return costs;
  }
  // Every rank sends to the same place on the next node, so a node's rate is shared by all of its ranks.
  auto cost = hop_cost(runner, like, per_node, per_node);
  if (!cost) return tl::unexpected(cost.error());
  costs.inter = *cost;
  return costs;
}

Outcome<collective::Choice> settle(Runner& runner, const run::Job& job, collective::Choice choice) {
  const auto& predicted = choice.predictions;
  if (predicted.size() < 2 || predicted[0].time.value > trial_seconds) return choice;
  std::vector<std::pair<double, collective::AlgorithmId>> tried;
  for (const auto& [algorithm, time] : predicted) {
    if (tried.size() == max_trials || time.value > predicted[0].time.value * model_error) break;
    auto took = time_of(runner, job, algorithm, job.call.shift, job.call.bytes());
    if (!took) return tl::unexpected(took.error());
    tried.emplace_back(*took, algorithm);
  }
  if (tried.size() < 2) return choice;
  std::sort(tried.begin(), tried.end());
  choice.algorithm = &collective::algorithm_of(tried[0].second);
  choice.reason =
      fmt::format("{}: {} over {} took {} in a trial, {} {} (the model's first choice: {}, {})",
                  key_of(tried[0].second), to_text(Bytes(job.call.bytes())), plural(job.ranks(), "rank"),
                  to_text(Seconds(tried[0].first)), key_of(tried[1].second), to_text(Seconds(tried[1].first)),
                  key_of(predicted[0].algorithm), to_text(predicted[0].time));
  return choice;
}

}  // namespace ringtrue::ops
