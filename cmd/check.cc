#include "operator/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "cmd/command.h"
#include "cmd/flag_groups.h"
#include "cmd/history_flags.h"
#include "cmd/inapplicable.h"
#include "cmd/metrics_flags.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/verbs_flags.h"
#include "operator/history.h"
#include "operator/runner.h"
#include "report/nagios.h"

namespace ringtrue::cmd {
namespace {

constexpr Seconds confirm_budget{8};

struct CheckFlags {
  ops::CheckRequest request;
  VerbsFlags verbs;
  std::string format = "text";
  bool format_given = false;
  HistoryFlags where;
  MetricsFlags metrics;
  bool record = false, no_record = false;
  std::vector<std::string> confirm;  // nodes
  std::optional<Pause> pause;
};

// Flags that mean something to the other kind of check alone.
Result<void> check_flags(const Context& context, const CheckFlags& flags) {
  const Common& common = context.common;
  const ops::CheckRequest& asked = flags.request;
  const bool files = !asked.facts.from.empty();
  if (flags.no_record && flags.where.file) return both("--no-record", "--history");
  if (!flags.confirm.empty() && common.local) return both("--confirm", "--local");
  // It would be taken for a check of the fleet.
  if (!flags.confirm.empty() && flags.metrics.file) return both("--confirm", "--metrics-file");
  if (auto good = fits(flags.metrics); !good) return good;
  if (common.json && flags.format_given && flags.format != "json")
    return both("--format " + flags.format, "--json");
  if (files && asked.no_inspect) return both("--from", "--no-inspect");
  if (asked.inspect || files)
    return reject(asked.inspect ? "check --inspect" : "check --from",
                  {running(context, "leave it out: nothing is run"),
                   {{asked.algorithm != collective::AlgorithmId::ring, "--algorithm"},
                    {asked.aggregator_hosts.has_value(), "--aggregator-hosts"},
                    {asked.budget.has_value(), "--budget"},
                    {asked.seed.has_value(), "--seed"},
                    {asked.paths.has_value(), "--paths"},
                    {asked.leaves.has_value(), "--leaves"},
                    {!asked.routes.empty(), "--routes"},
                    {!asked.fault.empty(), "--fault"},
                    {!flags.confirm.empty(), "--confirm"},
                    {flags.record, "--record"},
                    {flags.where.file.has_value(), "--history"},
                    {flags.metrics.file.has_value(), "--metrics-file"}},
                   cmd::common(context, {"--link-rate"}),
                   given(flags.verbs)});
  const Inapplicables facts = {{asked.facts.window.has_value(), "--window"},
                               {asked.facts.wake_gpus, "--wake-gpus"}};
  if (asked.no_inspect)
    if (auto fits = reject("check --no-inspect", {facts}); !fits) return fits;
  if (!common.local) return {};
  return reject("check --local", {facts, {{asked.no_inspect, "--no-inspect"}}});
}

// Where it is to be recorded; nullopt: nowhere. Of the wires between nodes alone, unless it was asked for, as
// it is by naming a file.
std::optional<ops::HistoryPlace> place_of(const Context& context, const CheckFlags& flags) {
  const bool measured = !flags.request.inspect && flags.request.facts.from.empty() && !context.common.local;
  if (flags.no_record || (!measured && !flags.record && !flags.where.file)) return std::nullopt;
  return ops::history_place(context.config, flags.where.file, flags.where.fleet);
}

// --confirm: the hosts shrink to what is suspected and some that are good.
Result<std::string> narrow(Context& context, const CheckFlags& flags, const ops::HistoryPlace& place) {
  const auto targets = ops::nodes_of(setup_of(context), {});
  if (!targets) return tl::unexpected(targets.error());
  std::vector<std::string> known, hosts;
  for (const auto& target : targets->targets) known.push_back(target.node);
  const auto plan = ops::plan_confirmation(place, flags.confirm, known);
  if (!plan) return tl::unexpected(plan.error());
  for (const std::string& node : plan->nodes)
    for (const auto& target : targets->targets)
      if (target.node == node) hosts.push_back(fleet::host_text(target));
  context.config.hosts.value = fmt::format("{}", fmt::join(hosts, ","));
  return plan->fingerprint;
}

ops::MetricsRequest metrics_request(const Context& context, const CheckFlags& flags,
                                    const std::optional<ops::HistoryPlace>& place) {
  return {
      place ? place->fleet : flags.where.fleet.value_or(context.config.fleet.value), "", place, {}, false};
}

int check_fleet(Context& context, const CheckFlags& flags) {
  if (auto fits = check_flags(context, flags); !fits) return failed(context, fits.error());
  ops::CheckRequest request = flags.request;
  const auto place = place_of(context, flags);
  ops::RecordRequest recording;
  if (place) recording.place = *place;
  if (!place && flags.record)
    return failed(context, Error{Cause::bad_input, "there is no place to record in", "--record",
                                 "name a file with --history FILE"});
  recording.version = RINGTRUE_VERSION;
  if (!flags.confirm.empty()) {
    if (!place)
      return failed(context,
                    Error{Cause::bad_input, "--confirm needs a history", "", "name one with --history FILE"});
    auto fingerprint = narrow(context, flags, *place);
    if (!fingerprint) return failed(context, fingerprint.error());
    recording.confirming = true;
    recording.fingerprint = *fingerprint;
    request.no_inspect = true;
    if (!request.budget) request.budget = confirm_budget;
  }
  if (request.routes == std::vector<std::string>{"trace"}) {
    request.routes.clear();
    request.trace = true;
  }
  if (request.routes == std::vector<std::string>{"probe"}) {
    request.routes.clear();
    request.probe_routes = true;
  }
  request.setup = setup_of(context);
  if (request.inspect || !request.facts.from.empty()) {
    auto fits = check_facts(context, request.facts, !context.config.hosts.value.empty());
    if (!fits) return failed(context, fits.error());
  } else {
    if (auto fits = reject_where(context); !fits) return failed(context, fits.error());
    request.setup.rdma = settings_of(flags.verbs);
    request.again = words_again(context.common, flags.verbs);
  }
  auto document = ops::check(request, control(flags.pause));
  if (!document) {
    // What monitoring has would stand for a check that there was none of.
    if (const auto done = write_metrics(flags.metrics, metrics_request(context, flags, place), nullptr);
        !done)
      complain(done.error());
    return failed(context, document.error());
  }
  // What was asked for cannot be: that is no verdict.
  const bool asked_wrongly = document->error && document->error->error.cause == Cause::bad_input &&
                             document->diagnosis.nodes.empty();
  if (asked_wrongly && flags.format != "nagios" && !context.common.json)
    return failed(context, *document->error);
  const int code = diagnosis::exit_code(document->diagnosis.verdict);
  int told = code;
  const auto tell = [&] {
    if (context.common.json || flags.format != "nagios") {
      told = show(context, *document, code);
      return;
    }
    if (document->error) complain(document->error->error);
    told = print(report::nagios(*document), code);
  };
  if (!place)
    tell();
  else if (const auto done =
               ops::remember(recording, *document, tell, [&] { return report::json(*document); });
           !done)
    complain(done.error());
  if (const auto done = write_metrics(flags.metrics, metrics_request(context, flags, place), &*document);
      !done)
    complain(done.error());
  return told;
}

}  // namespace

Command check_command(Common& common) {
  using collective::AlgorithmId;
  using diagnosis::PathCoverage;
  static CheckFlags flags;
  ops::CheckRequest& request = flags.request;
  Flag format =
      word("--format", flags.format, {"text", "json", "nagios"}, "NAME", "text, json or nagios (text)");
  format.read = [&common, read = format.read](std::string_view text) {
    if (text == "json") common.json = true;
    flags.format_given = true;
    return read(text);
  };
  const Flags measuring = {
      format,
      choice<AlgorithmId>("--algorithm", request.algorithm,
                          {{"ring", AlgorithmId::ring}, {"omnireduce", AlgorithmId::omnireduce}}, "NAME",
                          "ring, or omnireduce to measure the aggregators' ports as well (ring)"),
      text("--aggregator-hosts", request.aggregator_hosts, "LIST",
           "nodes that aggregate, with omnireduce; the workers' nodes if not given"),
      parsed("--budget", request.budget, ops::parse_budget, "TIME",
             "time for all measurements; what still runs a quarter of it later (at least 4 s) is aborted "
             "(16s; where readings take long, or something stays open, up to 60s)"),
      whole("--seed", request.seed, 0, 1L << 62, "seed of the orders in which partners change (1)"),
      choice<PathCoverage>(
          "--paths", request.paths,
          {{"ports", PathCoverage::ports}, {"trunks", PathCoverage::trunks}, {"pairs", PathCoverage::pairs}},
          "NAME",
          "which paths of more than 16 nodes to measure: as many as rate every port, as many "
          "as use every trunk, or all pairs as far as --budget allows (trunks)"),
      text("--leaves", request.leaves, "FILE",
           "which leaf switch each node hangs below: Slurm's topology.conf, the output of ibnetdiscover, or "
           "lines "
           "like 'leaf1: node[1-18]'"),
      excluding(texts("--routes", request.routes, "FILE",
                      "the forwarding tables between the nodes, as `ringtrue topo --routes` reads them; "
                      "'probe': those of the InfiniBand fabric, read live by one of the nodes; 'trace': the "
                      "ways of the TCP connections that are measured; trunks, cables and switches are told "
                      "apart then"),
                "--leaves"),
      fault_flag(request.fault, "with --local: slow something, e.g. throttle@3>*:rate=50Mbit"),
      toggle("--inspect", request.inspect,
             "inspect only, measure nothing: the hosts, --from FILE... or this machine"),
      excluding(toggle("--no-inspect", request.no_inspect, "measure without inspecting the nodes first"),
                "--inspect"),
      texts("--confirm", flags.confirm, "NODE,...",
            "measure only these again, which the history suspects, with some good ones: takes seconds", ','),
      toggle("--record", flags.record,
             "record it, with --local too (what is measured between nodes is recorded anyway, and what "
             "--history names a file for)"),
      excluding(toggle("--no-record", flags.no_record, "do not record it"), "--record"),
      pause_flag(flags.pause),
  };
  return {"check", "Checks the cluster's health: finds slow links, or confirms that there are none",
          join({measuring, in_group("History", history_flags(flags.where)),
                in_group("Monitoring", metrics_flags(flags.metrics)),
                fact_flags(request.facts, "--inspect: 1s; else before and after what is measured"),
                verbs_flags(flags.verbs)}),
          "Exit codes: 0 healthy, 1 degraded, 2 faulty, 3 unknown.\n"
          "--from implies --inspect.\n"
          "Example: ringtrue check --hosts node[0-7] --link-rate 500Mbit",
          [](Context& context) { return check_fleet(context, flags); }};
}

}  // namespace ringtrue::cmd
