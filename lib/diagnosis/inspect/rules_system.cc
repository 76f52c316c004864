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
    context.report(
        &node, on[0],
        {.evidence = {fmt::format("ACS sends peer traffic up to the root at {} ({})", listed(on), origin)},
         .impact = fmt::format("traffic between {} goes through the root port instead of the switch: "
                               "slower, and shared by all",
                               names(parts)),
         .next = "outside of virtual machines turn it off: in the firmware set-up, or setpci -s "
                 "ADDRESS ECAP_ACS+6.w=0000 after each start"});
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
        {.severity = gpus && rdma ? Severity::warning : Severity::info,
         .evidence = {fmt::format("the IOMMU translates the addresses of all devices ({})", mode.origin)},
         .impact = "each access to memory by a device is looked up first; peer traffic goes through "
                   "the root",
         .next = "start the kernel with iommu=pt, or turn the IOMMU off in the firmware set-up"});
  }
}

// "8 MiB"
std::string size_text(double bytes) {
  std::string text = to_text(Bytes(std::uint64_t(bytes)));
  const char unit = text.back();
  if (unit < 'A') return text + " bytes";
  text.pop_back();
  return fmt::format("{} {}iB", text, unit);
}

void memlock(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    if (std::ranges::all_of(node.node.nics, [](const Nic& n) { return n.rdma.empty(); })) continue;
    context.applies();
    const Fact<Bytes>& limit = node.node.system.memlock;
    if (!limit.known()) context.cannot(&node, "", "the limit on locked memory is unknown");
    if (!limit.known() || double(limit->value) >= context.limits.memlock_bytes) continue;
    context.report(&node, "",
                   {.evidence = {fmt::format("the soft limit on locked memory is {} ({})",
                                             size_text(double(limit->value)), limit.origin),
                                 fmt::format("RDMA locks what it registers; below {} that fails",
                                             size_text(context.limits.memlock_bytes))},
                    .impact = "jobs cannot register their buffers: they fail, or fall back to TCP",
                    .next = "set memlock to unlimited in /etc/security/limits.d and LimitMEMLOCK=infinity in "
                            "the services that start jobs"});
  }
}

void governor(RuleContext& context) {
  for (const NodeView& node : context.nodes) {
    if (node.node.gpus.empty() && !node.has_rdma()) continue;
    const Fact<std::string>& now = node.node.system.governor;
    if (!now.known()) continue;  // machines without frequency scaling, and virtual ones, have none
    context.applies();
    if (*now == "performance") continue;
    context.report(
        &node, "",
        {.evidence = {fmt::format("the processors' frequency governor is {} ({})", *now, now.origin)},
         .impact = "small messages may take longer while processors wake up",
         .next = "cpupower frequency-set -g performance"});
  }
}

constexpr Rule table[] = {
    {FindingKind::acs_redirect, Severity::warning, ScopeType::link, "ACS in the way of peer traffic", acs},
    {FindingKind::iommu_translated, Severity::warning, ScopeType::node, "IOMMU in the way of devices", iommu},
    {FindingKind::memlock_low, Severity::warning, ScopeType::node, "Limit on locked memory too low", memlock},
    {FindingKind::governor_not_performance, Severity::info, ScopeType::node, "Processors that save power",
     governor},
};

}  // namespace

const std::span<const Rule> system_rules = table;

}  // namespace ringtrue::diagnosis
