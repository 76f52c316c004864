#include <fmt/format.h>

#include "cmd/command.h"
#include "cmd/flag_groups.h"
#include "cmd/history_flags.h"
#include "cmd/inapplicable.h"
#include "cmd/metrics_flags.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/verbs_flags.h"
#include "history/time.h"
#include "operator/watch_live.h"

namespace ringtrue::cmd {
namespace {

struct WatchFlags {
  HistoryFlags where;
  MetricsFlags metrics;
  VerbsFlags verbs;
  std::optional<Seconds> every, budget;
  std::optional<double> load;
  std::optional<std::string> hook;
  Seconds hook_deadline{30};
  bool idle_only = false, once = false, no_confirm = false, no_inspect = false;
};

// A round at a time, as soon as it is over: whoever follows the journal sees it.
void tell_round(const Context& context, const ops::WatchRound& round) {
  for (const std::string& trouble : round.troubles) complain(Error{Cause::unavailable, trouble, "", ""});
  if (const auto error = round.error()) complain(error->error);
  print(context.common.json ? report::json(round, "") : report::text(round, context.style), 0);
}

int exit_of(const std::optional<ops::WatchRound>& round) {
  if (!round) return Exit::healthy;  // it was asked to end
  const auto verdict = parse_key<diagnosis::Verdict>(round->verdict.value_or("unknown"));
  return verdict ? diagnosis::exit_code(*verdict) : int(Exit::unknown);
}

int run_watch(Context& context, const WatchFlags& flags) {
  if (context.common.local)
    return failed(context, Error{Cause::bad_input, "--local does nothing in watch", "",
                                 "leave it out: what is watched are the wires between --hosts"});
  if (auto good = fits(flags.metrics); !good) return failed(context, good.error());
  const auto place = flags.where.place(context);
  if (!place) return failed(context, place.error());
  ops::WatchRequest request;
  request.place = *place;
  request.version = RINGTRUE_VERSION;
  request.check.setup = setup_of(context);
  request.check.setup.rdma = settings_of(flags.verbs);
  request.check.again = words_again(context.common, flags.verbs);
  request.check.budget = flags.budget;
  request.check.no_inspect = flags.no_inspect;
  request.settings.fleet = place->fleet;
  request.settings.every = flags.every.value_or(context.config.watch.every.value);
  request.settings.load = flags.load.value_or(context.config.watch.load.value);
  request.settings.once = flags.once;
  request.settings.confirm = !flags.no_confirm;
  request.idle_only = flags.idle_only;
  request.hook = flags.hook.value_or(context.config.watch.hook.value);
  request.hook_deadline = flags.hook_deadline;
  request.check_json = [](const ops::CheckDocument& document) { return report::json(document); };
  request.hook_json = [](const ops::WatchRound& round, const std::string& check) {
    return report::json(round, check);
  };
  request.told = [&](const ops::WatchRound& round) { tell_round(context, round); };
  request.waits_for = [&](const std::string& other) {
    complain(Error{Cause::unavailable,
                   fmt::format("fleet {} is watched by {}: waiting until that ends", place->fleet, other), "",
                   ""});
  };
  request.begins = [&](Seconds until_first) {
    if (context.common.json) return;
    const auto span = [](Seconds time) {
      return time.value < 120 ? fmt::format("{:.0f} s", time.value)
                              : history::span_text(std::int64_t(time.value * 1e6));
    };
    print(
        fmt::format("watching {}: a check every {}, the first {}\n", context.config.hosts.value,
                    span(request.settings.every), until_first.value < 1 ? "now" : "in " + span(until_first)),
        0);
  };
  std::unique_ptr<MetricsPage> page;
  if (flags.metrics.address) {
    auto serving = MetricsPage::start(*flags.metrics.address, flags.metrics.pki);
    if (!serving) return failed(context, serving.error());
    page = std::move(*serving);
  }
  request.measured = [&](const ops::CheckDocument* document) {
    return write_metrics(flags.metrics, {place->fleet, "", *place, request.settings.every, false}, document,
                         page.get());
  };
  const auto last = ops::watch(request, control({}));
  return last ? exit_of(*last) : failed(context, last.error());
}

}  // namespace

Command watch_command() {
  static WatchFlags flags;
  const auto share = [](std::string_view text) -> Result<double> {
    auto read = parse_share_up_to(1, text);
    if (read && *read <= 0)
      return fail(Cause::bad_input, "it never measures then", {}, "give it 1% at least");
    return read;
  };
  const auto pause = [](std::string_view text) -> Result<Seconds> {
    auto read = parse_duration(text);
    if (read && read->value < 1) return fail(Cause::bad_input, "it is too short", {}, "give it 1s at least");
    return read;
  };
  return {
      "watch", "Checks the fleet every so often, records it, and runs a program when something changed",
      join({{parsed("--every", flags.every, pause, "TIME",
                    "from the start of a check to the start of the next (1h, or watch.every)"),
             parsed("--load", flags.load, share, "SHARE",
                    "of the time in which it measures, at most (10%, or watch.load)"),
             parsed("--budget", flags.budget, ops::parse_budget, "TIME",
                    "time for all measurements of a check, as check takes it"),
             toggle("--idle-only", flags.idle_only,
                    "measure only nodes that nobody works on: idle by Slurm's word, or without processes on "
                    "their GPUs and with little traffic"),
             text("--hook", flags.hook, "PROGRAM",
                  "run for transitions alone, with the round's JSON on its standard input (watch.hook)"),
             parsed("--hook-deadline", flags.hook_deadline, pause, "TIME",
                    "how long that may take before it is ended (30s)"),
             toggle("--once", flags.once, "one round, as a timer has it"),
             toggle("--no-confirm", flags.no_confirm, "do not measure again at once what is suspected"),
             toggle("--no-inspect", flags.no_inspect, "measure without inspecting the nodes first")},
            in_group("History", history_flags(flags.where)),
            in_group("Monitoring", join({metrics_flags(flags.metrics), metrics_page_flags(flags.metrics)})),
            verbs_flags(flags.verbs)}),
      "Nodes that somebody holds, or that do not answer, are left out of a round. What was told is "
      "remembered "
      "beside the history, so that a restart tells nothing twice.\n"
      "Exit codes: 0 when it is asked to end; with --once check's, 3 where nothing was measured.\n"
      "Example: ringtrue watch --hosts node[01-16] --every 30m --idle-only --hook /usr/local/bin/page",
      [](Context& context) { return run_watch(context, flags); }};
}

}  // namespace ringtrue::cmd
