#include "operator/ideal.h"

#include "cmd/command.h"
#include "cmd/flag_groups.h"
#include "cmd/inapplicable.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "ideal/loads.h"

namespace ringtrue::cmd {
namespace {

int show_ideal(Context& context, ops::IdealRequest request) {
  request.hosts = context.common.given("--hosts");
  const bool two_rates = request.inter && context.common.given("--link-rate");
  auto fits = reject("ideal", {running(context, "use --nodes and --gpus-per-node"),
                               {{two_rates, "--link-rate beside --inter", "leave one out"},
                                {request.facts.window.has_value(), "--window"}}});
  if (fits) fits = check_facts(context, request.facts, request.hosts);
  if (!fits) return failed(context, fits.error());
  request.setup = setup_of(context);
  const auto document = ops::ideal(request, control({}));
  if (!document) return failed(context, document.error());
  return show(context, *document, Exit::healthy);
}

}  // namespace

Command ideal_command() {
  static ops::IdealRequest request;
  std::vector<std::pair<std::string, collective::AlgorithmId>> algorithms;
  for (const auto& schedule : ideal::schedules())
    algorithms.emplace_back(key_of(schedule.algorithm), schedule.algorithm);
  const Flags rates = {
      whole("--nodes", request.nodes, 1, 4194304, "number of nodes (as probed, else 1)"),
      whole("--gpus-per-node", request.gpus, 1, 4194304,
            "GPUs (ranks, where there are none) per node (as probed, else 1)"),
      whole("--nvlink-domain", request.nvlink_domain, 1, 4194304,
            "nodes that one NVLink network joins, as 18 trays of NVL72 (as probed, else 1)"),
      parsed("--inter", request.inter, parse_rate, "RATE",
             "rate between nodes, one way, per node: 400Gbit, 50GB/s"),
      parsed("--intra", request.intra, parse_rate, "RATE", "rate inside a node, one way, per GPU: 450GB/s"),
  };
  const Flags rest = {
      texts("--nic", request.nics, "NAME,...", "NICs that carry the data; chosen by speed if not given", ','),
      whole("--mtu", request.mtu, 576, 65535,
            "MTU of an Ethernet between nodes, for attainable rates with TCP (none: nominal rates alone)"),
      choice("--algorithm", request.algorithm, algorithms, "NAME", "only this one"),
  };
  return {"ideal", "Computes the bound and each algorithm's ideal, with the arithmetic shown",
          join({rates, fact_flags(request.facts), rest}),
          "Rates and GPUs from flags alone, from --from, from --hosts, or else from this machine; flags "
          "override what is probed.\n"
          "Example:\n  ringtrue ideal --nodes 2 --gpus-per-node 8 --intra 450GB/s --inter 100GB/s",
          [](Context& context) { return show_ideal(context, request); }};
}

}  // namespace ringtrue::cmd
