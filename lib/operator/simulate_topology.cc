#include "operator/fabric_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"
#include "ideal/facts.h"
#include "operator/facts.h"

namespace ringtrue::ops {
namespace {

// GPUs that have no NVLinks reach each other, and NICs, over PCIe.
bool on_pcie(const topology::Cluster& cluster) {
  for (const topology::Node& node : cluster.nodes) {
    for (const topology::Gpu& gpu : node.gpus) {
      if (gpu.nvlinks && gpu.nvlinks->empty()) return true;
    }
  }
  return false;
}

void lay_nics(const ideal::Facts& facts, ProbedFabric& out) {
  double most = 0;
  std::size_t rails = 1;
  for (const ideal::NodeFacts& node : facts.nodes) {
    rails = std::max(rails, node.rails.size());
    if (node.inter) most = std::max(most, node.inter->value);
    if (!node.inter && out.between) {
      out.between = false;
      out.why_between = node.inter_arithmetic.empty() ? "unknown" : node.inter_arithmetic;
    }
  }
  out.fabric.rails = int(std::min<std::size_t>(rails, 64));
  if (!out.between || most <= 0) return;
  out.fabric.inter.rate = BytesPerSecond(most / out.fabric.rails);
  for (std::size_t n = 0; n < facts.nodes.size(); ++n) {
    const double share = facts.nodes[n].inter->value / most;
    if (share >= 1) continue;
    out.fabric.egress[int(n)] = out.fabric.ingress[int(n)] = share;
    out.notes.push_back(fmt::format("node{}, {}, has {} of {}", n, facts.nodes[n].node,
                                    to_text(*facts.nodes[n].inter), to_text(BytesPerSecond(most))));
  }
}

}  // namespace

Result<ProbedFabric> probe_fabric(const Setup& setup, const std::vector<std::string>& from,
                                  const Control& control) {
  FactRequest request;
  const bool probe = from.size() == 1 && from[0] == "probe";
  if (!probe) request.from = from;
  auto read = read_facts(setup, request, probe && !setup.config.hosts.value.empty(), control);
  if (!read) return tl::unexpected(read.error().error);
  if (const auto trouble = trouble_of(*read)) return tl::unexpected(trouble->error);
  const auto facts = ideal::from_topology(read->cluster);
  if (!facts) return tl::unexpected(facts.error());
  ProbedFabric out;
  out.fabric.nodes = facts->inputs.nodes;
  out.fabric.ranks_per_node = std::max(facts->inputs.gpus_per_node, 1);
  out.fabric.pcie = on_pcie(read->cluster);
  lay_nics(*facts, out);
  out.inside = facts->inputs.intra.has_value();
  if (out.inside) out.fabric.intra.rate = facts->inputs.intra->value;
  for (const ideal::NodeFacts& node : facts->nodes) {
    if (!out.inside && out.why_inside.empty()) out.why_inside = node.intra_arithmetic;
  }
  std::vector<std::string> names;
  for (const ideal::NodeFacts& node : facts->nodes) names.push_back(node.node);
  out.notes.insert(out.notes.begin(), fmt::format("node0 and on: {}", fold_hostlist(names)));
  for (const std::string& line : facts->arithmetic) out.notes.push_back(line);
  for (const std::string& line : facts->notes) out.notes.push_back(line);
  return out;
}

}  // namespace ringtrue::ops
