#include "operator/ideal.h"

#include "cmd/command.h"
#include "cmd/fact_flags.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "ideal/loads.h"
#include "report/json/json.h"
#include "report/text/text.h"

namespace ringtrue::cmd {
namespace {

int run(Context& context, ops::IdealRequest request) {
  request.hosts = context.common.hosts.has_value();
  if (auto status = reject_playing(context, "ideal", "use --nodes and --gpus-per-node"); !status)
    return failed(context, status.error());
  auto status = reject_inapplicable(
      "ideal", {{request.inter && context.common.link_rate, "--link-rate beside --inter", "leave one out"},
                {request.facts.window.has_value(), "--window"}});
  if (status) status = check_facts(context, request.facts, context.common.hosts.has_value());
  if (!status) return failed(context, status.error());
  request.setup = setup_of(context);
  const auto document = ops::ideal(request, control({}));
  if (!document) return failed(context, document.error());
  return show(context, *document, Exit::healthy);
}

}  // namespace

void add_ideal(Commands& commands) {
  const Command app =
      commands.add("ideal", "The bound and each algorithm's ideal, with the arithmetic shown");
  static ops::IdealRequest flags;
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
