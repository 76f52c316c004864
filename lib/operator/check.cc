#include "operator/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/plural.h"
#include "diagnosis/check.h"
#include "diagnosis/findings/above.h"
#include "diagnosis/findings/combine.h"
#include "diagnosis/findings/small_buffers.h"
#include "diagnosis/sweep/foreign_ports.h"
#include "diagnosis/traced_routes.h"
#include "ideal/facts.h"
#include "operator/events.h"
#include "operator/history_record.h"
#include "operator/measurer.h"
#include "operator/rdma_settings.h"
#include "operator/routes.h"
#include "operator/structure.h"
#include "topology/merge.h"

namespace ringtrue::ops {
namespace {

// A library that hangs on a node is given up after 3 s; a node that says nothing at all is the check's
// business.
constexpr Seconds facts_patience{5};
constexpr std::size_t most_events_told = 8;

constexpr Seconds least_budget{1};

// Beyond the budget, for the last experiment: it may take longer than it was thought to.
Seconds grace_of(Seconds budget) {
  return Seconds(std::max(4.0, budget.value / 4));
}

std::vector<std::string> names_of(const diagnosis::Measurer& measurer) {
  std::vector<std::string> names;
  for (int node = 0; node < measurer.nodes(); ++node) names.push_back(measurer.name(node));
  return names;
}

// Every node traces its connections to all others.
constexpr int most_nodes_traced = 64;
constexpr double most_that_change = 0.25;  // of ways, from one trace to the next

// The ways of the connections that will be measured, as far as routers tell. What keeps them from being known
// costs the check no more than what it is then not told.
void trace_ways(const Carrier& carrier, RunMeasurer& measurer, std::vector<std::string>& notes) {
  auto ways = measurer.trace();
  if (!ways) {
    notes.push_back("routes were not traced: " + ways.error().text());
    return;
  }
  const bool silent = std::none_of(ways->begin(), ways->end(),
                                   [](const run::Way& way) { return way.known || !way.routers.empty(); });
  if (carrier.transport == run::Transport::verbs && silent) {
    notes.emplace_back(
        "routes were not traced: InfiniBand has no routers to ask, and of RoCE only adapters that take their "
        "source port from the flow label can be traced, over one rail; use --transport tcp, or give "
        "forwarding tables");
    return;
  }
  // Routers that choose by more than addresses and ports show it when asked again at once.
  const auto changed = measurer.changed_ways();
  const auto crossing = std::count_if(
      ways->begin(), ways->end(), [](const run::Way& way) { return way.known && way.routers.size() > 1; });
  if (double(changed.size()) > most_that_change * double(crossing)) {
    notes.push_back(
        fmt::format("routes were traced and not used: {} of {} ways were others when traced again: "
                    "routers do not choose them by addresses and ports alone",
                    changed.size(), crossing));
    return;
  }
  for (run::Way& way : *ways)
    if (std::find(changed.begin(), changed.end(), std::pair<int, int>(way.source, way.destination)) !=
        changed.end())
      way.known = false;
  const auto known = std::count_if(ways->begin(), ways->end(), [](const run::Way& way) { return way.known; });
  diagnosis::Structure structure = measurer.structure();
  structure.routes = diagnosis::traced_routes(names_of(measurer), *ways);
  const char* const then =
      structure.routes ? ""
      : 2 * std::size_t(known) < ways->size()
          ? "; too few to tell trunks apart: let routers answer packets that have lived too long"
          : "; no trunk is between these nodes";
  notes.push_back(
      fmt::format("routes: {} of {} traced to their end{}", known, plural(ways->size(), "connection"), then));
  if (!structure.routes) return;
  structure.leaf = structure.routes->leaves();
  measurer.hang(std::move(structure));
}

// What of the command's time is for leases, facts and release, beside the budget.
constexpr Seconds usual_overhead{3};

// All but those that do not answer: to ask them again would take as long again.
std::vector<fleet::Target> without(const std::vector<Failure>& dead, std::vector<fleet::Target> targets) {
  for (const Failure& f : dead)
    std::erase_if(targets, [&](const auto& target) { return target.node == f.node; });
  return targets;
}

// Facts alone: of files, the hosts, or this machine.
Outcome<CheckDocument> inspect_only(const CheckRequest& request, CheckDocument document,
                                    const Control& control) {
  diagnosis::Diagnosis& d = document.diagnosis;
  document.deadlines.reset();
  FactRequest asked = request.facts;
  if (!asked.window && asked.from.empty()) asked.window = Seconds(1);
  auto facts = read_facts(request.setup, asked, !request.setup.config.hosts.value.empty(), control);
  if (!facts) {
    document.error = facts.error();
    for (const Failure& f : document.error->failures) d.nodes.push_back(f.node);
    return document;
  }
  auto inspection = inspect(request.setup.config, *facts);
  if (!inspection) return trouble(inspection.error());
  d.nodes = facts->nodes;
  d.verdict = diagnosis::Verdict::healthy;
  document.inspection = Inspected{inspection->rules, facts->seconds};
  document.error = trouble_of(facts->failures);
  if (!document.error && !inspection->unread.empty())
    document.error =
        Trouble{{Cause::unavailable, "neither its PCI devices nor its network devices could be listed",
                 inspection->unread.front(), "see why under \"not checked\""},
                {}};
  diagnosis::combine(d, std::move(*inspection));
  d.cost.seconds = Seconds(facts->seconds);
  if (document.error) {
    // A node that was not seen leaves a fault that was proven, and nothing weaker.
    if (d.verdict != diagnosis::Verdict::faulty) d.verdict = diagnosis::Verdict::unknown;
  }
  return document;
}

// What the daemons of a check have to say of their nodes, added to what was measured between them. A daemon
// that cannot say takes nothing from the check.
Result<void> add_inspection(const config::Config& config, const Facts& facts, CheckDocument& document) {
  auto inspection = inspect(config, facts);
  if (!inspection) return tl::unexpected(inspection.error());
  document.inspection = Inspected{inspection->rules, facts.seconds};
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
ideal::Inputs wires_of(const Setup& setup, const std::optional<Facts>& facts) {
  ideal::Inputs wires;
  if (setup.local) return wires;
  if (const auto& rate = setup.config.link_rate.value) {
    wires.inter = {*rate, ideal::Origin::declared, {}};
  } else if (facts) {
    if (const auto known = ideal::from_topology(facts->cluster)) wires.inter = known->inputs.inter;
  }
  return wires;
}

}  // namespace

namespace {

// What TCP carries in a packet: its headers, with time stamps, take 52 bytes of the MTU.
double segment_of(const std::vector<run::Network>& networks, double otherwise) {
  int least = 0;
  for (const run::Network& n : networks) {
    const int mtu = n.path_mtu > 0 ? std::min(n.path_mtu, n.mtu) : n.mtu;
    if (mtu > 52) least = least > 0 ? std::min(least, mtu) : mtu;
  }
  return least > 0 ? least - 52 : otherwise;
}

// At once: measuring the others takes longer than anybody should wait for that.
void tell_cut_off(const std::vector<diagnosis::Finding>& findings, const Control& control) {
  std::vector<diagnosis::Candidate> told;
  for (const diagnosis::Finding& f : findings) told.push_back({f.scope, f.confidence, true});
  if (!told.empty()) control.tell(progress::Suspects{std::move(told)});
}

Result<Carrier> carrier_of_all(RunMeasurer& measurer, const std::vector<int>& left_out) {
  std::vector<int> who;
  for (int node = 0; node < measurer.nodes() && !left_out.empty(); ++node)
    if (std::find(left_out.begin(), left_out.end(), node) == left_out.end()) who.push_back(node);
  const bool nobody = measurer.nodes() < 2 || (!left_out.empty() && who.size() < 2);
  return nobody ? Result<Carrier>(Carrier{}) : measurer.settle(std::move(who));
}

}  // namespace

Result<Seconds> parse_budget(std::string_view text) {
  auto budget = parse_duration(text);
  if (budget && *budget < least_budget)
    return fail(Cause::bad_input, fmt::format("nothing can be measured in {}", text), {},
                "give it 1s at least; 16s is usual");
  return budget;
}

Outcome<CheckDocument> check(const CheckRequest& request, const Control& control) {
  const Setup& setup = request.setup;
  CheckDocument document;
  document.warning = setup.config.warning.value;
  document.critical = setup.config.critical.value;
  document.deadlines = setup.deadlines();
  document.started_us = wall_clock_us();
  if (request.inspect || !request.facts.from.empty())
    return inspect_only(request, std::move(document), control);
  const bool omnireduce = request.algorithm == collective::AlgorithmId::omnireduce;
  if (request.aggregator_hosts && !omnireduce) {
    return trouble({Cause::bad_input, "--aggregator-hosts needs --algorithm omnireduce", "", ""});
  }
  if (request.aggregator_hosts && setup.local) {
    return trouble(
        {Cause::bad_input, "--local and --aggregator-hosts exclude each other", "", "leave one out"});
  }
  if ((request.trace || request.probe_routes) && setup.local)
    return trouble({Cause::bad_input,
                    fmt::format("between ranks of one process there are no routes to {}",
                                request.trace ? "trace" : "read"),
                    "--routes", "leave it out"});
  const auto rdma = rdma_settings(setup, short_timeouts());
  if (!rdma) return trouble(rdma.error());
  const std::int64_t began = now_ns();
  MeasurerRequest measuring;
  measuring.fault = request.fault;
  measuring.verbs = *rdma;
  // A connection's slow start is over within a hundredth of an experiment; twice the experiments tell more.
  measuring.warmup = 0;
  measuring.paced = true;
  measuring.runner.outlive_the_dead = true;
  std::optional<KnownRoutes> routes;
  if (!request.routes.empty()) {
    auto known = read_routes(request.routes);
    if (!known) return trouble(known.error());
    routes = std::move(*known);
  } else if (request.probe_routes) {  // before any node is held
    auto known = live_routes(setup, true, control);
    if (!known) return tl::unexpected(known.error());
    routes = std::move(*known);
  }
  // Only round trips between many pairs at once take several ranks a node: to guess leaves, where nobody
  // told.
  if (!request.leaves && !routes) measuring.runner.spare_ranks = diagnosis::most_ranks_a_node - 1;
  if (omnireduce)
    measuring.runner.aggregators = {std::nullopt, request.aggregator_hosts,
                                    request.aggregator_hosts.has_value()};
  auto measurer = make_measurer(setup, measuring, control);
  if (!measurer) {
    document.error = measurer.error();
    for (const Failure& f : document.error->failures) document.diagnosis.nodes.push_back(f.node);
    if (!setup.local) {
      if (auto nodes = nodes_of(setup, measuring.runner)) {
        document.diagnosis.nodes.clear();
        for (const auto& target : nodes->targets) document.diagnosis.nodes.push_back(target.node);
      }
    }
    document.diagnosis.cost.seconds = seconds_since(began);
    // Without anything measured there is nothing to show but who failed.
    return document;
  }

  const auto reached = (*measurer)->reach();
  if (reached) {
    document.networks = reached->networks;
    tell_cut_off(reached->verdict.findings, control);
  }
  Result<diagnosis::Structure> structure = diagnosis::Structure{};
  if (request.leaves) structure = structure_by_leaves(*request.leaves, names_of(**measurer));
  if (routes) structure = structure_by_routes(std::move(routes->routes), names_of(**measurer));
  if (!structure) return trouble(structure.error());
  const std::optional<int>& local = setup.local;
  std::optional<Nodes> nodes;
  if (auto known = nodes_of(setup, measuring.runner); known && !local) nodes = std::move(*known);
  const auto look = [&]() -> std::optional<Facts> {
    if (request.no_inspect || !nodes) return std::nullopt;
    const std::vector<Failure> dead = (*measurer)->dead();
    Facts facts =
        ask_facts(without(dead, nodes->targets), fleet_options(setup, {}, *nodes, control), request.facts,
                  request.facts.wake_gpus ? long_patience(request.facts) : facts_patience);
    for (const Failure& f : dead) {
      facts.nodes.push_back(f.node);
      facts.failures.push_back({f.node, Phase::inspect, f.error, true});
    }
    return facts;
  };
  std::optional<Facts> facts = look();
  std::vector<std::string> of_daemons;
  if (nodes) {
    const auto states = fleet::describe(without((*measurer)->dead(), nodes->targets),
                                        fleet_options(setup, {}, *nodes, control));
    if (states) of_daemons = daemon_notes(setup, *states);
  }
  if (nodes && !request.no_inspect)
    document.events = worth_telling(events_of(without((*measurer)->dead(), nodes->targets),
                                              fleet_options(setup, {}, *nodes, control), Seconds(3600)),
                                    most_events_told);
  const std::int64_t looked = now_ns();
  if (facts) structure->port_rates = port_rates(facts->cluster, names_of(**measurer));
  structure->one_machine = on_one_machine(document.networks);
  (*measurer)->hang(std::move(*structure));

  diagnosis::Options options;
  if (!local) options.link_rate = setup.config.link_rate.value;
  options.warning = document.warning;
  options.critical = document.critical;
  options.budget = request.budget.value_or(options.budget);
  if (!request.budget) options.budget_at_most = diagnosis::usual_budget_at_most;
  options.seed = std::uint64_t(request.seed.value_or(1));
  options.path_coverage = request.paths.value_or(options.path_coverage);
  if (omnireduce) options.workers = (*measurer)->workers();
  options.on_progress = [&control](diagnosis::Stage stage, const std::string& what, double used) {
    control.tell(progress::Experiment{stage, what, used});
  };
  std::int64_t check_began = 0;
  options.on_budget = [&](Seconds budget, std::optional<Seconds> reading) {
    (*measurer)->end_by(Deadline::in(budget + grace_of(budget) - seconds_since(check_began)));
    control.tell(progress::Budget{budget, reading});
  };
  options.on_suspects = [&control](const std::vector<diagnosis::Candidate>& suspects) {
    control.tell(progress::Suspects{suspects});
  };
  options.cancelled = [&control] { return control.stopped(); };
  auto carrier = !reached ? Result<Carrier>(tl::unexpected(reached.error()))
                          : carrier_of_all(**measurer, reached->verdict.left_out);
  if (carrier) {
    document.notes = carrier->notes;
    if (routes) document.notes.insert(document.notes.end(), routes->notes.begin(), routes->notes.end());
    options.left_out = reached->verdict.left_out;
    if (carrier->transport == run::Transport::tcp) {
      std::vector<std::string> faster = notes_on(document.networks);
      std::move(faster.begin(), faster.end(), std::back_inserter(document.notes));
      options.segment = segment_of(document.networks, options.segment);
    } else {
      document.networks.clear();
    }
    document.notes.insert(document.notes.end(), of_daemons.begin(), of_daemons.end());
    if (const std::string unused = unused_rdma(setup);
        carrier->transport != run::Transport::verbs && !unused.empty())
      document.notes.push_back(unused);
    options.efficiency = efficiency(*carrier);
    // Waiting for nodes that do not answer is at the cost of the measurement, not of whoever waits for both.
    if (!request.budget && !(*measurer)->dead().empty()) {
      const double late = std::max(0.0, seconds_since(began).value - usual_overhead.value);
      options.budget = Seconds(std::max(options.budget.value / 2, options.budget.value - late));
    }
    if (request.trace && (*measurer)->nodes() > most_nodes_traced)
      document.notes.push_back(fmt::format(
          "routes were not traced: {} nodes, and at most {} trace each other; give forwarding tables",
          (*measurer)->nodes(), most_nodes_traced));
    else if (request.trace && (*measurer)->nodes() > 1)
      trace_ways(*carrier, **measurer, document.notes);
    check_began = now_ns();
    (*measurer)->end_by(Deadline::in(options.budget + grace_of(options.budget)));
    document.diagnosis = diagnosis::run_check(**measurer, options);
    if (carrier->transport == run::Transport::tcp) {
      std::map<std::string, std::uint64_t> buffers;
      for (const run::Network& network : document.networks) buffers[network.node] = network.receive_buffer;
      diagnosis::name_small_buffers(buffers, document.diagnosis);
    }
    diagnosis::combine(document.diagnosis, reached->verdict.findings);
    if (nodes) add_commands(request.again, nodes->targets, document.diagnosis.findings);
  } else {
    for (int node = 0; node < (*measurer)->nodes(); ++node)
      document.diagnosis.nodes.push_back((*measurer)->name(node));
    document.diagnosis.error = carrier.error();
  }
  if (local) {
    document.diagnosis.not_checked.push_back({diagnosis::StatementKind::one_process,
                                              {},
                                              {{"ranks", *local},
                                               {"pace_Bps", local_pace(int(*local))},
                                               {"link_rate_named", setup.link_rate_named()}}});
  }
  diagnosis::hold_against_ideal(wires_of(setup, facts), document.diagnosis);
  // Counters that are read twice tell of the time under load between; --window asks for a time before it.
  if (facts && !request.facts.window && !document.diagnosis.error) {
    if (auto later = look()) {
      add_windows(*facts, *later, seconds_since(looked).value);
      facts->seconds += later->seconds;
    }
  }
  if (facts && carrier) diagnosis::drop_foreign_ports(facts->cluster, carrier->gids);
  if (facts) {
    document.facts = facts_to_record(facts->cluster);
    if (auto added = add_inspection(setup.config, *facts, document); !added) return trouble(added.error());
  }
  document.transport = (*measurer)->transport();
  if (document.diagnosis.error) {
    document.error = Trouble{*document.diagnosis.error, (*measurer)->failures()};
  }
  measurer->reset();  // releases the nodes before anything is printed
  // An end before its time leaves a fault that was proven, and nothing weaker.
  if (document.error && document.diagnosis.verdict != diagnosis::Verdict::faulty)
    document.diagnosis.verdict = diagnosis::Verdict::unknown;
  return document;
}

}  // namespace ringtrue::ops
