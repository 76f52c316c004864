#include "sim/simulate.h"

#include <fmt/format.h>

#include <cmath>

#include "collective/omnireduce/omnireduce.h"
#include "sim/world.h"

namespace ringtrue::sim {

namespace {

bool above_zero(double value) {
  return value > 0 && std::isfinite(value);
}
bool not_negative(double value) {
  return value >= 0 && std::isfinite(value);
}

Result<void> check(const Fabric& fabric) {
  const auto refuse = [](std::string what) { return fail(Cause::bad_input, std::move(what), "fabric"); };
  if (fabric.node_of_rank.empty() && (fabric.nodes < 1 || fabric.ranks_per_node < 1)) {
    return refuse(fmt::format("{} nodes of {} ranks are no cluster", fabric.nodes, fabric.ranks_per_node));
  }
  const std::int64_t ranks = fabric.node_of_rank.empty() ? std::int64_t(fabric.nodes) * fabric.ranks_per_node
                                                         : std::int64_t(fabric.node_of_rank.size());
  if (ranks > 1'000'000) return refuse(fmt::format("{} ranks are more than the simulator's million", ranks));
  for (const int node : fabric.node_of_rank) {
    if (node < 0 || node > 1'000'000) return refuse(fmt::format("node {} does not exist", node));
  }
  for (const HopCost* cost : {&fabric.intra, &fabric.inter}) {
    if (!above_zero(cost->rate.value)) return refuse("a rate must be above zero");
    if (!not_negative(cost->latency.value) || !not_negative(cost->overhead.value)) {
      return refuse("a latency must not be negative");
    }
  }
  for (const auto* factors : {&fabric.egress, &fabric.ingress}) {
    for (const auto& [node, value] : *factors) {
      if (!above_zero(value)) return refuse(fmt::format("node {}'s factor must be above zero", node));
    }
  }
  for (const auto& [pair, value] : fabric.path) {
    if (!above_zero(value)) {
      return refuse(fmt::format("the factor of path {}>{} must be above zero", pair.first, pair.second));
    }
  }
  return {};
}

}  // namespace

Result<SimReport> simulate(const collective::Algorithm& algorithm, const collective::Call& call,
                           const Fabric& fabric, const SimOptions& options) {
  const Result<void> checked = check(fabric);
  if (!checked) return tl::unexpected(checked.error());
  if (call.omni.workers > 0) {
    if (auto fits = collective::check_omni(fabric.layout(), call); !fits) return tl::unexpected(fits.error());
  }
  const bool recovers = algorithm.uses_packets() && call.omni.acked;
  for (const collective::Fault& fault : options.faults) {
    if (!fault.unreliable() || recovers) continue;
    return fail(Cause::bad_input,
                fmt::format("{} is for packets that may get lost", collective::to_text(fault)), "fault",
                algorithm.uses_packets() ? "use --acked" : "only omnireduce with --acked recovers");
  }
  World world(fabric, options);
  return world.play(algorithm, call);
}

}  // namespace ringtrue::sim
