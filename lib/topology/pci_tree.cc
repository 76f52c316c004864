#include "topology/pci_tree.h"

#include <fmt/format.h>

#include <algorithm>

namespace ringtrue::topology {

PciTree::PciTree(const Node& node) : node_(node) {
  for (const PciDevice& device : node.pci) devices_.emplace(device.address, &device);
  const auto take = [&](const auto& devices) {
    for (const auto& device : devices)
      if (!device.address.empty()) names_.emplace(device.address, &device.name);
  };
  take(node.gpus);
  take(node.nvswitches);
  take(node.nics);
}

const PciDevice* PciTree::find(const std::string& address) const {
  const auto it = devices_.find(address);
  return it == devices_.end() || address.empty() ? nullptr : it->second;
}

const PciDevice* PciTree::parent(const PciDevice& device) const {
  return find(device.parent);
}

std::vector<const PciDevice*> PciTree::up(const std::string& address) const {
  std::vector<const PciDevice*> chain;
  for (const PciDevice* at = find(address); at && std::ranges::find(chain, at) == chain.end();
       at = parent(*at))
    chain.push_back(at);
  return chain;
}

const std::string& PciTree::name(const std::string& address) const {
  const auto it = names_.find(address);
  return it == names_.end() ? address : *it->second;
}

bool PciTree::has_link(const PciDevice& device) const {
  return device.kind != PciKind::root_port && device.kind != PciKind::switch_downstream;
}

const PciDevice* PciTree::port_above(const PciDevice& device) const {
  const PciDevice* above = parent(device);
  const bool port = above && (above->kind == PciKind::root_port || above->kind == PciKind::switch_downstream);
  return port ? above : nullptr;
}

const PciLink& PciTree::slower_end(const PciDevice& device) const {
  const PciDevice* end = &device;
  if (device.virtual_function)
    if (const PciDevice* physical = find(device.physical_function)) end = physical;
  const PciDevice* port = port_above(*end);
  if (!port) return end->link;
  const auto here = pci_rate(end->link), there = pci_rate(port->link);
  return there && (!here || *there < *here) ? port->link : end->link;
}

std::optional<BytesPerSecond> rate_of(const NvLink& link) {
  if (link.rate.known() && link.rate->value > 0) return *link.rate;
  return link.version.known() ? nvlink_rate(*link.version) : std::nullopt;
}

Link bundle_of(const std::vector<NvLink>& sisters, const std::vector<const NvLink*>& links) {
  std::optional<BytesPerSecond> usual;
  for (const NvLink& sister : sisters)
    if (!usual) usual = rate_of(sister);
  Link bundle;
  bundle.kind = LinkKind::nvlink;
  bundle.count = 0;
  BytesPerSecond now, max;
  bool now_known = true, max_known = true;
  for (const NvLink* link : links) {
    const auto rate = rate_of(*link);
    const auto nominal = rate ? rate : usual;
    if (nominal) max += *nominal;
    max_known = max_known && nominal;
    if (link->up.is(false)) continue;
    ++bundle.count;
    if (rate) now += *rate;
    now_known = now_known && rate;
  }
  const std::string from = links.empty() ? origin::unknown : links.front()->up.origin;
  bundle.up = bundle.count > 0;
  if (bundle.up && now_known) bundle.rate = {now, from};
  if (max_known) bundle.max_rate = {max, from};
  const int count = int(links.size());
  bundle.text = bundle.count == count ? fmt::format("{} NVLink{}", count, count == 1 ? "" : "s")
                                      : fmt::format("{} of {} NVLinks up", bundle.count, count);
  return bundle;
}

}  // namespace ringtrue::topology
