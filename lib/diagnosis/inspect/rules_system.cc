// The system around the devices: ACS, IOMMU, limits, the processors' governor.
#include <algorithm>

#include "diagnosis/inspect/rule_context.h"

namespace ringtrue::diagnosis {
namespace {

using namespace topology;
using Place = NodeView::Place;

// Ports of switches through which GPUs and NICs reach one another without going up to the host bridge.
std::vector<const Place*> peer_ports(const NodeView& node) {
  std::vector<const Place*> ports;
  for (const Place& p : node.places) {
    if (p.device->kind != PciKind::switch_downstream || p.parts.empty() || !p.parent) continue;
    if (p.parent->parts.size() > p.parts.size()) ports.push_back(&p);
  }
  return ports;
}

void acs(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    std::vector<std::string> on;
    std::vector<const Part*> parts;
    std::string origin;
    for (const Place* p : peer_ports(node)) {
      context.applies();
      if (!p->device->acs_redirect.known()) {
        context.cannot(&node, p->device->address, "ACS could not be read: it needs root");
      } else if (*p->device->acs_redirect) {
        on.push_back(p->device->address);
        origin = p->device->acs_redirect.origin;
        parts.insert(parts.end(), p->parts.begin(), p->parts.end());
      }
    }
    if (on.empty()) continue;
    context.report(&node, on[0], {.values = {{"ports", on}, {"origin", origin}, {"parts", names(parts)}}});
  }
}

void iommu(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    const bool gpus = !node.node.gpus.empty(), rdma = node.has_rdma();
    if (!gpus && !rdma) continue;
    context.applies();
    const Fact<std::string>& mode = node.node.system.iommu;
    if (!mode.known()) context.cannot(&node, "", "whether an IOMMU translates is unknown");
    if (!mode.is("translated")) continue;
    context.report(
        &node, "",
        {.severity = gpus && rdma ? Severity::warning : Severity::info, .values = {{"origin", mode.origin}}});
  }
}

void memlock(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    if (std::ranges::all_of(node.node.nics, [](const Nic& n) { return n.rdma.empty(); })) continue;
    context.applies();
    const Fact<Bytes>& limit = node.node.system.memlock;
    if (!limit.known()) context.cannot(&node, "", "the limit on locked memory is unknown");
    if (!limit.known() || double(limit->value) >= context.limits.memlock_bytes) continue;
    context.report(&node, "",
                   {.values = {{"limit_bytes", limit.value},
                               {"origin", limit.origin},
                               {"needed_bytes", context.limits.memlock_bytes}},
                    .sure = by_half});  // jobs may have another limit
  }
}

void governor(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    if (node.node.gpus.empty() && !node.has_rdma()) continue;
    const Fact<std::string>& now = node.node.system.governor;
    if (!now.known()) continue;  // machines without frequency scaling, and virtual ones, have none
    context.applies();
    if (*now == "performance") continue;
    context.report(&node, "", {.values = {{"governor", *now}, {"origin", now.origin}}});
  }
}

constexpr Rule system_table[] = {
    {FindingKind::acs_redirect, Severity::warning, ScopeType::link, acs},
    {FindingKind::iommu_translated, Severity::warning, ScopeType::node, iommu},
    {FindingKind::memlock_low, Severity::warning, ScopeType::node, memlock},
    {FindingKind::governor_not_performance, Severity::info, ScopeType::node, governor},
};

}  // namespace

const std::span<const Rule> system_rules = system_table;

}  // namespace ringtrue::diagnosis
