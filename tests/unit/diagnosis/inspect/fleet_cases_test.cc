#include "cases.h"

namespace ringtrue::diagnosis {

using namespace topology;
using namespace test;

Cases system_cases() {
  const auto nothing = [](Node&) {};
  return {
      {"gpu-far-nic", "all NICs on one socket", rails([](Node& n) {
         for (Nic& nic : n.nics) pci_of(n, nic).numa.value = 0;
       }),
       true, "GPU2"},
      {"gpu-far-nic", "NICs on both sockets", rails(nothing)},
      {"gpu-far-nic", "one NIC and GPUs on two sockets", rails([](Node& n) { n.nics.resize(1); })},
      {"gpu-far-nic", "one socket", one(pcie_box("node0"))},
      {"gpu-far-nic", "several NUMA nodes to a socket", rails([](Node& n) {
         n.processors.numa.resize(4);
         for (int i = 0; i < 4; ++i) n.processors.numa[std::size_t(i)] = {i, i / 2, {}, {}, ""};
         for (std::size_t i = 0; i < 4; ++i) {
           pci_of(n, n.gpus[i]).numa.value = int(i / 2 * 2);
           pci_of(n, n.nics[i]).numa.value = int(i / 2 * 2 + 1);
         }
       })},
      {"gpu-far-nic", "places that nobody knows", rails([](Node& n) {
         for (PciDevice& d : n.pci) d.numa = {};
       })},

      {"gpudirect-impossible", "neither module nor dma-buf", hgx([](Node& n) {
         n.system.nvidia_peermem.value = false;
         n.system.dmabuf.value = false;
       }),
       true},
      {"gpudirect-impossible", "NCCL's file says no for the NICs", hgx([](Node& n) {
         n.system.nvidia_peermem = n.system.dmabuf = {};
         for (Nic& nic : n.nics) nic.gdr = {false, origin::nccl_xml};
       }),
       true},
      {"gpudirect-impossible", "dma-buf without the module",
       hgx([](Node& n) { n.system.nvidia_peermem.value = false; })},
      {"gpudirect-impossible", "a node without GPUs", hgx([](Node& n) {
         n.gpus.clear();
         n.system.nvidia_peermem.value = n.system.dmabuf.value = false;
       })},
      {"gpudirect-impossible", "nobody knows",
       hgx([](Node& n) { n.system.nvidia_peermem = n.system.dmabuf = {}; })},

      {"acs-redirect", "on the ports of a switch", hgx([](Node& n) {
         for (PciDevice& d : n.pci)
           if (d.kind == PciKind::switch_downstream) d.acs_redirect.value = true;
       }),
       true},
      {"acs-redirect", "on root ports alone", hgx([](Node& n) {
         for (PciDevice& d : n.pci)
           if (d.kind == PciKind::root_port) d.acs_redirect.value = true;
       })},
      {"acs-redirect", "on a machine without switches", rails([](Node& n) {
         for (PciDevice& d : n.pci) d.acs_redirect.value = true;
       })},

      {"iommu-translated", "translated", hgx([](Node& n) { n.system.iommu.value = "translated"; }), true},
      {"iommu-translated", "passthrough", hgx(nothing)},
      {"iommu-translated", "off", hgx([](Node& n) { n.system.iommu.value = "off"; })},

      {"memlock-low", "64 KiB", hgx([](Node& n) { n.system.memlock.value = Bytes(65536); }), true},
      {"memlock-low", "unlimited", hgx(nothing)},
      {"memlock-low", "64 KiB on a node without RDMA", hgx([](Node& n) {
         n.system.memlock.value = Bytes(65536);
         for (Nic& nic : n.nics) nic.rdma.clear();
       })},

      {"governor-not-performance", "powersave", hgx([](Node& n) { n.system.governor.value = "powersave"; }),
       true},
      {"governor-not-performance", "a machine without one", hgx([](Node& n) { n.system.governor = {}; })},
  };
}

Cases fleet_cases() {
  const auto differs = [](auto change) { return changed(4, hgx_h100, change); };
  const auto halves = [](auto change) {
    Cluster c = cluster_of(4, hgx_h100);
    change(c.nodes[0]), change(c.nodes[1]);
    return c;
  };
  const auto mtu = [](Node& n) { n.nics[0].ports[0].mtu.value = 2048; };
  const auto firmware = [](Node& n) { n.nics[3].firmware.value = "28.35.1012"; };
  const auto driver = [](Node& n) { n.system.nvidia_driver.value = "525.85.12"; };
  const auto kernel = [](Node& n) { n.system.kernel.value = "5.4.0-150-generic"; };
  const auto model = [](Node& n) {
    for (Gpu& g : n.gpus) g.model.value = "NVIDIA H100 NVL";
  };
  const auto fewer_gpus = [](Node& n) { n.gpus.pop_back(); };
  const auto fewer_nics = [](Node& n) { n.nics.pop_back(); };
  const auto fewer_links = [](Node& n) {
    for (Gpu& g : n.gpus) g.nvlinks->resize(16);
  };
  const auto less_memory = [](Node& n) { n.processors.numa[0].memory.value->value -= 64ull << 30; };
  return {
      {"mtu-mismatch", "one port of one node", differs(mtu), true, "mlx5_0/1"},
      {"mtu-mismatch", "half and half", halves(mtu)},
      {"mtu-mismatch", "two nodes", changed(2, hgx_h100, mtu)},
      {"mtu-mismatch", "one port of each node alike",
       [&] {
         Cluster c = cluster_of(4, hgx_h100);
         for (Node& n : c.nodes) mtu(n);
         return c;
       }()},
      {"firmware-mismatch", "one NIC of one node", differs(firmware), true, "mlx5_3"},
      {"firmware-mismatch", "NICs of another model", differs([&](Node& n) {
         firmware(n);
         n.nics[3].model.value = "MT_0000000999";
       })},
      {"driver-mismatch", "one node", differs(driver), true},
      {"driver-mismatch", "half and half", halves(driver)},
      {"driver-mismatch",
       "a node without GPUs",
       differs([](Node& n) {
         n.gpus.clear();
         n.system.nvidia_driver = {};
       }),
       false,
       {},
       {"gpu-count-mismatch"}},
      {"kernel-mismatch", "one node", differs(kernel), true},
      {"kernel-mismatch", "unknown on one node", differs([](Node& n) { n.system.kernel = {}; })},
      {"gpu-model-mismatch", "one node", differs(model), true},
      {"gpu-model-mismatch", "half and half", halves(model)},
      {"gpu-count-mismatch", "one node has seven", differs(fewer_gpus), true},
      {"gpu-count-mismatch", "half and half", halves(fewer_gpus)},
      {"nic-count-mismatch", "one node has seven", differs(fewer_nics), true},
      {"nic-count-mismatch", "virtual ones in addition", differs([](Node& n) {
         Nic nic;
         nic.name = "rxe0", nic.rdma = "rxe0";
         nic.virtual_device = true;
         n.nics.push_back(nic);
       })},
      {"nvlink-count-mismatch", "one node has fewer", differs(fewer_links), true},
      {"nvlink-count-mismatch",
       "one GPU of one node has fewer than its sisters",
       differs([](Node& n) { n.gpus[3].nvlinks->resize(17); }),
       false,
       {},
       {"nvlink-fewer-than-sisters"}},
      {"nvlink-count-mismatch", "a GPU is missing", differs(fewer_gpus), false, {}, {"gpu-count-mismatch"}},
      {"nvlink-count-mismatch", "unknown on one node", differs([](Node& n) { n.gpus[0].nvlinks.reset(); })},
      {"memory-mismatch", "64 GiB fewer", differs(less_memory), true},
      {"memory-mismatch", "some pages fewer",
       differs([](Node& n) { n.processors.numa[0].memory.value->value -= 100ull << 20; })},
  };
}

namespace {

// Leaves 0 .. with four hosts each, and `cables` from each to each of the spines.
Fabric clos(int leaves, int spines, int cables) {
  Fabric f;
  const auto leaf = [](int i) { return fmt::format("{:016x}", 0xa000 + i); };
  const auto spine = [](int i) { return fmt::format("{:016x}", 0xb000 + i); };
  const auto cable = [&](FabricPort a, FabricPort b) {
    FabricLink l{std::move(a), std::move(b), {}, {4, origin::fabric}, {}, {}};
    l.speed = from<std::string>(origin::fabric, "HDR");
    l.rate = {BytesPerSecond(25e9), origin::fabric};
    f.links.push_back(l);
  };
  for (int s = 0; s < spines; ++s) f.switches.push_back({spine(s), fmt::format("spine{}", s), 40, {}});
  for (int i = 0; i < leaves; ++i) {
    f.switches.push_back({leaf(i), fmt::format("leaf{}", i), 40, {}});
    for (int h = 0; h < 4; ++h) {
      const std::string guid = fmt::format("{:016x}", 0xc000 + i * 16 + h);
      f.hosts.push_back({guid, fmt::format("node{} mlx5_0", i * 4 + h), guid, false});
      cable({leaf(i), h + 1}, {guid, 1});
    }
    for (int s = 0; s < spines; ++s)
      for (int c = 0; c < cables; ++c) cable({leaf(i), 20 + s * cables + c}, {spine(s), i * cables + c});
  }
  return f;
}

Cluster fabric(Fabric f) {
  Cluster c;
  c.fabric = std::move(f);
  return c;
}

template <class Change>
Cluster fabric_with(Change change) {
  Fabric f = clos(8, 3, 2);
  change(f);
  return fabric(std::move(f));
}

FabricLink& cable_of(Fabric& f, const std::string& a, const std::string& b) {
  const auto guid = [&](const std::string& name) {
    for (const FabricSwitch& s : f.switches)
      if (s.name == name) return s.guid;
    for (const FabricHost& h : f.hosts)
      if (h.name == name) return h.guid;
    throw std::out_of_range(name);
  };
  for (FabricLink& l : f.links)
    if (l.a.guid == guid(a) && l.b.guid == guid(b)) return l;
  throw std::out_of_range(a + " - " + b);
}

}  // namespace

Cases fabric_cases() {
  const auto nothing = [](Fabric&) {};
  const auto drop = [](Fabric& f, const std::string& a, const std::string& b) {
    const FabricLink gone = cable_of(f, a, b);
    std::erase(f.links, gone);
  };
  return {
      {"fabric-link-degraded", "a host's cable with one lane of four", fabric_with([](Fabric& f) {
         FabricLink& l = cable_of(f, "leaf2", "node8 mlx5_0");
         l.width.value = 1;
         l.rate.value = BytesPerSecond(6.25e9);
       }),
       true},
      {"fabric-link-degraded", "a trunk below what both ends can do", fabric_with([](Fabric& f) {
         FabricLink& l = cable_of(f, "leaf2", "spine0");
         l.rate.value = BytesPerSecond(12.5e9);
         l.max_rate = {BytesPerSecond(25e9), origin::fabric};
       }),
       true},
      {"fabric-link-degraded", "all at four lanes", fabric_with(nothing)},
      {"fabric-link-degraded", "hosts of an older generation", fabric_with([](Fabric& f) {
         FabricLink& l = cable_of(f, "leaf2", "node8 mlx5_0");
         l.speed.value = "FDR";
         l.rate.value = BytesPerSecond(6.8125e9);
       })},
      {"fabric-link-degraded", "a port of HDR split into two", fabric_with([](Fabric& f) {
         FabricLink& l = cable_of(f, "leaf2", "node8 mlx5_0");
         l.width.value = 2;
         l.rate.value = BytesPerSecond(12.5e9);
       })},

      {"fabric-trunk-slower", "one of two parallel trunks at EDR", fabric_with([](Fabric& f) {
         FabricLink& l = cable_of(f, "leaf2", "spine1");
         l.speed.value = "EDR";
         l.rate.value = BytesPerSecond(12.5e9);
       }),
       true},
      {"fabric-trunk-slower", "the same between switches that nobody named", fabric_with([](Fabric& f) {
         FabricLink& l = cable_of(f, "leaf2", "spine1");
         l.speed.value = "EDR";
         l.rate.value = BytesPerSecond(12.5e9);
         for (FabricSwitch& s : f.switches) s.name = "Quantum Mellanox Technologies";
       }),
       true, "000000000000a002/22 - 000000000000b001/4"},
      {"fabric-trunk-slower", "a leaf of an older generation: all of its trunks", fabric_with([](Fabric& f) {
         for (FabricLink& l : f.links)
           if (l.a.guid == f.switches.back().guid)
             l.speed.value = "EDR", l.rate.value = BytesPerSecond(12.5e9);
       })},

      {"fabric-trunks-fewer", "one leaf lacks one cable",
       fabric_with([&](Fabric& f) { drop(f, "leaf3", "spine1"); }), true, "leaf3"},
      {"fabric-trunks-fewer", "one leaf lost both cables to a spine", fabric_with([&](Fabric& f) {
         for (int i = 0; i < 2; ++i) drop(f, "leaf3", "spine1");
       }),
       true, "leaf3"},
      {"fabric-trunks-fewer", "two pods, each with spines of its own", fabric_with([&](Fabric& f) {
         for (int leaf = 0; leaf < 8; ++leaf)
           for (int i = 0; i < 2; ++i) drop(f, fmt::format("leaf{}", leaf), leaf < 4 ? "spine0" : "spine1");
       })},
      {"fabric-trunks-fewer", "a leaf that was built with one spine", fabric_with([&](Fabric& f) {
         for (const char* spine : {"spine0", "spine1"})
           for (int i = 0; i < 2; ++i) drop(f, "leaf5", spine);
       })},
      {"fabric-trunks-fewer", "all alike", fabric_with(nothing)},
      {"fabric-trunks-fewer", "irregular: many leaves differ", fabric_with([&](Fabric& f) {
         for (const char* leaf : {"leaf1", "leaf2", "leaf3", "leaf4"}) drop(f, leaf, "spine1");
       })},
      {"fabric-trunks-fewer", "a leaf that was built with one cable to each spine",
       fabric_with([&](Fabric& f) {
         for (const char* spine : {"spine0", "spine1", "spine2"}) drop(f, "leaf5", spine);
       })},

      {"fabric-switch-isolated", "one leaf without trunks", fabric_with([](Fabric& f) {
         std::erase_if(f.links, [&](const FabricLink& l) {
           return l.a.guid == f.switches.back().guid && l.b.guid < "000000000000c000";
         });
       }),
       true, "leaf7"},
      {"fabric-switch-isolated", "planes of one switch each", fabric(clos(8, 0, 0))},
  };
}

}  // namespace ringtrue::diagnosis
