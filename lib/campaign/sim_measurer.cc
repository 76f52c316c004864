#include "campaign/sim_measurer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/splitmix64.h"
#include "campaign/draw.h"
#include "campaign/sim_routes.h"
#include "sim/levels.h"

namespace ringtrue::campaign {
namespace {

constexpr Seconds set_up{0.05};  // of a run
constexpr double stretch = 1.3;  // what a run takes over its timed calls: a warm-up, comparing of results
constexpr std::uint64_t shows_from = 1 << 20;  // bytes of a hop: shorter ones say little of rates
constexpr Seconds until_missed{0.5};           // that a node does not answer

Bytes carried(const diagnosis::Experiment& e) {
  const double n = double(e.order.size());
  const double of_call = e.algorithm == collective::AlgorithmId::ring ? 2 * (n - 1) / n : 1;
  return Bytes(std::uint64_t(double(e.bytes.value) * of_call) * std::uint64_t(e.iterations));
}

// Adds traffic of others, from this share of the nodes.
void disturb(sim::Fabric& out, double share, std::uint64_t seed) {
  Draw draw(seed ^ 0xba4);
  for (int node = 0; node < out.nodes; ++node) {
    if (!draw.chance(share)) continue;
    sim::FabricFault traffic;
    traffic.kind = sim::FabricFault::Kind::background;
    traffic.place = {sim::Place::What::path, sim::Place::Side::both, node,
                     (node + 1 + draw.below(out.nodes - 1)) % out.nodes};
    traffic.rate = out.inter.rate * (double(out.rails) * draw.between(0.05, 0.5));
    // Storage, say, has a NIC of its own choice.
    if (out.rails > 1 && draw.chance(0.5)) {
      traffic.rail = draw.below(out.rails);
      traffic.rate = traffic.rate / double(out.rails);
    }
    out.faults.push_back(traffic);
  }
}

}  // namespace

diagnosis::Structure SimMeasurer::structure() const {
  const sim::Fabric& f = world_.fabric;
  diagnosis::Structure out;
  for (int node = 0; node < f.nodes; ++node)
    out.port_rates.push_back(f.inter.rate.value * f.rails * world_.generation(node));
  if (world_.told == Told::nothing) return out;
  if (f.leaf <= 0) {
    out.leaf.assign(std::size_t(f.nodes), 0);
    if (world_.told != Told::routes) out.leaf_names = {"the switch"};
    return out;
  }
  if (world_.told == Told::fabric)
    out.spines = sim::spines_of(f) * f.cables, out.oversubscription = f.oversubscription;
  for (int node = 0; node < f.nodes; ++node) out.leaf.push_back(f.group_of(node));
  if (world_.told == Told::routes)
    out.routes = routes_of(f, world_.stale, world_.seed);
  else
    for (int leaf = 0; leaf <= out.leaf.back(); ++leaf) out.leaf_names.push_back(out.leaf_name(leaf));
  return out;
}

// In the run that is being played.
bool SimMeasurer::faults_are_away() const {
  const auto share = [](std::uint64_t seed) { return double(splitmix64(seed) >> 11) * 0x1p-53; };
  if (world_.away > 0) {
    const double turns = now_.value / world_.period.value + share(world_.seed);
    if (turns - std::floor(turns) >= 1 - world_.away) return true;
  }
  return world_.intermittent > 0 && share(splitmix64(world_.seed ^ 0x17e2) + runs_) < world_.intermittent;
}

// The fabric as it is in one run.
sim::Fabric SimMeasurer::fabric_now(std::uint64_t seed) const {
  sim::Fabric out = world_.fabric;
  if (faults_are_away()) out.faults.clear();
  if (world_.disturbed > 0) disturb(out, world_.disturbed, seed);
  if (world_.lasting > 0) disturb(out, world_.lasting, splitmix64(world_.seed ^ 0x1a57));
  return out;
}

// `others`: the seed of others' traffic. `turns`: calls that carry something one after the other, once around
// a ring.
diagnosis::Observation SimMeasurer::play(const diagnosis::Experiment& experiment, std::span<const Flow> flows,
                                         int turns, std::uint64_t seed, std::uint64_t others) const {
  diagnosis::Observation seen;
  seen.experiment = experiment;
  const bool steady =
      world_.disturbed == 0 && world_.lasting == 0 && world_.away == 0 && world_.intermittent == 0;
  const sim::Fabric now = steady ? sim::Fabric{} : fabric_now(others);
  Played played = play_flows(steady ? world_.fabric : now, flows, world_.noise, seed, now_);
  seen.hops = std::move(played.hops);
  seen.others = std::move(played.others);
  double longest = 0, latency = 0;
  for (std::size_t i = 0; i < seen.hops.size(); ++i) {
    diagnosis::HopReading& hop = seen.hops[i];
    hop.source_rank = flows[i].source_rank, hop.destination_rank = flows[i].destination_rank;
    longest = std::max(longest, hop.busy.value);
    latency += hop.latency->value / 2 / double(seen.hops.size());
    if (!world_.rdma) hop.rails.clear();
  }
  seen.time = Seconds(longest / experiment.iterations + turns * latency);
  return seen;
}

Result<diagnosis::Observation> SimMeasurer::measure(const diagnosis::Experiment& experiment) {
  if (stopped_ && stopped_()) return fail(Cause::cancelled, "interrupted");
  const std::size_t n = experiment.order.size();
  const bool naive = experiment.algorithm == collective::AlgorithmId::naive && n == 2,
             ring = experiment.algorithm == collective::AlgorithmId::ring;
  if (n < 2 || experiment.iterations < 1 ||
      !(naive || ring || experiment.algorithm == collective::AlgorithmId::pairwise)) {
    return fail(Cause::bad_input,
                fmt::format("{} over {} nodes is not modelled", key_of(experiment.algorithm), n), "campaign");
  }
  for (const sim::FabricFault& fault : world_.fabric.faults) {
    if (fault.kind != sim::FabricFault::Kind::dead) continue;
    if (std::find(experiment.order.begin(), experiment.order.end(), fault.place.node) ==
        experiment.order.end())
      continue;
    now_ += until_missed;
    ++runs_with_faults_;
    return fail(Cause::unreachable, "it does not answer", name(fault.place.node), "look at the node");
  }
  std::vector<Flow> flows;
  const std::size_t shift = ring || naive ? 1 : std::size_t(experiment.shift);
  for (std::size_t r = 0; r < n; ++r) {
    const std::size_t peer = (r + shift) % n;
    const int from = experiment.order[r], to = experiment.order[peer];
    if (from != to) flows.push_back({from, to, carried(experiment), int(r), int(peer)});
  }
  const std::uint64_t seed = splitmix64(world_.seed + ++runs_);
  runs_with_faults_ += carried(experiment).value >= shows_from && !faults_are_away();
  diagnosis::Observation seen;
  if (naive) {
    seen = play(experiment, {&flows[0], 1}, 1, seed, seed);
    diagnosis::Observation back = play(experiment, {&flows[1], 1}, 1, splitmix64(seed), seed);
    // Counters are read before and after both.
    std::map<int, diagnosis::OthersTraffic> mean;
    for (const auto* of : {&seen.others, &back.others})
      for (const auto& [node, traffic] : *of) mean[node].add(traffic, 0.5);
    seen.others = std::move(mean);
    seen.time += back.time;
    seen.hops.push_back(std::move(back.hops[0]));
  } else {
    seen = play(experiment, flows, ring ? 2 * (int(n) - 1) : 1, seed, seed);
  }
  now_ += set_up + seen.time * (stretch * experiment.iterations);
  return seen;
}

}  // namespace ringtrue::campaign
