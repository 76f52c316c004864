#include "diagnosis/check.h"
#include "base/plural.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "campaign/what_if.h"
#include "cmd/again.h"
#include "cmd/command.h"
#include "cmd/facts.h"
#include "cmd/interrupt.h"
#include "cmd/measurer.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/unheeded.h"
#include "cmd/verbs_flags.h"
#include "diagnosis/above.h"
#include "diagnosis/combine.h"
#include "diagnosis/owners.h"
#include "ideal/facts.h"
#include "report/json.h"
#include "report/nagios.h"
#include "report/text.h"
#include "topology/merge.h"

namespace ringtrue::cmd {
namespace {

// A library that hangs on a node is given up after 3 s; a node that says nothing at all is the check's
// business.
constexpr Seconds facts_patience{5};

// Beyond the budget, for the last experiment: it may take longer than it was thought to.
Seconds grace_of(Seconds budget) {
  return Seconds(std::max(4.0, budget.value / 4));
}

struct Flags {
  MeasurerFlags measurer;
  VerbsFlags verbs{{}, in_a_hurry()};
  std::string algorithm = "ring";
  std::optional<std::string> aggregator_hosts;
  std::string format = "text";
  std::optional<Seconds> budget;
  std::optional<long> seed;
  std::optional<diagnosis::PathCoverage> paths;
  FactFlags facts;
  bool inspect = false, no_inspect = false;
};

int show(Context& context, const Flags& flags, const report::CheckDocument& document, int code) {
  if (context.common.json) return print(report::json(document), code);
  if (flags.format == "nagios") return print(report::nagios(document), code);
  return print(report::text(document, context.style), code);
}

// Flags that are heeded by the other kind of check alone.
Result<void> check_heeded(const Context& context, const Flags& flags) {
  const Common& common = context.common;
  if (common.json && flags.format == "nagios")
    return fail(Cause::bad_input, "--format nagios and --json exclude each other", {}, "leave one out");
  if (flags.inspect || !flags.facts.from.empty()) {
    const auto verbs = words_of(flags.verbs);
    const std::string_view where = flags.inspect ? "check --inspect" : "check --from";
    if (auto heeded = refuse_playing(context, where, "leave it out: nothing is played"); !heeded)
      return heeded;
    auto heeded = refuse(where, {{flags.algorithm != "ring", "--algorithm"},
                                 {flags.aggregator_hosts.has_value(), "--aggregator-hosts"},
                                 {flags.budget.has_value(), "--budget"},
                                 {flags.seed.has_value(), "--seed"},
                                 {flags.paths.has_value(), "--paths"},
                                 {!flags.measurer.fault.empty(), "--fault"},
                                 {common.link_rate.has_value(), "--link-rate"},
                                 {!verbs.empty(), verbs.empty() ? "" : verbs.front()}});
    return heeded;
  }
  const auto facts = [&](std::string_view where) {
    return refuse(where,
                  {{flags.facts.window.has_value(), "--window"}, {flags.facts.wake_gpus, "--wake-gpus"}});
  };
  if (flags.no_inspect)
    if (auto heeded = facts("check --no-inspect"); !heeded) return heeded;
  if (!common.local) return {};
  if (auto heeded = facts("check --local"); !heeded) return heeded;
  return refuse("check --local", {{flags.no_inspect, "--no-inspect"}});
}

// Facts alone: of files, the hosts, or this machine.
int inspect_only(Context& context, const Flags& flags, report::CheckDocument document) {
  diagnosis::Diagnosis& d = document.diagnosis;
  document.deadlines.reset();
  if (flags.no_inspect)
    return failed(context,
                  Error{Cause::bad_input, "--from and --no-inspect exclude each other", "", "leave one out"});
  FactFlags asked = flags.facts;
  if (!asked.window && asked.from.empty()) asked.window = Seconds(1);
  auto facts = read_facts(context, asked, !context.config.hosts.value.empty());
  if (!facts) {
    document.error = facts.error();
    for (const report::Failure& f : document.error->failures) d.nodes.push_back(f.node);
    complain(document.error->error);
    return show(context, flags, document, Exit::unknown);
  }
  auto inspection = inspect(context, *facts);
  if (!inspection) return failed(context, inspection.error());
  d.nodes = facts->nodes;
  d.verdict = diagnosis::Verdict::healthy;
  document.inspection = report::Inspected{inspection->rules, facts->seconds};
  document.error = trouble_of(*facts);
  if (!document.error && !inspection->unread.empty())
    document.error = report::Trouble{
        {Cause::unavailable, "neither its PCI devices nor its network devices could be listed",
         inspection->unread.front(), "see why under \"not checked\""},
        {}};
  diagnosis::combine(d, std::move(*inspection));
  d.cost.seconds = Seconds(facts->seconds);
  if (document.error) {
    // A node that was not seen leaves a fault that was proven, and nothing weaker.
    if (d.verdict != diagnosis::Verdict::faulty) d.verdict = diagnosis::Verdict::unknown;
    complain(document.error->error);
  }
  return show(context, flags, document, diagnosis::exit_code(d.verdict));
}

// What the daemons of a check have to say of their nodes, added to what was measured between them. A daemon
// that cannot say takes nothing from the check.
Result<void> add_inspection(const Context& context, const Facts& facts, report::CheckDocument& document) {
  auto inspection = inspect(context, facts);
  if (!inspection) return tl::unexpected(inspection.error());
  document.inspection = report::Inspected{inspection->rules, facts.seconds};
  diagnosis::combine(document.diagnosis, std::move(*inspection));
  return {};
}

// How the counters changed between two readings of the nodes: while they were measured.
void add_windows(Facts& facts, const Facts& later, double seconds) {
  for (topology::Node& node : facts.cluster.nodes) {
    const auto& nodes = later.cluster.nodes;
    const auto again =
        std::find_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n.name == node.name; });
    if (again != nodes.end()) node.window = topology::difference(node.counters, again->counters, seconds);
  }
}

// The rates of the wires as far as they are known, declared or probed. What is measured is held against the
// declared ones or the fleet's majority; these are for what lies above them.
ideal::Inputs wires_of(const Context& context, const std::optional<Facts>& facts) {
  ideal::Inputs wires;
  if (context.common.local) return wires;
  if (const auto& rate = context.config.link_rate.value) {
    wires.inter = {*rate, ideal::Origin::declared, {}};
  } else if (facts) {
    if (const auto known = ideal::from_topology(facts->cluster)) wires.inter = known->inputs.inter;
  }
  return wires;
}

int run(Context& context, const Flags& flags) {
  if (auto heeded = check_heeded(context, flags); !heeded) return failed(context, heeded.error());
  report::CheckDocument document;
  document.warning = context.config.warning.value;
  document.critical = context.config.critical.value;
  document.deadlines = deadlines_of(context);
  if (flags.inspect || !flags.facts.from.empty()) return inspect_only(context, flags, std::move(document));
  const bool omnireduce = flags.algorithm == "omnireduce";
  if (flags.aggregator_hosts && !omnireduce) {
    return failed(context,
                  Error{Cause::bad_input, "--aggregator-hosts needs --algorithm omnireduce", "", ""});
  }
  if (flags.aggregator_hosts && context.common.local) {
    return failed(context, Error{Cause::bad_input, "--local and --aggregator-hosts exclude each other", "",
                                 "leave one out"});
  }
  const std::int64_t began = now_ns();
  MeasurerFlags measuring = flags.measurer;
  auto settings = verbs_settings(context, flags.verbs);
  if (!settings) return failed(context, settings.error());
  measuring.verbs = *settings;
  // A connection's slow start is over within a hundredth of an experiment; twice the experiments tell more.
  measuring.warmup = 0;
  measuring.paced = true;
  if (omnireduce)
    measuring.player.aggregators = {std::nullopt, flags.aggregator_hosts, flags.aggregator_hosts.has_value()};
  auto measurer = make_measurer(context, measuring);
  if (!measurer) {
    document.error = measurer.error();
    for (const report::Failure& f : document.error->failures) document.diagnosis.nodes.push_back(f.node);
    if (!context.common.local) {
      if (auto nodes = nodes_of(context, measuring.player)) {
        document.diagnosis.nodes.clear();
        for (const auto& target : nodes->targets) document.diagnosis.nodes.push_back(target.node);
      }
    }
    document.diagnosis.cost.seconds = seconds_since(began);
    complain(document.error->error);
    // Without anything measured there is nothing to show but who failed.
    return show(context, flags, document, Exit::unknown);
  }

  const std::optional<long> local = context.common.local;
  std::optional<Nodes> nodes;
  if (auto known = nodes_of(context, measuring.player); known && !local) nodes = std::move(*known);
  const auto look = [&]() -> std::optional<Facts> {
    if (flags.no_inspect || !nodes) return std::nullopt;
    return ask_facts(nodes->targets, fleet_options(context, {}, *nodes), flags.facts,
                     flags.facts.wake_gpus ? long_patience(flags.facts) : facts_patience);
  };
  std::optional<Facts> facts = look();
  const std::int64_t looked = now_ns();

  diagnosis::Options options;
  if (!local) options.link_rate = context.config.link_rate.value;
  options.warning = document.warning;
  options.critical = document.critical;
  options.budget = flags.budget.value_or(options.budget);
  options.seed = std::uint64_t(flags.seed.value_or(1));
  options.path_coverage = flags.paths.value_or(options.path_coverage);
  if (omnireduce) options.workers = (*measurer)->workers();
  options.on_progress = [](const std::string& stage, const std::string& what, double used) {
    show_progress(fmt::format("{}: {} ({:.0f} %)", stage, what, used * 100));
  };
  options.cancelled = [] { return interrupted(); };
  auto carrier = (*measurer)->nodes() < 2 ? Result<Carrier>(Carrier{}) : (*measurer)->settle();
  if (carrier) {
    document.notes = carrier->notes;
    if (carrier->transport != "verbs")
      if (std::string line = unused(flags.verbs); !line.empty()) document.notes.push_back(std::move(line));
    options.efficiency = efficiency(*carrier);
    (*measurer)->end_by(Deadline::in(options.budget + grace_of(options.budget)));
    document.diagnosis = diagnosis::Check(**measurer, options).run();
    if (nodes) add_commands(context, flags.verbs, nodes->targets, document.diagnosis.findings);
  } else {
    for (int node = 0; node < (*measurer)->nodes(); ++node)
      document.diagnosis.nodes.push_back((*measurer)->name(node));
    document.diagnosis.error = carrier.error();
  }
  if (local) {
    document.diagnosis.not_checked.push_back(
        {"wires", fmt::format("{} none between them: each hop was held to {}{}, which shows "
                              "how the check works and what --fault slows; use --hosts for a network",
                              plural(*local, "rank of one process has", "ranks of one process have"),
                              to_text(local_pace(int(*local))),
                              context.common.link_rate ? ", not to --link-rate" : "")});
  }
  diagnosis::hold_against_ideal(wires_of(context, facts), document.diagnosis);
  document.plans = campaign::what_if(document.diagnosis);
  // Counters that are read twice tell of the time under load between; --window asks for a time before it.
  if (facts && !flags.facts.window && !document.diagnosis.error) {
    if (auto later = look()) {
      add_windows(*facts, *later, seconds_since(looked).value);
      facts->seconds += later->seconds;
    }
  }
  if (facts && carrier) diagnosis::leave_to_owners(facts->cluster, carrier->gids);
  if (facts) {
    if (auto added = add_inspection(context, *facts, document); !added) return failed(context, added.error());
  }
  document.transport = (*measurer)->transport();
  if (document.diagnosis.error) {
    document.error = report::Trouble{*document.diagnosis.error, (*measurer)->failures()};
  }
  measurer->reset();  // releases the nodes before anything is printed
  clear_progress();
  int code = diagnosis::exit_code(document.diagnosis.verdict);
  if (document.error) {
    // An end before its time leaves a fault that was proven, and nothing weaker.
    if (code != Exit::faulty) {
      code = Exit::unknown;
      document.diagnosis.verdict = diagnosis::Verdict::unknown;
    }
    complain(document.error->error);
  }
  return show(context, flags, document, code);
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
                       app, "--algorithm", flags.algorithm,
                       [](std::string_view text) -> Result<std::string> {
                         if (text == "ring" || text == "omnireduce") return std::string(text);
                         return fail(Cause::bad_input, fmt::format("check knows no algorithm '{}'", text), {},
                                     "use ring, or omnireduce for aggregators' ports as well");
                       },
                       "NAME", "ring, or omnireduce for aggregators' ports as well"),
                   {"ring", "omnireduce"});
  add_text(app, "--aggregator-hosts", flags.aggregator_hosts, "LIST",
           "nodes that aggregate, with omnireduce; beside the workers if not given");
  add_parsed(app, "--budget", flags.budget, parse_duration, "TIME",
             "for all measurements together; a quarter later (4 s at least) what still runs is cut");
  add_whole(app, "--seed", flags.seed, 0, 1L << 62, "of the orders in which partners change");
  commands.choices(
      add_parsed(
          app, "--paths", flags.paths,
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
      app, "--fault", flags.measurer.fault,
      [](std::string_view text) -> Result<std::string> {
        auto faults = collective::parse_faults(text);
        if (!faults) return tl::unexpected(faults.error());
        return std::string(text);
      },
      "SPEC", "with --local: slow something, e.g. throttle@3>*:rate=50Mbit");
  const Option inspect =
      app.add_flag("--inspect", flags.inspect,
                   "facts alone, nothing measured: of the hosts, --from FILE... or this machine");
  app.add_flag("--no-inspect", flags.no_inspect, "measure without looking into the nodes first")
      .excludes(inspect);
  add_fact_flags(app, flags.facts);
  add_verbs_flags(commands, app, flags.verbs);
  add_parsed(app, "--pause", flags.measurer.player.pause, parse_pause, "PHASE=TIME",
             "wait before a phase (for tests)")
      .group("");
  app.footer(
      "Exit codes: 0 healthy, 1 degraded, 2 faulty, 3 could not tell.\n"
      "--from implies --inspect.\n"
      "Example: ringtrue check --hosts node[0-7] --link-rate 500Mbit");
  commands.on(app, [](Context& context) { return run(context, flags); });
}

}  // namespace ringtrue::cmd
