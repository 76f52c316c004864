#include "operator/fabric_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/file.h"
#include "base/hostlist.h"
#include "base/plural.h"
#include "config/config.h"
#include "ideal/facts.h"
#include "operator/facts.h"
#include "sim/network.h"
#include "sim/settings.h"

namespace ringtrue::ops {
namespace {

constexpr std::size_t max_bytes = 1 << 20;

// Settings of the file, the preset first whatever their order.
Result<void> read_fabric(const std::string& name, sim::Description& into) {
  const auto text = read_file(name, max_bytes);
  if (!text)
    return fail(Cause::bad_input, text.error().code == EFBIG ? "is larger than 1M" : "cannot be read", name,
                "give a TOML file of settings like nodes = 128");
  auto given = config::read_toml(*text, name);
  if (!given) {
    Error error = given.error();
    error.next = "correct the file: settings like nodes = 128, nic = \"400Gbit\"";
    return tl::unexpected(std::move(error));
  }
  for (config::Given& one : *given) std::replace(one.key.begin(), one.key.end(), '_', '-');
  std::stable_sort(given->begin(), given->end(), [](const config::Given& a, const config::Given& b) {
    return (a.key == "preset") > (b.key == "preset");
  });
  std::map<std::string, std::string> before;
  for (const config::Given& one : *given) {
    if (auto single = config::not_a_list(one); !single) return single;
    if (const auto [twice, first] = before.try_emplace(one.key, one.origin); !first)
      return fail(Cause::bad_input, fmt::format("{} is there already: {}", one.key, twice->second),
                  one.origin);
    const auto other = before.find(one.key == "nic" ? "inter" : one.key == "inter" ? "nic" : "");
    if (other != before.end())
      return fail(Cause::bad_input, fmt::format("inter and nic exclude each other: {}", other->second),
                  one.origin, "inter is a node's rate, nic one NIC's");
    auto done = sim::set(into, one.key, one.text);
    if (done) continue;
    Error error = done.error();
    if (error.what.find(one.key) == std::string::npos) error.what = one.key + ": " + error.what;
    error.where = one.origin;
    return tl::unexpected(std::move(error));
  }
  return {};
}

}  // namespace

Result<sim::Fabric> fabric_of(const FabricRequest& request, std::optional<BytesPerSecond> link_rate,
                              const ProbedFabric* probed, bool grows) {
  sim::Description description;
  description.fabric.nodes = 8;
  if (probed) description.fabric = probed->fabric;
  if (link_rate) description.fabric.inter.rate = *link_rate;
  const auto preset = request.given.find("preset");
  if (preset != request.given.end()) {
    if (auto done = sim::set(description, "preset", preset->second); !done)
      return tl::unexpected(done.error());
  }
  if (!request.file.empty()) {
    if (auto done = read_fabric(request.file, description); !done) return tl::unexpected(done.error());
  }
  if (probed && request.has("preset")) {
    return fail(Cause::bad_input, "--topology and --preset exclude each other", {}, "leave one out");
  }
  if (request.has("inter") && request.has("nic")) {
    return fail(Cause::bad_input, "--inter and --nic exclude each other", {},
                "--inter is a node's rate, --nic one NIC's");
  }
  for (const auto& [name, text] : request.given) {
    if (name == "preset") continue;
    if (auto done = sim::set(description, name, text); !done) return tl::unexpected(done.error());
  }
  if (probed) {
    sim::Fabric& fabric = description.fabric;
    const bool told = request.tells_rate() || link_rate;
    if ((fabric.nodes > 1 || grows) && !probed->between && !told)
      return fail(Cause::bad_input, fmt::format("the rate between nodes: {}", probed->why_between),
                  "--topology", "give it with --nic (of one NIC) or --inter (of a node)");
    if (fabric.ranks_per_node > 1 && !probed->inside && !request.has("intra") && request.file.empty())
      return fail(Cause::bad_input, fmt::format("the rate inside a node: {}", probed->why_inside),
                  "--topology", "give it with --intra");
    if (told || request.has("rails") || request.has("nodes")) {  // other nodes than those that were seen
      fabric.egress.clear();
      fabric.ingress.clear();
    }
  }
  return description.finished();
}

std::string where_of(const sim::Fabric& f) {
  const int ranks = f.nodes * f.ranks_per_node;
  std::string out = fmt::format("{} on {}", plural(ranks, "rank"), plural(f.nodes, "node"));
  if (f.nodes > 1) {
    out += fmt::format(", {} between nodes after {}", to_text(f.inter.rate * double(f.rails)),
                       to_text(f.inter.latency));
    if (f.rails > 1) out += fmt::format(" over {} rails", f.rails);
  }
  if (f.ranks_per_node > 1) {
    out += fmt::format(", {} inside after {}", to_text(f.intra.rate), to_text(f.intra.latency));
  }
  if (f.gpu_pcie.value > 0 && !f.pcie && f.nodes > 1)
    out += fmt::format(", {} from a GPU to its NICs", to_text(f.gpu_pcie));
  if (f.leaf > 0 && f.nodes > 1) {
    const sim::Levels levels = sim::levels_of(f);
    out += fmt::format(", {} below a leaf, {}", plural(f.leaf, "node"), plural(levels.all_spines(), "spine"));
    if (f.oversubscription != 1) out += fmt::format(", oversubscribed {:g}:1", f.oversubscription);
    if (f.pod > 0) {
      out += fmt::format(", {} in a pod, {}", plural(f.pod, "leaf", "leaves"),
                         plural(levels.all_cores(), "core"));
      if (f.core_oversubscription != 1)
        out += fmt::format(", oversubscribed {:g}:1", f.core_oversubscription);
    }
    if (f.cables > 1) out += fmt::format(", trunks of {} cables", f.cables);
  }
  return out;
}

Result<FaultScript> parse_script(std::string_view text) {
  FaultScript script;
  std::string hops, fabric;
  while (!text.empty()) {
    const std::size_t end = text.find(';');
    const std::string_view one = text.substr(0, end);
    std::string& list = sim::is_fabric_fault(one) ? fabric : hops;
    list.append(list.empty() ? "" : ";").append(one);
    text = end == text.npos ? std::string_view{} : text.substr(end + 1);
  }
  auto known = collective::parse_faults(hops);
  if (!known) {
    Error error = known.error();
    if (error.what.starts_with("unknown kind"))
      error.next +=
          "; or of the fabric: slow-link, narrow, lossy, late, flapping, slow-node, dead, mtu, background";
    return tl::unexpected(std::move(error));
  }
  auto wide = sim::parse_fabric_faults(fabric);
  if (!wide) return tl::unexpected(wide.error());
  return FaultScript{std::move(*known), std::move(*wide)};
}

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
  double fastest = 0;
  std::size_t rails = 1;
  for (const ideal::NodeFacts& node : facts.nodes) {
    rails = std::max(rails, node.rails.size());
    if (node.inter) fastest = std::max(fastest, node.inter->value);
    if (!node.inter && out.between) {
      out.between = false;
      out.why_between = node.inter_arithmetic.empty() ? "unknown" : node.inter_arithmetic;
    }
  }
  out.fabric.rails = int(std::min<std::size_t>(rails, 64));
  if (!out.between || fastest <= 0) return;
  out.fabric.inter.rate = BytesPerSecond(fastest / out.fabric.rails);
  for (std::size_t n = 0; n < facts.nodes.size(); ++n) {
    const double share = facts.nodes[n].inter->value / fastest;
    if (share >= 1) continue;
    out.fabric.egress[int(n)] = out.fabric.ingress[int(n)] = share;
    out.notes.push_back(fmt::format("node{}, {}, has {} of {}", n, facts.nodes[n].node,
                                    to_text(*facts.nodes[n].inter), to_text(BytesPerSecond(fastest))));
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
  if (const auto trouble = trouble_of(read->failures)) return tl::unexpected(trouble->error);
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
