#include "ideal/ideal.h"

#include <fmt/format.h>

#include "cmd/command.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "ideal/loads.h"
#include "report/json.h"
#include "report/text.h"

namespace ringtrue::cmd {
namespace {

struct Flags {
  int nodes = 1, gpus = 1;
  std::optional<BytesPerSecond> inter, intra;
  std::optional<int> mtu;
  std::optional<std::string> algorithm;
};

int run(Context& context, const Flags& flags) {
  report::IdealDocument document;
  ideal::Inputs& inputs = document.inputs;
  inputs.nodes = flags.nodes;
  inputs.gpus_per_node = flags.gpus;
  std::optional<BytesPerSecond> inter = flags.inter;
  if (!inter) inter = context.config.link_rate.value;
  if (inter) inputs.inter = {*inter, ideal::Origin::declared};
  if (flags.intra) inputs.intra = {*flags.intra, ideal::Origin::declared};
  if (flags.mtu) {
    auto efficiency = ideal::ethernet_tcp(*flags.mtu);
    if (!efficiency) return failed(context, efficiency.error());
    inputs.inter_efficiency = *efficiency;
  }
  auto ideal = ideal::compute(inputs);
  if (!ideal) return failed(context, ideal.error());
  document.ideal = std::move(*ideal);
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
  add_whole(app, "--mtu", flags.mtu, 576, 65535, "of an Ethernet between nodes: attainable rates with TCP");
  std::vector<std::string> names;
  for (const auto& schedule : ideal::schedules()) names.emplace_back(schedule.name);
  commands.choices(app.add_option("--algorithm", flags.algorithm, "this one alone")->type_name("NAME"),
                   names);
  app.footer("Example: ringtrue ideal --nodes 2 --gpus-per-node 8 --intra 450GB/s --inter 100GB/s");
  commands.on(app, [](Context& context) { return run(context, flags); });
}

}  // namespace ringtrue::cmd
