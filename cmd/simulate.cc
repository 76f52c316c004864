#include "operator/simulate.h"

#include "cmd/call_flags.h"
#include "cmd/command.h"
#include "cmd/fabric_flags.h"
#include "cmd/inapplicable.h"
#include "cmd/omni_flags.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "report/grid.h"
#include "report/json/json.h"
#include "report/text/text.h"

namespace ringtrue::cmd {
namespace {

// What the grid goes through by itself, or does not have.
Result<void> check_grid(const Context& context, const ops::SimulateRequest& flags) {
  constexpr std::string_view rates = "use --inter";
  const ops::FabricRequest& fabric = flags.fabric;
  return reject_inapplicable(
      "simulate omnireduce --grid",
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

// Common flags that mean nothing to a model.
Result<void> check_common(const Context& context, const ops::SimulateRequest& flags) {
  if (auto status = reject_playing(context, "simulate", "use --nodes and --gpus-per-node"); !status)
    return status;
  constexpr std::string_view next = "leave one out";
  const bool rate = context.common.link_rate.has_value();
  const bool draws = flags.noise > 0 || flags.run_noise > 0 || flags.faulty() || flags.grid ||
                     flags.fabric.random_faults > 0 || flags.call.algorithm == "omnireduce";
  auto status = reject_inapplicable(
      "simulate",
      {{flags.call.events && !context.common.json, "--events", "add --json, which they are shown in"},
       {flags.seed && !draws, "--seed", "leave it out: nothing is drawn"},
       {rate && flags.fabric.has("inter"), "--link-rate beside --inter", next},
       {rate && flags.fabric.has("nic"), "--link-rate beside --nic", next},
       {rate && flags.fabric.has("preset"), "--link-rate beside --preset", next}});
  if (!status) return status;
  const auto& topology = flags.fabric.topology;
  if (topology.size() == 1 && topology[0] == "probe") return {};
  return reject_hosts(context, "simulate", "add --topology probe, or leave it out");
}

int run(Context& context, ops::SimulateRequest request) {
  if (auto status = check_common(context, request); !status) return failed(context, status.error());
  request.setup = setup_of(context);
  const auto document = ops::simulate(request, control({}));
  if (!document) return failed(context, document.error());
  if (!document->error && document->corrupted)
    complain({Cause::corrupted, document->notes.back(), "--fault", {}});
  return show(context, *document,
              document->error       ? Exit::unknown
              : document->corrupted ? Exit::faulty
                                    : Exit::healthy);
}

int run_grid(Context& context, ops::SimulateRequest request) {
  auto status = check_common(context, request);
  if (status) status = check_grid(context, request);
  if (!status) return failed(context, status.error());
  request.setup = setup_of(context);
  const auto document = ops::simulate_grid(request, control({}));
  if (!document) return failed(context, document.error());
  return show(context, *document, Exit::healthy);
}

}  // namespace

void add_simulate(Commands& commands) {
  const Command app =
      commands.add("simulate", "The same collectives on a modelled cluster of any size, faults included");
  static ops::SimulateRequest flags;
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
      app, "--fault", flags.faults, ops::parse_script, "SPEC",
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
  commands.on(app,
              [](Context& context) { return flags.grid ? run_grid(context, flags) : run(context, flags); });
}

}  // namespace ringtrue::cmd
