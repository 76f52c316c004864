#include "diagnosis/sweep/gpu_ideal.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ideal/facts.h"

namespace ringtrue::diagnosis {

using topology::Gpu;
using topology::Node;
using topology::NvLink;

namespace {

GpuIdeal none(std::string why) {
  return {{}, {}, fmt::format("no ideal: {}", why)};
}

// Whether another GPU is at the link's other end that takes no part, as far as is known.
bool leads_out(const NvLink& link, const std::vector<Gpu>& used) {
  return link.remote == topology::Remote::gpu && !link.remote_address.empty() &&
         std::none_of(used.begin(), used.end(), [&](const Gpu& gpu) {
           return gpu.address.empty() || gpu.address == link.remote_address;
         });
}

}  // namespace

std::string why_no_ideal(const std::vector<run::GpuUse>& gpus) {
  std::set<std::string> seen;
  for (const run::GpuUse& part : gpus) {
    if (part.play != run::GpuPlay::kernel && part.play != run::GpuPlay::copy_engines)
      return "the host's memory takes part, and no fact tells what that carries";
    if (part.ranks.size() > 1 || !seen.insert(part.uuid).second)
      return "ranks share a GPU, and no fact tells what a GPU's memory carries; see sweep --gpu";
  }
  return {};
}

GpuIdeal gpu_ideal(const Node* node, const std::vector<run::GpuUse>& gpus) {
  if (std::string why = why_no_ideal(gpus); !why.empty()) return none(std::move(why));
  if (!node) return none("what is in the node could not be read");
  const bool staged = std::any_of(gpus.begin(), gpus.end(), [](const run::GpuUse& part) {
    return std::find(part.ways.begin(), part.ways.end(), run::GpuWay::staged) != part.ways.end();
  });
  topology::Cluster cluster;
  cluster.nodes = {*node};
  std::vector<Gpu>& used = cluster.nodes.front().gpus;
  used.clear();
  for (const run::GpuUse& part : gpus) {
    const auto found = std::find_if(node->gpus.begin(), node->gpus.end(),
                                    [&](const Gpu& gpu) { return gpu.uuid.is(part.uuid); });
    if (found == node->gpus.end()) return none(fmt::format("the node's facts do not have {}", part.uuid));
    used.push_back(*found);
    if (staged) used.back().nvlinks.emplace();  // which carry nothing of it
  }
  for (Gpu& gpu : used)
    if (gpu.nvlinks) std::erase_if(*gpu.nvlinks, [&](const NvLink& link) { return leads_out(link, used); });
  const auto facts = ideal::from_topology(cluster);
  if (!facts) return none(facts.error().what);
  const ideal::NodeFacts& of = facts->nodes.front();
  if (!of.intra) return none(fmt::format("what the GPUs' links carry is {}", of.intra_arithmetic));
  return {ideal::Rate{*of.intra, ideal::Origin::probed, of.intra_arithmetic}, of.intra_efficiency,
          fmt::format("the ideal is that of {}{}", of.intra_arithmetic,
                      staged ? ", since the data passes through the host" : "")};
}

}  // namespace ringtrue::diagnosis
