#include "ideal/ideal.h"

#include <fmt/format.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/player.h"
#include "fleet/inspect.h"
#include "ideal/facts.h"
#include "ideal/loads.h"
#include "report/json.h"
#include "report/text.h"
#include "topology/format/format.h"
#include "topology/merge.h"
#include "topology/probe/live.h"
#include "topology/probe/probe.h"

namespace ringtrue::cmd {
namespace {

struct Flags {
  std::optional<int> nodes, gpus;
  std::optional<BytesPerSecond> inter, intra;
  std::optional<int> mtu;
  std::optional<std::string> algorithm;
  std::vector<std::string> from, nics;

  // Rates or a node's shape: then this machine is not what is meant.
  bool alone(const Common& common) const { return gpus || inter || intra || common.link_rate; }
};

// What is in the nodes, and how many there are besides.
struct Probed {
  topology::Cluster cluster;
  std::optional<int> nodes;        // as named by --hosts, silent ones included
  std::vector<std::string> notes;  // who did not answer
};

Result<Probed> ask_hosts(const Context& context) {
  auto targets = targets_of(context);
  if (!targets) return tl::unexpected(targets.error());
  fleet::InspectOptions what;
  what.window = Seconds(0);
  Probed probed;
  probed.nodes = int(targets->size());
  std::vector<topology::Cluster> parts;
  std::optional<Error> first;
  for (fleet::NodeInspection& node : fleet::inspect(*targets, fleet_options(context, {}, {}), what)) {
    if (node.facts) {
      parts.push_back(std::move(*node.facts));
      continue;
    }
    probed.notes.push_back(fmt::format("{} could not be read: {}", node.node, node.facts.error().text()));
    if (!first) first = node.facts.error();
  }
  if (parts.empty() && first) return tl::unexpected(*first);
  probed.cluster = topology::merge(std::move(parts));
  return probed;
}

Result<Probed> read_here() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  topology::LiveOptions options;
  options.fabric = false;
  auto recording = topology::read_this_machine(options, host, Seconds(0));
  if (!recording) return tl::unexpected(recording.error());
  return Probed{{{topology::probe(*recording)}, std::nullopt}, {}, {}};
}

// nullopt: flags alone say it all.
Result<std::optional<Probed>> probe(const Context& context, const Flags& flags) {
  if (!flags.from.empty() && context.common.hosts)
    return fail(Cause::bad_input, "--from and --hosts exclude each other", {}, "leave one out");
  Result<Probed> probed;
  if (!flags.from.empty()) {
    auto cluster = topology::load(flags.from);
    if (!cluster) return tl::unexpected(cluster.error());
    probed = Probed{std::move(*cluster), {}, {}};
  } else if (context.common.hosts) {
    probed = ask_hosts(context);
  } else if (flags.alone(context.common)) {
    return std::nullopt;
  } else {
    probed = read_here();
  }
  if (!probed) return tl::unexpected(probed.error());
  return std::move(*probed);
}

Result<void> add_facts(const Flags& flags, std::optional<BytesPerSecond> inter, const Probed& probed,
                       report::IdealDocument& document) {
  ideal::FactOptions options{flags.nodes ? flags.nodes : probed.nodes, flags.gpus, inter, flags.intra,
                             flags.nics};
  auto facts = ideal::from_topology(probed.cluster, options);
  if (!facts) return tl::unexpected(facts.error());
  facts->notes.insert(facts->notes.begin(), probed.notes.begin(), probed.notes.end());
  document.inputs = facts->inputs;
  document.facts = std::move(*facts);
  return {};
}

void add_flags(const Flags& flags, std::optional<BytesPerSecond> inter, ideal::Inputs& inputs) {
  inputs.nodes = flags.nodes.value_or(1);
  inputs.gpus_per_node = flags.gpus.value_or(1);
  if (inter) inputs.inter = {*inter, ideal::Origin::declared};
  if (flags.intra) inputs.intra = {*flags.intra, ideal::Origin::declared};
}

int run(Context& context, const Flags& flags) {
  report::IdealDocument document;
  std::optional<BytesPerSecond> inter = flags.inter;
  // The configuration speaks of our cluster, files may be of any.
  if (!inter && (flags.from.empty() || context.common.link_rate)) inter = context.config.link_rate.value;
  auto probed = probe(context, flags);
  std::string unread;
  if (!probed) {
    // So many nodes of a machine that cannot be read are still so many nodes.
    if (!flags.from.empty() || context.common.hosts || !(flags.nodes || inter))
      return failed(context, probed.error());
    unread = "this machine could not be read: " + probed.error().text();
    probed = std::nullopt;
  }
  if (*probed) {
    if (auto added = add_facts(flags, inter, **probed, document); !added)
      return failed(context, added.error());
  } else {
    if (!flags.nics.empty())
      return failed(context, Error{Cause::bad_input, "--nic chooses among probed NICs, and nothing is probed",
                                   "", "leave out --inter, --intra and --gpus-per-node, or give --from"});
    add_flags(flags, inter, document.inputs);
  }
  if (flags.mtu) {
    auto efficiency = ideal::ethernet_tcp(*flags.mtu);
    if (!efficiency) return failed(context, efficiency.error());
    document.inputs.inter_efficiency = *efficiency;
  }
  auto ideal = ideal::compute(document.inputs);
  if (!ideal) return failed(context, ideal.error());
  document.ideal = std::move(*ideal);
  if (!unread.empty()) document.ideal.notes.push_back(std::move(unread));
  if (flags.algorithm) {
    const ideal::AlgorithmIdeal* found = document.ideal.find(*flags.algorithm);
    if (found == nullptr) {
      std::string names;
      for (const auto& a : document.ideal.algorithms) names += (names.empty() ? "" : ", ") + a.name;
      return failed(context, Error{Cause::bad_input, fmt::format("unknown algorithm '{}'", *flags.algorithm),
                                   "", fmt::format("use one of {}", names)});
    }
    const ideal::AlgorithmIdeal only = *found;
    document.ideal.algorithms = {only};
    document.ideal.in_network.clear();
  }
  return print(context.common.json ? report::json(document) : report::text(document, context.style),
               Exit::healthy);
}

}  // namespace

void add_ideal(Commands& commands) {
  CLI::App& app = commands.add("ideal", "The bound and each algorithm's ideal, with the arithmetic shown");
  static Flags flags;
  add_whole(app, "--nodes", flags.nodes, 1, 4194304, "nodes");
  add_whole(app, "--gpus-per-node", flags.gpus, 1, 4194304, "GPUs (ranks, where there are none) a node");
  add_parsed(app, "--inter", flags.inter, parse_rate, "RATE",
             "one way, per node, between nodes: 400Gbit, 50GB/s");
  add_parsed(app, "--intra", flags.intra, parse_rate, "RATE", "one way, per GPU, inside a node: 450GB/s");
  app.add_option("--from", flags.from,
                 "work it out from files: topo JSON, gathered bundles, hwloc and NCCL XML")
      ->type_name("FILE");
  app.add_option("--nic", flags.nics, "these carry the data; chosen by speed if not given")
      ->type_name("NAME")
      ->delimiter(',');
  add_whole(app, "--mtu", flags.mtu, 576, 65535, "of an Ethernet between nodes: attainable rates with TCP");
  std::vector<std::string> names;
  for (const auto& schedule : ideal::schedules()) names.emplace_back(schedule.name);
  commands.choices(app.add_option("--algorithm", flags.algorithm, "this one alone")->type_name("NAME"),
                   names);
  app.footer(
      "Rates and GPUs from flags alone, from --from, from --hosts, or else from this machine; flags override "
      "what "
      "is probed.\n"
      "Example: ringtrue ideal --nodes 2 --gpus-per-node 8 --intra 450GB/s --inter 100GB/s");
  commands.on(app, [](Context& context) { return run(context, flags); });
}

}  // namespace ringtrue::cmd
