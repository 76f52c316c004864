// Machines with one fault each, and their look-alikes: what each rule has to find, and what it must leave
// alone. rules_test.cc plays them all.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/inspect/inspect.h"
#include "tests/support/machines.h"

namespace ringtrue::diagnosis {

struct Case {
  std::string_view rule;
  std::string name;
  topology::Cluster cluster;
  bool fires = false;
  std::string device = {};             // of the finding; empty: any
  std::vector<std::string> also = {};  // of a look-alike: other rules that fire on it, and rightly
};

using Cases = std::vector<Case>;
Cases pci_cases();
Cases nvlink_cases();
Cases gpu_cases();
Cases port_cases();
Cases counter_cases();
Cases system_cases();
Cases fleet_cases();
Cases fabric_cases();

inline topology::Cluster one(topology::Node node) {
  topology::Cluster cluster;
  cluster.nodes.push_back(std::move(node));
  return cluster;
}

// `change` on node0 of `count` machines.
template <class Machine, class Change>
topology::Cluster changed(int count, Machine machine, Change change) {
  topology::Cluster cluster = test::cluster_of(count, machine);
  change(cluster.nodes[0]);
  return cluster;
}

template <class Change>
topology::Cluster hgx(Change change) {
  topology::Node node = test::hgx_h100("node0");
  change(node);
  return one(std::move(node));
}

template <class Change>
topology::Cluster rails(Change change) {
  topology::Node node = test::four_rails("node0");
  change(node);
  return one(std::move(node));
}

// Lanes or speed at both ends of the link below the port above `address`.
inline void run_at(topology::Node& node, const std::string& address, double GTps, int width) {
  for (topology::PciDevice* end : {&test::pci_of(node, address), &test::port_above(node, address)}) {
    end->link.speed_GTps.value = GTps;
    end->link.width.value = width;
  }
}

// What NCCL's files know of a link: current values alone.
inline void as_nccl(topology::Node& node) {
  using namespace topology;
  for (PciDevice& d : node.pci) {
    d.link.max_speed_GTps = {};
    d.link.max_width = {};
    d.link.speed_GTps.origin = d.link.width.origin = origin::nccl_xml;
  }
  std::erase_if(node.pci, [](const PciDevice& d) { return d.kind == PciKind::root_port; });
  for (PciDevice& d : node.pci) {
    if (d.kind == PciKind::switch_upstream || d.device_class.is(0x068000)) d.parent.clear();
    if (d.kind != PciKind::endpoint || d.parent.empty()) continue;
    for (const PciDevice& port : node.pci)
      if (port.address == d.parent && port.kind == PciKind::switch_downstream) {
        d.parent = port.parent;
        break;
      }
  }
  std::erase_if(node.pci, [](const PciDevice& d) { return d.kind == PciKind::switch_downstream; });
}

inline void rises(topology::Node& node, const std::string& device, const std::string& counter,
                  std::uint64_t before, std::uint64_t after, double seconds = 10, bool saturated = false,
                  bool reset = false) {
  if (!node.window) node.window.emplace();
  node.window->seconds = seconds;
  if (before != after || saturated)
    node.window->changes.push_back({device, counter, before, after, saturated, reset});
}

}  // namespace ringtrue::diagnosis
