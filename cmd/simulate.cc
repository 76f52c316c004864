#include "cmd/command.h"
#include "cmd/grid.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/simulate_play.h"
#include "cmd/unheeded.h"
#include "report/json.h"
#include "report/text.h"

namespace ringtrue::cmd {
namespace {

// What the grid goes through by itself, or does not have.
Result<void> check_grid(const Context& context, const SimulateFlags& flags) {
  constexpr std::string_view rates = "use --inter";
  const FabricFlags& fabric = flags.fabric;
  return refuse("simulate omnireduce --grid",
                {{fabric.has("nodes"), "--nodes", "leave it out: the grid has 2, 4 and 8 workers"},
                 {fabric.has("gpus-per-node"), "--gpus-per-node"},
                 {fabric.has("preset"), "--preset"},
                 {!fabric.file.empty(), "--fabric"},
                 {fabric.has("nic"), "--nic", rates},
                 {context.common.link_rate.has_value(), "--link-rate", rates},
                 {flags.noise > 0, "--noise"},
                 {flags.run_noise > 0, "--run-noise"},
                 {flags.sharing != "automatic", "--sharing"},
                 {flags.method != "automatic", "--method"},
                 {!flags.calibrate.empty(), "--calibrate"},
                 {flags.even, "--even", "leave it out: the grid has a column of it"},
                 {flags.omni.no_ring, "--no-ring"},
                 {flags.call.events, "--events"}});
}

int run_grid(Context& context, const SimulateFlags& flags) {
  const auto refuse = [&](std::string what, std::string next) {
    return failed(context, Error{Cause::bad_input, std::move(what), {}, std::move(next)});
  };
  if (flags.call.algorithm != "omnireduce") return refuse("--grid is of omnireduce", "take omnireduce");
  if (auto fits = check(flags); !fits) return failed(context, fits.error());
  if (auto heeded = check_grid(context, flags); !heeded) return failed(context, heeded.error());
  if (!flags.bitmaps.empty() || !flags.omni.input.empty() || flags.omni.acked || flags.omni.mtu ||
      flags.call.from || flags.call.to || flags.fabric.random_faults > 0 || flags.faulty() ||
      !flags.fabric.topology.empty()) {
    return refuse("--grid plays undisturbed calls of one size with generated data",
                  "leave out files, --topology, faults, --from, --to, --acked and --mtu");
  }
  GridTask task;
  const std::uint64_t bytes = flags.call.size ? flags.call.size->value : grid_bytes;
  task.call = flags.call.of(bytes);
  auto fabric = fabric_of(flags.fabric, context.config.link_rate.value);
  if (!fabric) return failed(context, fabric.error());
  task.fabric = std::move(*fabric);
  if (!flags.fabric.has("latency")) task.fabric.inter.latency = grid_latency;
  if (flags.fabric.has("inter")) task.rate = task.fabric.inter.rate;
  task.seed = flags.drawn_from();
  const auto document = play_grid(task, flags.omni);
  if (!document) return failed(context, document.error());
  return print(context.common.json ? report::json(*document) : report::text(*document, context.style),
               Exit::healthy);
}

}  // namespace

void add_simulate(Commands& commands) {
  const Command app =
      commands.add("simulate", "The same collectives on a modelled cluster of any size, faults included");
  static SimulateFlags flags;
  add_call_flags(commands, app, flags.call, false);
  add_omni_flags(commands, app, flags.omni);
  add_text(app, "--bitmaps", flags.bitmaps, "FILE",
           "JSON, a row of 0/1 a worker: its blocks that are not zero; gives the protocol's exact counts")
      .group("omnireduce");
  app.add_flag("--even", flags.even,
               "blocks that are not zero are dealt evenly, the same on all workers, as the model has them")
      .group("omnireduce");
  app.add_flag("--grid", flags.grid,
               "2, 4, 8 workers, 10 and 100 Gbit/s, densities 1 to 0.01, 100 MB after 5us: a table with the "
               "model's times")
      .group("omnireduce");
  add_fabric_flags(commands, app, flags.fabric);
  add_parsed(
      app, "--fault", flags.faults, parse_script, "SPEC",
      "of a hop between ranks, throttle@3>4:rate=50Mbit, or of the fabric, slow-link@node3>:share=50%; "
      "several with ';' (docs/simulator.md)");
  add_parsed(app, "--fix", flags.fix, sim::parse_place, "PLACE",
             "what the last size would take without the faults at node3>, node3.nic1, leaf0>spine1, ...");
  add_text(app, "--calibrate", flags.calibrate, "FILE",
           "latency, rate and cost of a slice as a live run took them: the JSON of run with several sizes");
  add_text(app, "--compare", flags.compare, "ALGORITHM", "the last size by another algorithm, and the ratio");
  const std::vector<std::string> sharing = {"automatic", "fair", "fifo"};
  commands.choices(
      add_text(app, "--sharing", flags.sharing, "WORD", "how messages share a link: automatic, fair, fifo")
          .one_of(sharing),
      sharing);
  const std::vector<std::string> methods = {"automatic", "events", "recurrence"};
  commands.choices(add_text(app, "--method", flags.method, "WORD",
                            "automatic, events, or recurrence: exact and fast, for rings")
                       .one_of(methods),
                   methods);
  const auto share = [](std::string_view text) { return parse_share_up_to(10, text); };
  add_parsed(app, "--noise", flags.noise, share, "SHARE", "each message needs up to this share more time");
  add_parsed(app, "--run-noise", flags.run_noise, share, "SHARE",
             "each link is slower by up to this share, all along");
  add_whole(app, "--seed", flags.seed, 0, 1L << 62,
            "of the noise, of faults, and of which blocks hold something");
  app.footer("Example: ringtrue simulate ring --nodes 8 --fault 'throttle@3>4:rate=250Mbit'");
  commands.on(app, [](Context& context) {
    if (auto heeded = check_common(context, flags); !heeded) return failed(context, heeded.error());
    return flags.grid ? run_grid(context, flags) : simulate(context, flags);
  });
}

}  // namespace ringtrue::cmd
