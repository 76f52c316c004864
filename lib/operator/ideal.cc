#include "operator/ideal.h"

#include <fmt/format.h>

#include "ideal/facts.h"
#include "ideal/ideal.h"

namespace ringtrue::ops {
namespace {

// nullopt: flags alone say it all.
Outcome<std::optional<Facts>> probe(const IdealRequest& request, const Control& control) {
  const bool elsewhere = !request.facts.from.empty() || request.hosts;
  if (!elsewhere && request.alone()) return std::nullopt;
  return read_facts(request.setup, request.facts, request.hosts, control);
}

Result<void> add_facts(const IdealRequest& request, std::optional<BytesPerSecond> inter, const Facts& probed,
                       IdealDocument& document) {
  ideal::FactOptions options{request.nodes, request.gpus,          inter,
                             request.intra, request.nvlink_domain, request.nics};
  // Silent hosts are nodes, too.
  if (!options.nodes && !probed.failures.empty()) options.nodes = int(probed.nodes.size());
  auto facts = ideal::from_topology(probed.cluster, options);
  if (!facts) return tl::unexpected(facts.error());
  for (const Failure& f : probed.failures)
    facts->notes.push_back(fmt::format("{} could not be read: {}", f.node, f.error.text()));
  document.inputs = facts->inputs;
  document.facts = std::move(*facts);
  return {};
}

void add_shape(const IdealRequest& request, std::optional<BytesPerSecond> inter, ideal::Inputs& inputs) {
  inputs.nodes = request.nodes.value_or(1);
  inputs.gpus_per_node = request.gpus.value_or(1);
  inputs.nvlink_domain = request.nvlink_domain.value_or(1);
  if (inter) inputs.inter = {*inter, ideal::Origin::declared};
  if (request.intra) inputs.intra = {*request.intra, ideal::Origin::declared};
}

}  // namespace

Outcome<IdealDocument> ideal(const IdealRequest& request, const Control& control) {
  IdealDocument document;
  std::optional<BytesPerSecond> inter = request.inter;
  // The configuration speaks of our cluster, files may be of any.
  if (!inter && (request.facts.from.empty() || request.setup.link_rate_named()))
    inter = request.setup.config.link_rate.value;
  auto probed = probe(request, control);
  std::string unread;
  if (!probed) {
    // So many nodes of a machine that cannot be read are still so many nodes.
    if (!request.facts.from.empty() || request.hosts || !(request.nodes || inter))
      return tl::unexpected(probed.error());
    unread = "this machine could not be read: " + probed.error().error.text();
    probed = std::nullopt;
  }
  if (*probed) {
    if (auto added = add_facts(request, inter, **probed, document); !added) return trouble(added.error());
  } else {
    if (!request.nics.empty())
      return trouble({Cause::bad_input, "--nic chooses among probed NICs, and nothing is probed", "",
                      "leave out --inter, --intra and --gpus-per-node, or give --from"});
    add_shape(request, inter, document.inputs);
  }
  if (request.mtu) {
    auto efficiency = ideal::ethernet_tcp(*request.mtu);
    if (!efficiency) return trouble(efficiency.error());
    document.inputs.inter_efficiency = *efficiency;
    document.inputs.infiniband = false;
  }
  auto computed = ideal::compute(document.inputs);
  if (!computed) return trouble(computed.error());
  document.ideal = std::move(*computed);
  if (!unread.empty()) document.ideal.notes.push_back(std::move(unread));
  if (request.algorithm) {
    const auto other = [&](const ideal::AlgorithmIdeal& a) { return a.algorithm != *request.algorithm; };
    std::erase_if(document.ideal.algorithms, other);
    document.ideal.in_network.clear();
  }
  return document;
}

}  // namespace ringtrue::ops
