#include "ideal/ideal.h"

#include <fmt/format.h>

#include "cmd/command.h"
#include "cmd/facts.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/unheeded.h"
#include "ideal/facts.h"
#include "ideal/loads.h"
#include "report/json.h"
#include "report/text.h"

namespace ringtrue::cmd {
namespace {

struct Flags {
  std::optional<int> nodes, gpus;
  std::optional<BytesPerSecond> inter, intra;
  std::optional<int> mtu;
  std::optional<std::string> algorithm;
  std::vector<std::string> nics;
  FactFlags facts;

  // Rates or a node's shape: then this machine is not what is meant.
  bool alone(const Common& common) const { return gpus || inter || intra || common.link_rate; }
};

// nullopt: flags alone say it all.
Played<std::optional<Facts>> probe(const Context& context, const Flags& flags) {
  const bool elsewhere = !flags.facts.from.empty() || context.common.hosts;
  if (!elsewhere && flags.alone(context.common)) return std::nullopt;
  return read_facts(context, flags.facts, context.common.hosts.has_value());
}

Result<void> add_facts(const Flags& flags, std::optional<BytesPerSecond> inter, const Facts& probed,
                       report::IdealDocument& document) {
  ideal::FactOptions options{flags.nodes, flags.gpus, inter, flags.intra, flags.nics};
  // Silent hosts are nodes, too.
  if (!options.nodes && !probed.failures.empty()) options.nodes = int(probed.nodes.size());
  auto facts = ideal::from_topology(probed.cluster, options);
  if (!facts) return tl::unexpected(facts.error());
  for (const report::Failure& f : probed.failures)
    facts->notes.push_back(fmt::format("{} could not be read: {}", f.node, f.error.text()));
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
  if (auto heeded = refuse_playing(context, "ideal", "use --nodes and --gpus-per-node"); !heeded)
    return failed(context, heeded.error());
  auto heeded = refuse(
      "ideal", {{flags.inter && context.common.link_rate, "--link-rate beside --inter", "leave one out"},
                {flags.facts.window.has_value(), "--window"}});
  if (heeded) heeded = check_facts(context, flags.facts, context.common.hosts.has_value());
  if (!heeded) return failed(context, heeded.error());
  report::IdealDocument document;
  std::optional<BytesPerSecond> inter = flags.inter;
  // The configuration speaks of our cluster, files may be of any.
  if (!inter && (flags.facts.from.empty() || context.common.link_rate))
    inter = context.config.link_rate.value;
  auto probed = probe(context, flags);
  std::string unread;
  if (!probed) {
    // So many nodes of a machine that cannot be read are still so many nodes.
    if (!flags.facts.from.empty() || context.common.hosts || !(flags.nodes || inter))
      return failed(context, probed.error());
    unread = "this machine could not be read: " + probed.error().error.text();
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
  const Command app =
      commands.add("ideal", "The bound and each algorithm's ideal, with the arithmetic shown");
  static Flags flags;
  add_whole(app, "--nodes", flags.nodes, 1, 4194304, "nodes");
  add_whole(app, "--gpus-per-node", flags.gpus, 1, 4194304, "GPUs (ranks, where there are none) a node");
  add_parsed(app, "--inter", flags.inter, parse_rate, "RATE",
             "one way, per node, between nodes: 400Gbit, 50GB/s");
  add_parsed(app, "--intra", flags.intra, parse_rate, "RATE", "one way, per GPU, inside a node: 450GB/s");
  add_fact_flags(app, flags.facts);
  app.add_texts("--nic", flags.nics, "NAME,...", "these carry the data; chosen by speed if not given")
      .split_at(',');
  add_whole(app, "--mtu", flags.mtu, 576, 65535, "of an Ethernet between nodes: attainable rates with TCP");
  std::vector<std::string> names;
  for (const auto& schedule : ideal::schedules()) names.emplace_back(schedule.name);
  commands.choices(add_text(app, "--algorithm", flags.algorithm, "NAME", "this one alone"), names);
  app.footer(
      "Rates and GPUs from flags alone, from --from, from --hosts, or else from this machine; flags override "
      "what "
      "is probed.\n"
      "Example:\n  ringtrue ideal --nodes 2 --gpus-per-node 8 --intra 450GB/s --inter 100GB/s");
  commands.on(app, [](Context& context) { return run(context, flags); });
}

}  // namespace ringtrue::cmd
