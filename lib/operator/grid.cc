#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "collective/omnireduce/omnireduce.h"
#include "operator/simulate.h"
#include "operator/simulate_omni.h"

namespace ringtrue::ops {
namespace {

constexpr std::uint64_t grid_bytes = 100'000'000;
constexpr Seconds grid_latency{5e-6};
// What a thread looks through for blocks that are not zero: `./dev bench scan`, docs/benchmarks.md. A worker
// looks piece by piece between its packets, so that the search comes on top of what they take.
constexpr double searched_by_thread = 13.5e9;

constexpr double densities[] = {1, 0.8, 0.6, 0.4, 0.2, 0.1, 0.05, 0.01};
constexpr double rates[] = {10e9 / 8, 100e9 / 8};
constexpr int worker_counts[] = {2, 4, 8};

// The model leaves out latency, the first blocks, and the end of a call, when some streams are done.
constexpr double min_round_trips = 100, max_first_blocks = 0.015;

// Twice the bandwidth-delay product in flight hides the round trip; more would only add first blocks. Two
// streams an aggregator, three of long packets, so that it adds one while others are on their way, of up to
// four columns; else more streams.
void shape(OmniRequest& flags, const OmniCase& what) {
  const int aggregators = flags.aggregators.value_or(what.workers.nodes);
  flags.aggregators = aggregators;
  if (!flags.block) flags.block = 256;
  const double in_flight = 2 * 2 * what.workers.inter.latency.value * what.workers.inter.rate.value;
  const double block = double(*flags.block) * double(size_of(what.call.type));
  const double columns = std::ceil(in_flight / block / aggregators);  // of each aggregator
  if (!flags.fusion) flags.fusion = std::uint32_t(std::clamp(std::ceil(columns / 2), 1.0, 4.0));
  if (flags.streams) return;
  const double each = std::clamp(std::ceil(columns / double(*flags.fusion)), *flags.fusion < 4 ? 2.0 : 3.0,
                                 double(collective::max_streams));
  flags.streams = std::min(std::uint32_t(each) * std::uint32_t(aggregators), collective::max_streams);
}

Result<double> seconds_of(collective::AlgorithmId algorithm, const collective::Call& call,
                          const sim::Fabric& fabric, const sim::HasBlock& has_block) {
  sim::SimOptions options;
  options.has_block = has_block;
  const auto played = sim::simulate(collective::algorithm_of(algorithm), call, fabric, options);
  if (!played) return tl::unexpected(played.error());
  if (played->error) return tl::unexpected(*played->error);
  return played->time.value;
}

Result<GridTime> timed(const OmniPlan& plan, double model) {
  auto seconds = seconds_of(collective::AlgorithmId::omnireduce, plan.job.call, plan.fabric, plan.has_block);
  if (!seconds) return tl::unexpected(seconds.error());
  return GridTime{*seconds, model > 0 ? *seconds / model - 1 : 0};
}

Result<GridCell> play_cell(const OmniCase& what, OmniRequest flags, double density, double ring_s,
                           double search_s) {
  flags.density = density;
  shape(flags, what);
  auto plan = plan_omnireduce(what, flags);
  if (!plan) return tl::unexpected(plan.error());
  const collective::Omni& omni = plan->job.call.omni;

  GridCell cell;
  cell.workers = omni.workers;
  cell.aggregators = omni.aggregators;
  cell.density = density;
  cell.density_union = plan->united;
  cell.rate_Bps = what.workers.inter.rate.value;
  cell.block = omni.block;
  cell.streams = omni.streams;
  cell.fusion = omni.fusion;
  cell.ring_s = ring_s;
  cell.search_s = search_s;
  const auto drawn_model = model_of(*plan);
  auto drawn = timed(*plan, drawn_model ? drawn_model->time_s : 0);
  if (!drawn) return tl::unexpected(drawn.error());
  cell.drawn = *drawn;

  distribute_evenly(*plan, density);
  const auto model = model_of(*plan);
  if (!model) return fail(Cause::internal, "the model has no time for this", "grid");
  cell.model_s = model->time_s;
  cell.on_wire_s = model->on_wire_s.value_or(0);
  if (model->speedup && cell.model_s > 0)
    cell.model_speedup = *model->speedup * cell.model_s / (search_s + cell.model_s);
  auto even = timed(*plan, cell.model_s);
  if (!even) return tl::unexpected(even.error());
  cell.even = *even;
  if (cell.on_wire_s > 0) cell.on_wire_deviation = even->time_s / cell.on_wire_s - 1;
  if (even->time_s > 0) cell.speedup = ring_s / (search_s + even->time_s);

  const collective::OmniShape blocks(plan->job.call);
  const double first = double(std::min(blocks.columns(), blocks.blocks())) * (1 - density);
  cell.applies = cell.model_s >= min_round_trips * 2 * what.workers.inter.latency.value &&
                 first <= max_first_blocks * density * double(blocks.blocks());
  return cell;
}

// Over the workers and densities of the grid, and the `speeds` of links.
Result<GridDocument> play_grid(OmniCase what, const std::vector<double>& speeds, const OmniRequest& flags,
                               int search_threads, const Control& control) {
  GridDocument out;
  out.search_threads = search_threads;
  const double search_s = double(what.call.bytes()) / (searched_by_thread * search_threads);
  out.bytes = what.call.bytes();
  out.placement = key_of(flags.placement.value_or(Placement::dedicated));
  out.overlap = flags.overlap.value_or(collective::Overlap::same);
  out.latency_s = what.workers.inter.latency.value;
  out.min_round_trips = min_round_trips;
  out.max_first_blocks = max_first_blocks;
  std::vector<double> all(std::begin(densities), std::end(densities));
  if (flags.density) all = {*flags.density};
  what.workers.ranks_per_node = 1;
  for (const double rate : speeds) {
    for (const int workers : worker_counts) {
      what.workers.nodes = workers;
      what.workers.inter.rate = BytesPerSecond(rate);
      const auto ring = seconds_of(collective::AlgorithmId::ring, what.call, what.workers, {});
      if (!ring) return tl::unexpected(ring.error());
      for (const double density : all) {
        control.tell(progress::Step{
            fmt::format("{} workers at {}, density {:g}", workers, to_text(BytesPerSecond(rate)), density)});
        auto cell = play_cell(what, flags, density, *ring, search_s);
        if (!cell) return tl::unexpected(cell.error());
        const double deviation = cell->even.deviation;
        if (cell->applies && std::abs(deviation) >= std::abs(out.worst.value_or(0))) out.worst = deviation;
        const double on_wire = cell->on_wire_deviation;
        if (std::abs(on_wire) >= std::abs(out.worst_on_wire.value_or(0))) out.worst_on_wire = on_wire;
        out.cells.push_back(std::move(*cell));
      }
    }
  }
  return out;
}

}  // namespace

Outcome<GridDocument> simulate_grid(const SimulateRequest& request, const Control& control) {
  if (auto fits = check(request); !fits) return trouble(fits.error());
  auto fabric = fabric_of(request.fabric, request.setup.config.link_rate.value);
  if (!fabric) return trouble(fabric.error());
  if (!request.fabric.has("latency")) fabric->inter.latency = grid_latency;
  std::vector<double> speeds(std::begin(rates), std::end(rates));
  if (request.fabric.has("inter")) speeds = {fabric->inter.rate.value};
  const std::uint64_t bytes = request.call.size ? request.call.size->value : grid_bytes;
  auto document = play_grid({request.call.of(bytes), std::move(*fabric), {}, request.drawn_from()}, speeds,
                            request.omni, request.search_threads.value_or(1), control);
  if (!document) return trouble(document.error());
  return std::move(*document);
}

}  // namespace ringtrue::ops
