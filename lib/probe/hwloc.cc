// What hwloc knows and sysfs does not tell: packages, cores, caches, NUMA nodes, the names of PCI devices;
// and the whole PCI tree where sysfs gave none.
#include <unordered_map>

#include "formats/format.h"
#include "probe/probe.h"
#include "probe/reading.h"
#include "topology/merge.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

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
    PciDevice other = *it->second;
    // Where it is and what it belongs to, sysfs knows better than hwloc, which leaves bridges out.
    other.parent = device.parent;
    other.root = device.root;
    other.virtual_function = false;
    other.physical_function.clear();
    if (device.link.speed_GTps.known() && device.link.width.known()) other.link = {};
    learn(device, other);
  }
}

}  // namespace

void probe_hwloc(Source& source, Node& node) {
  const auto xml = source.answer("hwloc");
  const auto seen = xml ? formats::read_hwloc_xml(*xml, node.name) : tl::unexpected(xml.error());
  if (!seen) {
    node.gaps.push_back(gap_of(origin::hwloc, "packages, caches, names of PCI devices", seen.error()));
    return;
  }
  add_pci(*seen, node);
  learn(node.processors, seen->processors);
  learn(node.system, seen->system);
}

}  // namespace ringtrue::probe
