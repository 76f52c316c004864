#include <fmt/format.h>

#include "cmd/auto_choice.h"
#include "cmd/calls.h"
#include "cmd/command.h"
#include "cmd/measurements.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/player.h"
#include "cmd/progress.h"
#include "report/json.h"
#include "report/text.h"

namespace ringtrue::cmd {
namespace {

struct Flags {
  CallFlags call;
  PlayerOptions player;
  int iterations = 5, warmup = 1;
  bool unchecked = false;
  long seed = 1;
};

int run(Context& context, const Flags& flags) {
  if (auto known = flags.call.check_algorithm(); !known) return failed(context, known.error());
  auto sizes = flags.call.sizes();
  if (!sizes) return failed(context, sizes.error());
  auto player = make_player(context, flags.player);
  if (!player) return failed(context, player.error());

  report::RunDocument document;
  document.where = (*player)->where();
  document.nodes = (*player)->nodes();
  document.deadlines = deadlines_of(context);
  bool wrong = false;
  std::optional<collective::Costs> costs;  // of a hop, for auto
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    engine::Job job = (*player)->job();
    job.algorithm = flags.call.algorithm;
    job.call = flags.call.of((*sizes)[i]);
    job.transport = context.config.transport.value;
    job.iterations = flags.iterations;
    job.warmup = flags.warmup;
    job.check = !flags.unchecked;
    job.events = flags.call.events && i + 1 == sizes->size();
    job.fault = flags.call.fault;
    job.seed = std::uint64_t(flags.seed);
    if (job.algorithm == "auto") {
      show_progress("measuring a hop, to choose an algorithm");
      if (!costs) {
        auto measured = measure_costs(**player, job);
        if (!measured) {
          document.error = measured.error();
          break;
        }
        costs = *measured;
      }
      auto choice = settle(**player, job, choice_of(job.layout(), job.call, *costs));
      if (!choice) {
        document.error = choice.error();
        break;
      }
      document.choices.push_back(std::move(*choice));
      job.algorithm = document.choices.back().algorithm;
    }
    show_progress(fmt::format("{} of {} bytes ({} of {} sizes)", job.algorithm, job.call.bytes(), i + 1,
                              sizes->size()));
    auto report = (*player)->play(job);
    if (!report) {
      document.error = report.error();
      break;
    }
    const bool tcp = report->transport.find("tcp") != std::string::npos;
    const auto link_rate = (*player)->local() ? std::nullopt : context.config.link_rate.value;
    const ideal::Inputs inputs = ideal_inputs((*player)->local() ? 1 : int(document.nodes.size()),
                                              (*player)->ranks_per_node(), link_rate, tcp);
    document.results.push_back(result_of(job, *report, inputs));
    document.hops = hops_of(job, report->trace);
    document.events = std::move(report->trace.events);
    wrong = wrong || document.results.back().wrong.value_or(0) > 0;
  }
  player->reset();  // releases the nodes before anything is printed
  if (document.error) complain(document.error->error);
  const int code = wrong ? Exit::faulty : document.error ? Exit::unknown : Exit::healthy;
  return print(context.common.json ? report::json(document) : report::text(document, context.style), code);
}

}  // namespace

void add_run(Commands& commands) {
  CLI::App& app =
      commands.add("run", "One collective over a range of sizes: nccl-tests' columns, and % of ideal");
  static Flags flags;
  add_call_flags(commands, app, flags.call);
  add_whole(app, "--iterations", flags.iterations, 1, 1000000, "timed samples");
  add_whole(app, "--warmup", flags.warmup, 0, 1000000, "untimed calls before them");
  add_whole(app, "--processes", flags.player.processes, 1, 128,
            "worker processes that a node's ranks are spread over");
  add_whole(app, "--seed", flags.seed, 0, 1L << 62, "of the values");
  app.add_flag("--no-check", flags.unchecked, "do not compare the results");
  add_parsed(app, "--pause", flags.player.pause, parse_pause, "PHASE=TIME", "wait before a phase (for tests)")
      ->group("");
  app.footer(
      "Exit code 2 where a result was wrong. Example: ringtrue run ring --local 8 --from 1K --to 64M "
      "--factor 4");
  commands.on(app, [](Context& context) { return run(context, flags); });
}

}  // namespace ringtrue::cmd
