// What hwloc knows and sysfs does not tell: packages, cores, caches, NUMA nodes, the names of PCI devices;
// and the whole PCI tree where sysfs gave none.
#include <algorithm>
#include <unordered_map>

#include "formats/format.h"
#include "probe/probe.h"

namespace ringtrue::topology {
namespace {

template <class T>
void offer(Fact<T>& fact, const Fact<T>& other) {
  if (!fact.known() && other.known()) fact = other;
}

void add_pci(const Node& seen, Node& node) {
  if (node.pci.empty()) {
    node.pci = seen.pci;
    return;
  }
  std::unordered_map<std::string_view, const PciDevice*> by_address;
  for (const auto& device : seen.pci) by_address[device.address] = &device;
  for (auto& device : node.pci) {
    const auto it = by_address.find(device.address);
    if (it == by_address.end()) continue;
    const PciDevice& other = *it->second;
    offer(device.name, other.name);
    offer(device.numa, other.numa);
    offer(device.device_class, other.device_class);
    offer(device.vendor, other.vendor);
    offer(device.device, other.device);
    offer(device.subsystem_vendor, other.subsystem_vendor);
    offer(device.subsystem_device, other.subsystem_device);
    if (device.kind == PciKind::unknown) device.kind = other.kind;
    if (!device.link.speed_GTps.known() || !device.link.width.known())
      offer(device.link.rate, other.link.rate);
  }
}

void add_processors(const Processors& seen, Processors& processors) {
  offer(processors.model, seen.model);
  offer(processors.vendor, seen.vendor);
  offer(processors.architecture, seen.architecture);
  offer(processors.packages, seen.packages);
  offer(processors.cores, seen.cores);
  offer(processors.threads, seen.threads);
  if (processors.caches.empty()) processors.caches = seen.caches;
  if (processors.numa.empty()) processors.numa = seen.numa;
  for (auto& numa : processors.numa) {
    const auto other = std::find_if(seen.numa.begin(), seen.numa.end(),
                                    [&](const NumaNode& n) { return n.number == numa.number; });
    if (other == seen.numa.end()) continue;
    if (numa.package < 0) numa.package = other->package;
    if (numa.cpus.empty()) numa.cpus = other->cpus;
    offer(numa.memory, other->memory);
    offer(numa.processors, other->processors);
  }
}

}  // namespace

void probe_hwloc(Source& source, Node& node) {
  const auto xml = source.answer("hwloc");
  const auto gap = [&](const Error& error) {
    node.gaps.push_back({origin::hwloc, "packages, caches, names of PCI devices",
                         error.next.empty() ? error.what : error.what + "; " + error.next});
  };
  if (!xml) return gap(xml.error());
  const auto seen = read_hwloc_xml(*xml, node.name);
  if (!seen) return gap(seen.error());
  add_pci(*seen, node);
  add_processors(seen->processors, node.processors);
  offer(node.system.board, seen->system.board);
  offer(node.system.kernel, seen->system.kernel);
  offer(node.system.hostname, seen->system.hostname);
}

}  // namespace ringtrue::topology
