#include "operator/check.h"

#include <fmt/format.h>

#include "cmd/command.h"
#include "cmd/fact_flags.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/reproduce.h"
#include "cmd/verbs_flags.h"
#include "collective/fault.h"
#include "report/json/json.h"
#include "report/nagios.h"
#include "report/text/text.h"

namespace ringtrue::cmd {
namespace {

struct Flags {
  ops::CheckRequest request;
  VerbsFlags verbs{{}, in_a_hurry()};
  std::string format = "text";
  std::optional<Pause> pause;
};

// Flags that mean something to the other kind of check alone.
Result<void> check_flags(const Context& context, const Flags& flags) {
  const Common& common = context.common;
  if (common.json && flags.format == "nagios")
    return fail(Cause::bad_input, "--format nagios and --json exclude each other", {}, "leave one out");
  if (!flags.request.facts.from.empty() && flags.request.no_inspect)
    return fail(Cause::bad_input, "--from and --no-inspect exclude each other", {}, "leave one out");
  if (flags.request.inspect || !flags.request.facts.from.empty()) {
    const auto verbs = words_of(flags.verbs);
    const std::string_view where = flags.request.inspect ? "check --inspect" : "check --from";
    if (auto status = reject_playing(context, where, "leave it out: nothing is played"); !status)
      return status;
    auto status =
        reject_inapplicable(where, {{flags.request.algorithm != "ring", "--algorithm"},
                                    {flags.request.aggregator_hosts.has_value(), "--aggregator-hosts"},
                                    {flags.request.budget.has_value(), "--budget"},
                                    {flags.request.seed.has_value(), "--seed"},
                                    {flags.request.paths.has_value(), "--paths"},
                                    {!flags.request.fault.empty(), "--fault"},
                                    {common.link_rate.has_value(), "--link-rate"},
                                    {!verbs.empty(), verbs.empty() ? "" : verbs.front()}});
    return status;
  }
  const auto facts = [&](std::string_view where) {
    return reject_inapplicable(where, {{flags.request.facts.window.has_value(), "--window"},
                                       {flags.request.facts.wake_gpus, "--wake-gpus"}});
  };
  if (flags.request.no_inspect)
    if (auto status = facts("check --no-inspect"); !status) return status;
  if (!common.local) return {};
  if (auto status = facts("check --local"); !status) return status;
  return reject_inapplicable("check --local", {{flags.request.no_inspect, "--no-inspect"}});
}

int run(Context& context, const Flags& flags) {
  if (auto status = check_flags(context, flags); !status) return failed(context, status.error());
  ops::CheckRequest request = flags.request;
  request.setup = setup_of(context);
  if (request.inspect || !request.facts.from.empty()) {
    auto status = check_facts(context, request.facts, !context.config.hosts.value.empty());
    if (!status) return failed(context, status.error());
  } else {
    if (auto status = reject_where(context); !status) return failed(context, status.error());
    auto verbs = verbs_settings(context, flags.verbs);
    if (!verbs) return failed(context, verbs.error());
    request.verbs = *verbs;
    request.unused_verbs = unused(flags.verbs);
    request.again = reproduce_words(context.common, flags.verbs);
  }
  const auto document = ops::check(request, control(flags.pause));
  if (!document) return failed(context, document.error());
  const int code = diagnosis::exit_code(document->diagnosis.verdict);
  if (context.common.json || flags.format != "nagios") return show(context, *document, code);
  if (document->error) complain(document->error->error);
  return print(report::nagios(*document), code);
}

}  // namespace

void add_check(Commands& commands) {
  const Command app =
      commands.add("check", "The health check: names the slow wire, or says that there is none");
  static Flags flags;
  commands.choices(add_parsed(
                       app, "--format", flags.format,
                       [&commands](std::string_view text) -> Result<std::string> {
                         if (text == "json") commands.common().json = true;
                         if (text == "text" || text == "json" || text == "nagios") return std::string(text);
                         return fail(Cause::bad_input, fmt::format("unknown format '{}'", text), {},
                                     "use text, json or nagios");
                       },
                       "NAME", "text, json or nagios"),
                   {"text", "json", "nagios"});
  commands.choices(add_parsed(
                       app, "--algorithm", flags.request.algorithm,
                       [](std::string_view text) -> Result<std::string> {
                         if (text == "ring" || text == "omnireduce") return std::string(text);
                         return fail(Cause::bad_input, fmt::format("check knows no algorithm '{}'", text), {},
                                     "use ring, or omnireduce for aggregators' ports as well");
                       },
                       "NAME", "ring, or omnireduce for aggregators' ports as well"),
                   {"ring", "omnireduce"});
  add_text(app, "--aggregator-hosts", flags.request.aggregator_hosts, "LIST",
           "nodes that aggregate, with omnireduce; beside the workers if not given");
  add_parsed(app, "--budget", flags.request.budget, parse_duration, "TIME",
             "for all measurements together; a quarter later (4 s at least) what still runs is cut");
  add_whole(app, "--seed", flags.request.seed, 0, 1L << 62, "of the orders in which partners change");
  commands.choices(
      add_parsed(
          app, "--paths", flags.request.paths,
          [](std::string_view text) -> Result<diagnosis::PathCoverage> {
            if (text == "ports") return diagnosis::PathCoverage::ports;
            if (text == "trunks") return diagnosis::PathCoverage::trunks;
            if (text == "pairs") return diagnosis::PathCoverage::pairs;
            return fail(Cause::bad_input, fmt::format("unknown coverage '{}'", text), {},
                        "use ports, trunks or pairs");
          },
          "NAME",
          "of more than 16 nodes, measure: those that rate every port, enough to meet every trunk, "
          "or all pairs as far as --budget goes"),
      {"ports", "trunks", "pairs"});
  add_parsed(
      app, "--fault", flags.request.fault,
      [](std::string_view text) -> Result<std::string> {
        auto faults = collective::parse_faults(text);
        if (!faults) return tl::unexpected(faults.error());
        return std::string(text);
      },
      "SPEC", "with --local: slow something, e.g. throttle@3>*:rate=50Mbit");
  const Option inspect =
      app.add_flag("--inspect", flags.request.inspect,
                   "facts alone, nothing measured: of the hosts, --from FILE... or this machine");
  app.add_flag("--no-inspect", flags.request.no_inspect, "measure without looking into the nodes first")
      .excludes(inspect);
  add_fact_flags(app, flags.request.facts);
  add_verbs_flags(commands, app, flags.verbs);
  add_parsed(app, "--pause", flags.pause, parse_pause, "PHASE=TIME", "wait before a phase (for tests)")
      .group("");
  app.footer(
      "Exit codes: 0 healthy, 1 degraded, 2 faulty, 3 could not tell.\n"
      "--from implies --inspect.\n"
      "Example: ringtrue check --hosts node[0-7] --link-rate 500Mbit");
  commands.on(app, [](Context& context) { return run(context, flags); });
}

}  // namespace ringtrue::cmd
