#include "operator/facts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/plural.h"
#include "diagnosis/sweep/gpu_ideal.h"
#include "fleet/inspect.h"
#include "probe/live.h"
#include "probe/probe.h"
#include "probe/recording.h"
#include "run/report.h"
#include "topology/merge.h"

namespace ringtrue::ops {
namespace {

std::string name_here(const Setup& setup) {
  if (!setup.config.daemon.node.value.empty()) return setup.config.daemon.node.value;
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return *host ? host : "localhost";
}

// This machine as a cluster of one.
Result<topology::Cluster> cluster_here(const Setup& setup, const FactRequest& request) {
  const auto recording = record_here(setup, request);
  if (!recording) return tl::unexpected(recording.error());
  return topology::merge({probe::probe_cluster(*recording)});  // ports meet the fabric
}

}  // namespace

Result<probe::Recording> record_here(const Setup& setup, const FactRequest& request) {
  probe::LiveOptions options;
  options.root = request.root;
  options.wake_gpus = request.wake_gpus;
  return probe::read_this_machine(options, name_here(setup), request.window.value_or(Seconds(0)));
}

Result<probe::Recording> record_routes_here(const Setup& setup) {
  probe::LiveOptions options;
  options.routes = true;
  return probe::read_this_machine(options, name_here(setup), Seconds(0));
}

Seconds long_patience(const FactRequest& request) {
  probe::LiveOptions options;
  options.wake_gpus = request.wake_gpus;
  return probe::max_reading_time(options) + Seconds(2);  // its daemon says why before that
}

Facts ask_facts(const std::vector<fleet::Target>& targets, const fleet::Options& options,
                const FactRequest& request, Seconds patience) {
  const std::int64_t began = now_ns();
  Facts facts;
  std::vector<topology::Cluster> parts;
  for (fleet::NodeInspection& node : fleet::inspect(targets, options, request.reading(), patience)) {
    facts.nodes.push_back(node.node);
    if (node.facts)
      parts.push_back(std::move(*node.facts));
    else
      facts.failures.push_back({node.node, Phase::inspect, node.facts.error(), true});
  }
  facts.cluster = topology::merge(std::move(parts));
  facts.seconds = seconds_since(began).value;
  return facts;
}

Facts facts_beside(const Setup& setup, const RunnerOptions& options, const Control& control) {
  Facts facts;
  if (setup.local) {
    auto here = cluster_here(setup, {});
    if (here)
      facts.cluster = std::move(*here);
    else
      facts.failures.push_back({"this machine", Phase::inspect, here.error(), true});
    return facts;
  }
  const auto nodes = nodes_of(setup, options);
  if (!nodes) return facts;  // they were there for the measurement
  return ask_facts(nodes->targets, fleet_options(setup, {}, *nodes, control), {}, long_patience({}));
}

Outcome<Facts> read_facts(const Setup& setup, const FactRequest& request, bool hosts,
                          const Control& control) {
  const std::int64_t began = now_ns();
  Facts facts;
  if (!request.from.empty()) {
    auto cluster = probe::load(request.from);
    if (!cluster) return trouble(cluster.error());
    facts.cluster = std::move(*cluster);
  } else if (hosts) {
    auto targets = targets_of(setup);
    if (!targets) return trouble(targets.error());
    facts = ask_facts(*targets, fleet_options(setup, {}, {}, control), request, long_patience(request));
    if (facts.failures.size() == facts.nodes.size()) return tl::unexpected(*trouble_of(facts.failures));
    return facts;
  } else {
    auto here = cluster_here(setup, request);
    if (!here) return trouble(here.error());
    facts.cluster = std::move(*here);
  }
  for (const topology::Node& node : facts.cluster.nodes) facts.nodes.push_back(node.name);
  facts.seconds = seconds_since(began).value;
  return facts;
}

Result<diagnosis::Inspection> inspect(const config::Config& config, const Facts& facts) {
  run::InspectThresholds thresholds;
  for (const auto& [name, setting] : config.inspect) {
    if (auto known = run::set(thresholds, name, setting.value); !known) {
      Error error = known.error();
      error.where = setting.origin;
      return tl::unexpected(std::move(error));
    }
  }
  diagnosis::Inspection inspection = diagnosis::inspect(facts.cluster, thresholds);
  for (const Failure& f : facts.failures)
    inspection.not_checked.push_back({diagnosis::StatementKind::unread_node, {f.node}, {}, f.error.what});
  return inspection;
}

std::optional<Trouble> trouble_of(const std::vector<Failure>& failures) {
  if (failures.empty()) return std::nullopt;
  Error error = failures.front().error;
  error.where = failures.front().node;
  if (failures.size() > 1) error.what += fmt::format(" (and {})", plural(failures.size() - 1, "more node"));
  return Trouble{std::move(error), failures};
}

Outcome<TopoDocument> topo(const Setup& setup, const FactRequest& request, bool hosts,
                           const Control& control) {
  auto facts = read_facts(setup, request, hosts, control);
  if (!facts) return tl::unexpected(facts.error());
  auto inspection = inspect(setup.config, *facts);
  if (!inspection) return trouble(inspection.error());
  return TopoDocument{std::move(facts->cluster), std::move(*inspection), trouble_of(facts->failures)};
}

Outcome<NodesDocument> nodes(const Setup& setup, const Control& control) {
  auto targets = targets_of(setup, true);
  if (!targets) return trouble(targets.error());
  NodesDocument document;
  std::size_t unknown = 0;
  for (const fleet::Target& target : *targets) {
    if (target.unknown.empty() || ++unknown > 1) continue;
    document.error = Trouble{
        {Cause::bad_input, target.unknown, target.node, "check the spelling, /etc/hosts and the name server"},
        {}};
  }
  if (unknown > 1) document.error->error.what += fmt::format(" (and {})", plural(unknown - 1, "more name"));
  auto states = fleet::describe(*targets, fleet_options(setup, {}, {}, control));
  if (!states) return document.error ? tl::unexpected(*document.error) : trouble(states.error());
  document.nodes = std::move(*states);
  document.notes = daemon_notes(setup, document.nodes);
  return document;
}

topology::Cluster facts_of_nodes(const Setup& setup, const Runner& runner, const Control& control,
                                 std::vector<std::string>& notes) {
  control.tell(progress::Step{"looking at the nodes"});
  Facts facts = facts_beside(setup, {}, control);
  for (const Failure& f : facts.failures)
    notes.push_back(fmt::format("what is in {} could not be read: {}", f.node, f.error.what));
  if (runner.place().local)
    for (topology::Node& here : facts.cluster.nodes) here.name = runner.place().nodes.front();
  return std::move(facts.cluster);
}

void GpuLinks::add(const Setup& setup, const Runner& runner, const Control& control,
                   const run::RunReport& run, ideal::Inputs& inputs, std::vector<std::string>& notes) {
  if (run.gpus.empty() || run.ranks.size() < 2) return;
  if (runner.place().worker_nodes > 1) {
    if (!inputs.inter)
      notes.push_back("no ideal: the rate between the nodes is not declared; give --link-rate");
    return;
  }
  const topology::Node* node = nullptr;
  if (diagnosis::why_no_ideal(run.gpus).empty()) {
    if (!facts_) facts_ = facts_of_nodes(setup, runner, control, notes);
    for (const topology::Node& each : facts_->nodes)
      if (each.name == run.gpus.front().node) node = &each;
  }
  const diagnosis::GpuIdeal ideal = diagnosis::gpu_ideal(node, run.gpus);
  inputs.intra = ideal.intra;
  inputs.intra_efficiency = ideal.efficiency;
  notes.push_back(ideal.note);
}

}  // namespace ringtrue::ops
