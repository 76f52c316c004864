#include "sim/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "collective/omnireduce/omnireduce.h"
#include "sim/network.h"
#include "sim/recurrence.h"
#include "sim/world.h"

namespace ringtrue::sim {

namespace {

constexpr double max_events = 1e6;  // messages of a ring that are not worth a short cut

Discipline discipline_of(const collective::Algorithm& algorithm, const Fabric& fabric, Discipline asked) {
  if (algorithm.uses_packets()) return Discipline::fifo;
  if (asked != Discipline::automatic) return asked;
  const std::int64_t ranks = fabric.layout().ranks();
  const bool all_pairs =
      algorithm.id == collective::AlgorithmId::two_shot || algorithm.id == collective::AlgorithmId::one_shot;
  return all_pairs && ranks * ranks > max_fair_pairs ? Discipline::fifo : Discipline::fair;
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
  const int ranks = fabric.layout().ranks();
  if (auto strike = collective::check_ranks(options.faults, ranks); !strike)
    return tl::unexpected(strike.error());
  for (const collective::Fault& fault : options.faults) {
    if (!fault.unreliable() || recovers) continue;
    return fail(Cause::bad_input,
                fmt::format("{} is for packets that may get lost", collective::to_text(fault)), "fault",
                algorithm.uses_packets() ? "use --acked" : "only omnireduce with --acked recovers");
  }
  for (const FabricFault& fault : fabric.faults) {
    if (fault.kind != FabricFault::Kind::lossy || recovers || !algorithm.uses_packets()) continue;
    return fail(Cause::bad_input, fmt::format("{} loses packets", to_text(fault)), "fault", "use --acked");
  }
  const Discipline discipline = discipline_of(algorithm, fabric, options.discipline);
  if (options.method != Method::events) {
    const bool asked = options.method == Method::recurrence;
    const double ranks = fabric.layout().ranks();
    const double slices =
        std::ceil(double(call.bytes()) / ranks / double(std::max<std::uint64_t>(call.slice_bytes, 1)));
    if (asked || 2 * ranks * ranks * std::max(slices, 1.0) >= max_events) {
      auto played = play_ring_by_recurrence(algorithm, call, fabric, options);
      if (played) return std::move(*played);
    }
    if (asked) {
      return fail(Cause::bad_input, "the recurrence does not hold here", std::string(algorithm.name),
                  "it is for undisturbed rings and slow or late links; leave --method out");
    }
  }
  World world(fabric, options, discipline);
  return world.play(algorithm, call);
}

std::string_view name(Discipline discipline) {
  return discipline == Discipline::fifo ? "first come, first served" : "max-min fair";
}

std::string_view name(Method method) {
  return method == Method::recurrence ? "recurrence" : "events";
}

}  // namespace ringtrue::sim
