// Machines made by hand, healthy and with all facts known: a test changes what it is about.
//
//   hgx_h100(name)            8 H100, 4 NVSwitches, 18 NVLinks a GPU, 8 NDR NICs; GPU i and NIC i below PCIe
//                             switch i / 2; the first half of everything on NUMA node 0
//   hgx_h100_with(name, 8)    the same with a PCIe switch for each GPU and its NIC
//   pcie_box(name)            4 A100 PCIe: a switch above two switches with two GPUs each; a 100 GbE NIC at
//                             a root port of its own; one socket
//   four_rails(name)          2 sockets; 4 A100 PCIe and 4 HDR NICs at root ports, GPU i and NIC i below one
//                             host bridge, two of these a socket; no PCIe switch, no NVLink
//   two_leaves(nodes, trunks) the fabric of their InfiniBand ports: even NICs at leaf 0, odd ones at leaf 1
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "run/counter_window.h"
#include "topology/model.h"

namespace ringtrue::test {

using topology::Fact;

template <class T>
Fact<T> from(const char* origin, T value) {
  return Fact<T>(std::move(value), origin);
}

// A link at its best: speed and width now are those that this end can do.
inline topology::PciLink pcie(double GTps, int width, const char* origin = topology::origin::sysfs) {
  return {{GTps, origin}, {width, origin}, {GTps, origin}, {width, origin}, {}};
}

// ---- parts of a node, to be changed; they throw where there is none

inline topology::PciDevice& pci_of(topology::Node& node, const std::string& address) {
  for (auto& device : node.pci)
    if (device.address == address) return device;
  throw std::out_of_range("no PCI device " + address);
}
inline topology::PciDevice& pci_of(topology::Node& node, const topology::Gpu& gpu) {
  return pci_of(node, gpu.address);
}
inline topology::PciDevice& pci_of(topology::Node& node, const topology::Nic& nic) {
  return pci_of(node, nic.address);
}
// The port right above: of the switch, or the root port.
inline topology::PciDevice& port_above(topology::Node& node, const std::string& address) {
  return pci_of(node, pci_of(node, address).parent);
}
inline run::CounterSet& counters_of(topology::Node& node, const std::string& device) {
  for (auto& set : node.counters)
    if (set.device == device) return set;
  throw std::out_of_range("no counters of " + device);
}

// ---- adding parts

inline topology::PciDevice& add_pci(topology::Node& node, const std::string& address,
                                    const std::string& parent, topology::PciKind kind,
                                    std::uint32_t device_class, std::uint32_t vendor, std::uint32_t device,
                                    const topology::PciLink& link, int numa, const std::string& root) {
  using namespace topology;
  PciDevice d;
  d.address = address;
  d.parent = parent;
  d.root = root;
  d.kind = kind;
  d.device_class = {device_class, origin::sysfs};
  d.vendor = {vendor, origin::sysfs};
  d.device = {device, origin::sysfs};
  d.numa = {numa, origin::sysfs};
  d.link = link;
  d.power = from<std::string>(origin::sysfs, "active");
  if (kind == PciKind::endpoint)
    d.iommu_group = {int(node.pci.size()), origin::sysfs};
  else
    d.acs_redirect = {false, origin::sysfs};
  return node.pci.emplace_back(std::move(d));
}

inline topology::PciDevice& add_bridge(topology::Node& node, const std::string& address,
                                       const std::string& parent, topology::PciKind kind,
                                       const topology::PciLink& link, int numa, const std::string& root) {
  const bool root_port = kind == topology::PciKind::root_port;
  auto& d = add_pci(node, address, parent, kind, 0x060400, root_port ? 0x8086 : 0x1000,
                    root_port ? 0x352a : 0xc030, link, numa, root);
  d.driver = from<std::string>(topology::origin::sysfs, "pcieport");
  return d;
}

inline topology::Gpu& add_gpu(topology::Node& node, const std::string& parent, const std::string& address,
                              const std::string& model, std::uint32_t device, int capability,
                              const topology::PciLink& link) {
  using namespace topology;
  const PciDevice above = pci_of(node, parent);
  auto& d = add_pci(node, address, parent, PciKind::endpoint, 0x030200, 0x10de, device, link, *above.numa,
                    above.root);
  d.driver = from<std::string>(origin::sysfs, "nvidia");
  const int index = int(node.gpus.size());
  Gpu g;
  g.name = fmt::format("GPU{}", index);
  g.address = address;
  g.model = {model, origin::nvml};
  g.uuid = {fmt::format("GPU-{}-{}", node.name, index), origin::nvml};
  g.serial = {fmt::format("{}{:02}", node.name, index), origin::nvml};
  g.vbios = from<std::string>(origin::nvml, "96.00.30.00.01");
  g.memory = {Bytes(80ull << 30), origin::nvml};
  g.compute_capability = {capability, origin::nvml};
  g.nvlinks.emplace();
  g.persistence = {true, origin::nvml};
  g.mig = {false, origin::nvml};
  g.ecc = {true, origin::nvml};
  g.ecc_corrected = {0, origin::nvml};
  g.ecc_uncorrected = {0, origin::nvml};
  g.retired_pending = {false, origin::nvml};
  g.throttle = {0, origin::nvml};
  g.performance_state = from<std::string>(origin::nvml, "P0");
  g.utilization = {0, origin::nvml};
  g.sm_clock_MHz = {1980, origin::nvml};
  g.max_sm_clock_MHz = {1980, origin::nvml};
  g.temperature_C = {35, origin::nvml};
  g.processes = {0, origin::nvml};
  node.counters.push_back({g.name, {{"ecc_corrected", 0}, {"ecc_uncorrected", 0}}, {}});
  return node.gpus.emplace_back(std::move(g));
}

inline topology::NvLink nvlink(int index, int version, BytesPerSecond rate, topology::Remote remote,
                               const std::string& remote_address) {
  using namespace topology;
  NvLink link;
  link.index = index;
  link.up = {true, origin::nvml};
  link.version = {version, origin::nvml};
  link.rate = {rate, origin::nvml};
  link.remote = remote;
  link.remote_address = remote_address;
  link.errors = {{"crc_flit", 0}, {"recovery", 0}, {"replay", 0}};
  return link;
}

// An NVIDIA network adapter below `parent`, with one active port.
inline topology::Nic& add_nic(topology::Node& node, const std::string& parent, const std::string& address,
                              topology::LinkLayer layer, const std::string& speed, BytesPerSecond rate,
                              const topology::PciLink& link) {
  using namespace topology;
  const bool ib = layer == LinkLayer::infiniband;
  const PciDevice above = pci_of(node, parent);
  auto& d = add_pci(node, address, parent, PciKind::endpoint, ib ? 0x020700 : 0x020000, 0x15b3, 0x1021, link,
                    *above.numa, above.root);
  d.driver = from<std::string>(origin::sysfs, "mlx5_core");
  const int index = int(node.nics.size());
  unsigned site = 0;  // GUIDs differ between nodes
  for (const char c : node.name) site = (site * 31 + static_cast<unsigned char>(c)) & 0xffffff;
  Nic n;
  n.name = n.rdma = fmt::format("mlx5_{}", index);
  n.address = address;
  n.netdevs = {fmt::format("{}{}", ib ? "ib" : "eth", index)};
  n.driver = from<std::string>(origin::sysfs, "mlx5_core");
  n.firmware = from<std::string>(origin::sysfs, "28.39.1002");
  n.model = from<std::string>(origin::sysfs, "MT_0000000838");
  n.guid = {fmt::format("b83fd203{:06x}{:02x}", site, index * 8), origin::sysfs};
  Port p;
  p.layer = layer;
  p.state = from<std::string>(origin::sysfs, "active");
  p.physical_state = from<std::string>(origin::sysfs, "linkup");
  p.rate = {rate, origin::sysfs};
  p.max_rate = {rate, origin::verbs};
  if (ib) {
    p.speed = {speed, origin::sysfs};
    p.width = {4, origin::sysfs};
    p.max_width = {4, origin::verbs};
    p.mtu = {4096, origin::verbs};
    p.max_mtu = {4096, origin::verbs};
    p.lid = {10 + index, origin::sysfs};
    p.guid = {fmt::format("b83fd203{:06x}{:02x}", site, index * 8), origin::sysfs};
  } else {
    p.mtu = {9000, origin::sysfs};
    p.max_mtu = {9978, origin::sysfs};
    p.pause_rx = {true, origin::ethtool};
    p.pause_tx = {true, origin::ethtool};
  }
  n.ports = {p};
  run::CounterSet counters{n.name + "/1", {}, {}};
  for (const char* name :
       {"symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_xmit_discards",
        "local_link_integrity_errors", "excessive_buffer_overrun_errors"})
    counters.values[name] = 0;
  counters.values["port_xmit_data"] = 123456789;
  counters.widths = {{"symbol_error", 16},
                     {"link_error_recovery", 8},
                     {"link_downed", 8},
                     {"port_rcv_errors", 16},
                     {"port_xmit_discards", 16},
                     {"local_link_integrity_errors", 4},
                     {"excessive_buffer_overrun_errors", 4}};
  node.counters.push_back(std::move(counters));
  return node.nics.emplace_back(std::move(n));
}

// A node without devices: 2 sockets of 56 cores unless told otherwise, and a system as it should be.
inline topology::Node bare(const std::string& name, int sockets = 2) {
  using namespace topology;
  Node n;
  n.name = name;
  n.recorded = "live";
  n.system.hostname = {name, origin::system};
  n.system.kernel = from<std::string>(origin::system, "5.15.0-91-generic");
  n.system.distribution = from<std::string>(origin::sysfs, "Ubuntu 22.04.3 LTS");
  n.system.board = from<std::string>(origin::sysfs, "Example Board");
  n.system.iommu = from<std::string>(origin::sysfs, "passthrough");
  n.system.nvidia_peermem = {true, origin::sysfs};
  n.system.dmabuf = {true, origin::derived};
  n.system.nvidia_driver = from<std::string>(origin::nvml, "535.104.05");
  n.system.cuda = from<std::string>(origin::nvml, "12.2");
  n.system.open_kernel_module = {true, origin::sysfs};
  n.system.memlock = {Bytes(~0ull), origin::system};
  n.system.governor = from<std::string>(origin::sysfs, "performance");
  n.system.hugepages = {0, origin::sysfs};
  n.system.rdma_core = from<std::string>(origin::verbs, "39.0");
  Processors& p = n.processors;
  p.model = from<std::string>(origin::hwloc, "Intel(R) Xeon(R) Platinum 8480C");
  p.vendor = from<std::string>(origin::hwloc, "GenuineIntel");
  p.architecture = from<std::string>(origin::hwloc, "x86_64");
  p.packages = {sockets, origin::hwloc};
  p.cores = {56 * sockets, origin::hwloc};
  p.threads = {112 * sockets, origin::hwloc};
  for (int i = 0; i < sockets; ++i)
    p.numa.push_back(
        {i,
         i,
         {Bytes(1ull << 40), origin::hwloc},
         {112, origin::hwloc},
         fmt::format("{}-{},{}-{}", 56 * i, 56 * i + 55, 56 * (sockets + i), 56 * (sockets + i) + 55)});
  p.caches = {{"L3", sockets, Bytes(105ull << 20)}, {"L2", 56 * sockets, Bytes(2ull << 20)}};
  return n;
}

// ---- machines

inline topology::Node hgx_h100_with(const std::string& name, int switches) {
  using namespace topology;
  Node n = bare(name);
  const PciLink gen5 = pcie(32, 16);
  const int per_switch = 8 / switches;
  for (int s = 0; s < switches; ++s) {
    const int bus = 0x10 + 0x10 * s, numa = s * 2 / switches;
    const std::string root = fmt::format("0000:{:02x}", bus),
                      root_port = fmt::format("0000:{:02x}:01.0", bus),
                      up = fmt::format("0000:{:02x}:00.0", bus + 1);
    add_bridge(n, root_port, "", PciKind::root_port, gen5, numa, root);
    add_bridge(n, up, root_port, PciKind::switch_upstream, gen5, numa, root);
    for (int i = 0; i < 2 * per_switch; ++i)
      add_bridge(n, fmt::format("0000:{:02x}:{:02x}.0", bus + 2, i), up, PciKind::switch_downstream, gen5,
                 numa, root);
    for (int i = 0; i < 2 * per_switch; ++i) {
      const std::string port = fmt::format("0000:{:02x}:{:02x}.0", bus + 2, i),
                        below = fmt::format("0000:{:02x}:00.0", bus + 3 + i);
      if (i < per_switch)
        add_gpu(n, port, below, "NVIDIA H100 80GB HBM3", 0x2330, 90, gen5);
      else
        add_nic(n, port, below, LinkLayer::infiniband, "NDR", BytesPerSecond(50e9), gen5);
    }
  }
  for (int i = 0; i < 4; ++i) {
    const std::string root_port = fmt::format("0000:c0:{:02x}.0", i + 1),
                      below = fmt::format("0000:{:02x}:00.0", 0xc1 + i);
    add_bridge(n, root_port, "", PciKind::root_port, pcie(16, 2), 1, "0000:c0");
    add_pci(n, below, root_port, PciKind::endpoint, 0x068000, 0x10de, 0x22a3, pcie(16, 2), 1, "0000:c0");
    n.nvswitches.push_back({fmt::format("NVSwitch{}", i), below});
  }
  for (Gpu& g : n.gpus)
    for (int l = 0; l < 18; ++l) {  // 4, 5, 5 and 4 links to the four switches
      const int to = l < 4 ? 0 : l < 9 ? 1 : l < 14 ? 2 : 3;
      g.nvlinks->push_back(
          nvlink(l, 4, BytesPerSecond(25e9), Remote::nvswitch, n.nvswitches[std::size_t(to)].address));
      counters_of(n, g.name).values[fmt::format("nvlink{}_replay", l)] = 0;
    }
  return n;
}

inline topology::Node hgx_h100(const std::string& name) {
  return hgx_h100_with(name, 4);
}

inline topology::Node pcie_box(const std::string& name) {
  using namespace topology;
  Node n = bare(name, 1);
  const PciLink gen4 = pcie(16, 16);
  const auto bridge = [&](const char* address, const char* parent, PciKind kind) {
    add_bridge(n, address, parent, kind, gen4, 0, address[5] == '6' ? "0000:60" : "0000:20");
  };
  bridge("0000:20:01.0", "", PciKind::root_port);
  bridge("0000:21:00.0", "0000:20:01.0", PciKind::switch_upstream);
  bridge("0000:22:00.0", "0000:21:00.0", PciKind::switch_downstream);
  bridge("0000:22:01.0", "0000:21:00.0", PciKind::switch_downstream);
  bridge("0000:23:00.0", "0000:22:00.0", PciKind::switch_upstream);
  bridge("0000:24:00.0", "0000:23:00.0", PciKind::switch_downstream);
  bridge("0000:24:01.0", "0000:23:00.0", PciKind::switch_downstream);
  bridge("0000:33:00.0", "0000:22:01.0", PciKind::switch_upstream);
  bridge("0000:34:00.0", "0000:33:00.0", PciKind::switch_downstream);
  bridge("0000:34:01.0", "0000:33:00.0", PciKind::switch_downstream);
  for (const char* bus : {"24", "34"})
    for (int i = 0; i < 2; ++i)
      add_gpu(n, fmt::format("0000:{}:{:02x}.0", bus, i), fmt::format("0000:{}{}:00.0", bus[0], 5 + i),
              "NVIDIA A100 80GB PCIe", 0x20b5, 80, gen4);
  bridge("0000:60:01.0", "", PciKind::root_port);
  add_nic(n, "0000:60:01.0", "0000:61:00.0", LinkLayer::ethernet, "", BytesPerSecond(12.5e9), gen4);
  return n;
}

inline topology::Node four_rails(const std::string& name) {
  using namespace topology;
  Node n = bare(name);
  const PciLink gen4 = pcie(16, 16);
  for (int i = 0; i < 4; ++i) {
    const int bus = 0x20 + 0x20 * i, numa = i / 2;
    const std::string root = fmt::format("0000:{:02x}", bus);
    for (int slot = 1; slot <= 2; ++slot)
      add_bridge(n, fmt::format("{}:{:02x}.0", root, slot), "", PciKind::root_port, gen4, numa, root);
    add_gpu(n, root + ":01.0", fmt::format("0000:{:02x}:00.0", bus + 1), "NVIDIA A100 80GB PCIe", 0x20b5, 80,
            gen4);
    add_nic(n, root + ":02.0", fmt::format("0000:{:02x}:00.0", bus + 2), LinkLayer::infiniband, "HDR",
            BytesPerSecond(25e9), gen4);
  }
  return n;
}

inline topology::Fabric two_leaves(const std::vector<topology::Node>& nodes, int trunks = 4) {
  using namespace topology;
  Fabric f;
  const auto cable = [&](FabricPort a, FabricPort b, const Port* port) {
    FabricLink link{std::move(a), std::move(b), {}, {4, origin::fabric}, {}, {}};
    link.speed = {port ? port->speed.value_or("HDR") : "HDR", origin::fabric};
    link.rate = {port ? port->rate.value_or(BytesPerSecond(25e9)) : BytesPerSecond(25e9), origin::fabric};
    link.max_rate = link.rate;
    f.links.push_back(std::move(link));
  };
  const std::string leaf[2] = {"e8ebd30300a10000", "e8ebd30300a20000"};
  for (int i = 0; i < 2; ++i)
    f.switches.push_back({leaf[i], fmt::format("leaf{}", i), 40, {1 + i, origin::fabric}});
  int next[2] = {1, 1};
  for (const Node& node : nodes)
    for (std::size_t i = 0; i < node.nics.size(); ++i) {
      const Nic& nic = node.nics[i];
      if (nic.ports.empty() || nic.ports[0].layer != LinkLayer::infiniband) continue;
      const int at = int(i) % 2;
      f.hosts.push_back({*nic.guid, node.name + " " + nic.name, *nic.ports[0].guid, false});
      cable({leaf[at], next[at]++}, {*nic.guid, 1}, &nic.ports[0]);
    }
  for (int i = 0; i < trunks; ++i) cable({leaf[0], 40 - i}, {leaf[1], 40 - i}, nullptr);
  return f;
}

// `count` of them, node0 .., with the fabric between their InfiniBand ports: cluster_of(2, hgx_h100).
template <class Machine>
topology::Cluster cluster_of(int count, Machine machine) {
  topology::Cluster c;
  for (int i = 0; i < count; ++i) c.nodes.push_back(machine(fmt::format("node{}", i)));
  c.fabric = two_leaves(c.nodes);
  return c;
}

}  // namespace ringtrue::test
