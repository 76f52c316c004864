#include "operator/sweep_ports.h"

#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/sweep/foreign_ports.h"
#include "operator/facts.h"

namespace ringtrue::ops {
namespace {

void merge_ports(std::vector<diagnosis::RdmaPort>& into, const std::vector<diagnosis::RdmaPort>& more) {
  into.insert(into.end(), more.begin(), more.end());
  std::sort(into.begin(), into.end());
  into.erase(std::unique(into.begin(), into.end()), into.end());
}

}  // namespace

Result<Carrier> settle_apart(const Error& why, const std::unique_ptr<RunMeasurer>& measurer,
                             const std::function<Result<void>()>& renew, const Control& control) {
  Carrier all{run::Transport::verbs, {}, {}, 0, {"not all nodes can be measured at once: " + why.text()}};
  const int n = measurer->nodes();
  for (int node = 0; node < n; ++node) {
    for (int further = 1; further <= std::min(3, n - 1); ++further) {
      if (all.rails.count(measurer->name(node))) break;
      control.tell(progress::Step{fmt::format("sweep: looking for the rails of {}", measurer->name(node))});
      if (control.stopped()) return fail(Cause::cancelled, "the sweep was stopped");
      if (const auto renewed = renew(); !renewed) return tl::unexpected(renewed.error());
      auto both = measurer->settle({node, (node + further) % n});
      if (!both) continue;
      all.rails.merge(both->rails);
      all.gids.merge(both->gids);
      all.pass(both->path_mtu);
    }
  }
  if (all.rails.empty()) return tl::unexpected(why);
  if (const auto renewed = renew(); !renewed) return tl::unexpected(renewed.error());
  return all;
}

AllPorts all_ports(const Setup& setup, const RunnerOptions& options, const Control& control,
                   const Carrier& carrier, const std::vector<std::string>& nodes, diagnosis::Ports rails) {
  AllPorts out{std::move(rails), {}, {}};
  control.tell(progress::Step{"sweep: looking for ports"});
  Facts facts = facts_beside(setup, options, control);
  for (const Failure& f : facts.failures)
    out.notes.push_back(fmt::format("only the default ports of {} are known: {}", f.node, f.error.what));
  out.unread = trouble_of(facts.failures);
  if (setup.local) {  // all ranks are on one node, which comes first
    for (const topology::Node& here : facts.cluster.nodes)
      merge_ports(out.ports[0], diagnosis::active_ports(facts.cluster, {here.name})[0]);
    return out;
  }
  diagnosis::drop_foreign_ports(facts.cluster, carrier.gids);
  auto active = diagnosis::active_ports(facts.cluster, nodes);
  const auto others = diagnosis::take_other_layers(facts.cluster, nodes, out.ports, active);
  std::vector<std::string> left_out;
  for (std::size_t node = 0; node < others.size(); ++node)
    for (const diagnosis::RdmaPort& port : others[node])
      left_out.push_back(fmt::format("{} of {}", to_text(port), nodes[node]));
  if (!left_out.empty())
    out.notes.push_back(
        fmt::format("left out, as InfiniBand and Ethernet cannot be paired: {}", fmt::join(left_out, ", ")));
  for (std::size_t node = 0; node < nodes.size(); ++node) merge_ports(out.ports[node], active[node]);
  return out;
}

}  // namespace ringtrue::ops
