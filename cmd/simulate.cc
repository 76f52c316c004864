#include "operator/simulate.h"

#include "cmd/command.h"
#include "cmd/flag_groups.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "cmd/progress.h"

namespace ringtrue::cmd {
namespace {

// What the grid goes through by itself, or does not have.
Result<void> check_grid(const Context& context, const ops::SimulateRequest& flags) {
  constexpr const char* rates = "use --inter";
  const ops::FabricRequest& fabric = flags.fabric;
  return reject("simulate omnireduce --grid",
                {{{fabric.has("nodes"), "--nodes", "leave it out: the grid has 2, 4 and 8 workers"},
                  {fabric.has("gpus-per-node"), "--gpus-per-node"},
                  {fabric.has("preset"), "--preset"},
                  {!fabric.file.empty(), "--fabric"},
                  {fabric.has("nic"), "--nic", rates}},
                 common(context, {"--link-rate"}, rates),
                 {{flags.noise > 0, "--noise"},
                  {flags.run_noise > 0, "--run-noise"},
                  {flags.sharing != sim::Discipline::automatic, "--sharing"},
                  {flags.method != sim::Method::automatic, "--method"},
                  {!flags.calibrate.empty(), "--calibrate"},
                  {flags.even, "--even", "leave it out: the grid has a column of it"},
                  {flags.omni.no_ring, "--no-ring"},
                  {flags.call.events, "--events"},
                  {flags.call.from.has_value(), "--from"},
                  {flags.call.to.has_value(), "--to"},
                  {!flags.bitmaps.empty(), "--bitmaps"},
                  {!flags.omni.input.empty(), "--input"},
                  {flags.omni.format.has_value(), "--format", "leave it out: the grid is of blocks"},
                  {flags.omni.acked, "--acked"},
                  {flags.omni.mtu.has_value(), "--mtu"},
                  {flags.faulty(), "--fault"},
                  {flags.fabric.random_faults > 0, "--random-faults"},
                  {!fabric.topology.empty(), "--topology"}}});
}

Result<void> check(const Context& context, const ops::SimulateRequest& flags) {
  constexpr const char* next = "leave one out";
  const bool rate = context.common.given("--link-rate");
  const bool draws = flags.noise > 0 || flags.run_noise > 0 || flags.faulty() || flags.grid ||
                     flags.fabric.random_faults > 0 ||
                     flags.call.algorithm == collective::AlgorithmId::omnireduce;
  auto fits =
      reject("simulate",
             {running(context, "use --nodes and --gpus-per-node"),
              {{flags.call.events && !context.common.json, "--events", "add --json, which they are shown in"},
               {flags.seed && !draws, "--seed", "leave it out: nothing is random"},
               {rate && flags.fabric.has("inter"), "--link-rate beside --inter", next},
               {rate && flags.fabric.has("nic"), "--link-rate beside --nic", next},
               {rate && flags.fabric.has("preset"), "--link-rate beside --preset", next}}});
  constexpr const char* blocks = "leave it out: that is about blocks";
  if (fits && flags.omni.format) {
    fits = reject("simulate --format",
                  {{{!flags.bitmaps.empty(), "--bitmaps", blocks}, {flags.even, "--even", blocks}}});
  }
  const auto& topology = flags.fabric.topology;
  const bool probes = topology.size() == 1 && topology[0] == "probe";
  if (fits && !probes) fits = reject("simulate", {hosts(context, "add --topology probe, or leave it out")});
  if (fits && flags.grid) fits = check_grid(context, flags);
  return fits;
}

int simulate(Context& context, ops::SimulateRequest request) {
  if (auto fits = check(context, request); !fits) return failed(context, fits.error());
  request.setup = setup_of(context);
  if (request.grid) {
    const auto document = ops::simulate_grid(request, control({}));
    return document ? show(context, *document, Exit::healthy) : failed(context, document.error());
  }
  const auto document = ops::simulate(request, control({}));
  if (!document) return failed(context, document.error());
  if (!document->error && document->corrupted)
    complain({Cause::corrupted, document->notes.back(), "--fault", {}});
  return show(context, *document,
              document->error       ? Exit::unknown
              : document->corrupted ? Exit::faulty
                                    : Exit::healthy);
}

}  // namespace

Command simulate_command() {
  using sim::Discipline, sim::Method;
  static ops::SimulateRequest request;
  const Flags omnireduce = {
      text("--bitmaps", request.bitmaps, "FILE",
           "JSON, a row of 0/1 a worker: its blocks that are not zero; gives the protocol's exact counts"),
      toggle("--even", request.even,
             "distribute the blocks that are not zero evenly, the same on all workers, as the model assumes"),
      toggle("--grid", request.grid,
             "2, 4, 8 workers, 10 and 100 Gbit/s, densities 1 to 0.01, 100 MB after 5us: a table with the "
             "model's times"),
      whole("--search-threads", request.search_threads, 1, 1024,
            "of a worker, that look for its blocks that are not zero; of the grid (1)"),
  };
  const auto share = [](std::string_view text) { return parse_share_up_to(10, text); };
  const Flags rest = {
      parsed("--fault", request.faults, ops::parse_script, "SPEC",
             "of a hop between ranks, throttle@3>4:rate=50Mbit, or of the fabric, "
             "slow-link@node3>:share=50%; several with ';' (docs/simulator.md)"),
      parsed("--fix", request.fix, sim::parse_place, "PLACE",
             "what the last size would take without the faults at node3>, node3.nic1, leaf0>spine1, ..."),
      text("--calibrate", request.calibrate, "FILE",
           "take latency, rate and cost of a slice from a live run: the JSON of run with several sizes"),
      parsed("--compare", request.compare, ops::parse_algorithm, "ALGORITHM",
             "the last size by another algorithm, and the ratio"),
      choice<Discipline>(
          "--sharing", request.sharing,
          {{"automatic", Discipline::automatic}, {"fair", Discipline::fair}, {"fifo", Discipline::fifo}},
          "WORD", "how messages share a link: automatic, fair, fifo (automatic)"),
      choice<Method>(
          "--method", request.method,
          {{"automatic", Method::automatic}, {"events", Method::events}, {"recurrence", Method::recurrence}},
          "WORD", "automatic, events, or recurrence: exact and fast, for rings (automatic)"),
      parsed("--noise", request.noise, share, "SHARE", "each message takes up to this share longer (0%)"),
      parsed("--run-noise", request.run_noise, share, "SHARE",
             "each link is slower by up to this share for the whole run (0%)"),
      whole("--seed", request.seed, 0, 1L << 62,
            "seed of the noise, the faults and the blocks that are not zero (1)"),
  };
  return {"simulate", "Runs the same collectives on a modelled cluster of any size, with faults",
          join({call_flags(request.call, true), omni_flags(request.omni), in_group("omnireduce", omnireduce),
                fabric_flags(request.fabric), rest}),
          "Example: ringtrue simulate ring --nodes 8 --fault 'throttle@3>4:rate=250Mbit'",
          [](Context& context) { return simulate(context, request); }};
}

}  // namespace ringtrue::cmd
