#include "topology/links.h"

#include <gtest/gtest.h>

#include "tests/support/machines.h"

namespace ringtrue::topology {
namespace {

using namespace ringtrue::test;

double GBps(std::optional<BytesPerSecond> rate) {
  return rate ? rate->value / 1e9 : -1;
}

const Link* find(const std::vector<Link>& all, const std::string& from) {
  for (const Link& link : all)
    if (link.from == from) return &link;
  return nullptr;
}

TEST(Links, PcieCarriesWhatItsGenerationAndWidthSay) {
  EXPECT_DOUBLE_EQ(GBps(pci_rate(2.5, 16)), 4);
  EXPECT_DOUBLE_EQ(GBps(pci_rate(5, 16)), 8);
  EXPECT_NEAR(GBps(pci_rate(8, 16)), 15.75, 0.01);
  EXPECT_NEAR(GBps(pci_rate(16, 16)), 31.5, 0.01);
  EXPECT_NEAR(GBps(pci_rate(32, 16)), 63, 0.02);
  EXPECT_DOUBLE_EQ(GBps(pci_rate(64, 16)), 121);
  EXPECT_NEAR(GBps(pci_rate(8, 4)), 15.7538 / 4, 1e-4);
  for (const double speed : {0., -1., 3., 128.}) EXPECT_FALSE(pci_rate(speed, 16)) << speed;
  for (const int width : {0, -1, 3, 255}) EXPECT_FALSE(pci_rate(16, width)) << width;
  EXPECT_EQ(pci_generation(16), 4);
  EXPECT_EQ(pci_generation(0), 0);
}

TEST(Links, APcieLinkIsItsSpeedAndWidthOrTheRateThatIsTold) {
  PciLink link = pcie(16, 8);
  EXPECT_NEAR(GBps(pci_rate(link)), 15.75, 0.01);
  EXPECT_NEAR(GBps(pci_max_rate(link)), 15.75, 0.01);
  EXPECT_EQ(pci_text(link), "16 GT/s x8");
  EXPECT_EQ(pci_max_text(link), "16 GT/s x8");
  link.speed_GTps = {};
  EXPECT_FALSE(pci_rate(link));
  EXPECT_EQ(pci_text(link), "x8");
  link = {};
  EXPECT_EQ(pci_text(link), "unknown");
  EXPECT_FALSE(pci_max_rate(link));
  link.rate = {BytesPerSecond(31.5e9), origin::hwloc};
  EXPECT_DOUBLE_EQ(GBps(pci_rate(link)), 31.5);
  EXPECT_EQ(pci_text(link), "31.5 GB/s");
  link.rate = {BytesPerSecond(0), origin::hwloc};
  EXPECT_FALSE(pci_rate(link));
}

TEST(Links, InfiniBandAndNvlinkRates) {
  const std::pair<const char*, double> Gbit[] = {{"SDR", 8},    {"DDR", 16},   {"QDR", 32},
                                                 {"FDR10", 40}, {"FDR", 54.5}, {"EDR", 100},
                                                 {"HDR", 200},  {"NDR", 400},  {"XDR", 800}};
  for (const auto& [speed, rate] : Gbit) EXPECT_DOUBLE_EQ(GBps(infiniband_rate(speed, 4)) * 8, rate) << speed;
  EXPECT_DOUBLE_EQ(GBps(infiniband_rate("HDR", 2)) * 8, 100);
  EXPECT_FALSE(infiniband_rate("ABC", 4));
  EXPECT_FALSE(infiniband_rate("HDR", 0));
  const double each[] = {20, 25, 25, 25, 50, 50};
  for (int version = 1; version <= 6; ++version) EXPECT_EQ(GBps(nvlink_rate(version)), each[version - 1]);
  EXPECT_FALSE(nvlink_rate(0));
  EXPECT_FALSE(nvlink_rate(7));
}

TEST(Links, AnHgxHasThemAll) {
  const Node node = hgx_h100("node0");
  const auto all = links(node);
  const Link* gpu = find(all, "GPU0");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->kind, LinkKind::pcie);
  EXPECT_EQ(gpu->to, "0000:12:00.0");
  EXPECT_EQ(gpu->text, "32 GT/s x16 of 32 GT/s x16");
  EXPECT_EQ(gpu->rate.origin, origin::sysfs);
  ASSERT_TRUE(gpu->max_rate.known());
  EXPECT_EQ(*gpu->max_rate, *gpu->rate);
  std::map<LinkKind, int> by_kind;
  for (const Link& link : all) ++by_kind[link.kind];
  EXPECT_EQ(by_kind[LinkKind::pcie], 8 + 8 + 4 + 4);  // GPUs, NICs, NVSwitches, PCIe switches
  EXPECT_EQ(by_kind[LinkKind::nvlink], 8 * 4);
  EXPECT_EQ(by_kind[LinkKind::infiniband], 8);
  const Link* port = find(all, "mlx5_3/1");
  ASSERT_TRUE(port);
  EXPECT_EQ(port->text, "NDR 4x, active");
  EXPECT_DOUBLE_EQ(GBps(port->rate.value), 50);
}

TEST(Links, TheSlowerEndCountsAndAParentOfAnotherLinkDoesNot) {
  Node node = hgx_h100("node0");
  port_above(node, node.gpus[2].address).link.width = {8, origin::sysfs};
  pci_of(node, "0000:11:00.0").link.speed_GTps = {16, origin::sysfs};  // the switch above GPU0
  const auto all = links(node);
  EXPECT_NEAR(GBps(find(all, "GPU2")->rate.value), 31.5, 0.01);
  EXPECT_EQ(find(all, "GPU2")->text, "32 GT/s x8 of 32 GT/s x16");
  EXPECT_NEAR(GBps(find(all, "GPU0")->rate.value), 63, 0.02);
  EXPECT_NEAR(GBps(find(all, "0000:11:00.0")->rate.value), 31.5, 0.01);
}

TEST(Links, ABundleKnowsWhatIsUpAndWhatItCouldBe) {
  Node node = hgx_h100("node0");
  auto& links_of_0 = *node.gpus[0].nvlinks;
  links_of_0[1].up = {false, origin::nvml};
  links_of_0[1].rate = {};
  links_of_0[1].version = {};
  const auto all = links(node);
  const auto bundle = std::find_if(all.begin(), all.end(),
                                   [](const Link& l) { return l.from == "GPU0" && l.to == "NVSwitch0"; });
  ASSERT_NE(bundle, all.end());
  EXPECT_EQ(bundle->count, 3);
  EXPECT_DOUBLE_EQ(GBps(bundle->rate.value), 75);
  EXPECT_DOUBLE_EQ(GBps(bundle->max_rate.value), 100);
  EXPECT_EQ(bundle->text, "3 of 4 NVLinks up");
  EXPECT_EQ(counts(node).nvlinks, 144);
  EXPECT_EQ(counts(node).nvlinks_up, 143);
}

TEST(Links, TwoGpusTellOfOneBundleOnce) {
  Node node = pcie_box("node0");
  for (const int other : {1, 0})
    for (int i = 0; i < 12; ++i)
      node.gpus[std::size_t(1 - other)].nvlinks->push_back(
          nvlink(i, 3, BytesPerSecond(25e9), Remote::gpu, node.gpus[std::size_t(other)].address));
  int bundles = 0;
  for (const Link& link : links(node)) bundles += link.kind == LinkKind::nvlink;
  EXPECT_EQ(bundles, 1);
  EXPECT_EQ(counts(node).nvlinks, 24);  // ends at GPUs
}

TEST(Links, APortThatIsDownIsNotUp) {
  Node node = four_rails("node0");
  node.nics[1].ports[0].state = from<std::string>(origin::sysfs, "down");
  const auto all = links(node);
  EXPECT_FALSE(find(all, "mlx5_1/1")->up);
  EXPECT_TRUE(find(all, "mlx5_0/1")->up);
}

TEST(Devices, OldGraphicsAreNoGpus) {
  PciDevice device;
  device.device_class = from<std::uint32_t>(origin::hwloc, 0x030000);
  device.vendor = from<std::uint32_t>(origin::hwloc, 0x1002);
  device.device = from<std::uint32_t>(origin::hwloc, 0x515e);  // ES1000, of a server's management
  EXPECT_FALSE(is_gpu(device));
  device.device = from<std::uint32_t>(origin::hwloc, 0x73bf);
  EXPECT_TRUE(is_gpu(device));
}

TEST(Fabrics, WhatSharesANameGoesByItsGuid) {
  Fabric fabric;
  fabric.switches = {{"a1", "SwitchIB Mellanox Technologies", 36, {}},
                     {"a2", "SwitchIB Mellanox Technologies", 36, {}},
                     {"a3", "", 36, {}},
                     {"a4", "spine", 36, {}}};
  fabric.hosts = {{"b1", "node1 HCA-1", "", false}, {"b2", "spine", "", false}};
  const auto names = fabric_names(fabric);
  EXPECT_EQ(names.at("a1"), "a1");
  EXPECT_EQ(names.at("a2"), "a2");
  EXPECT_EQ(names.at("a3"), "a3");
  EXPECT_EQ(names.at("a4"), "a4");
  EXPECT_EQ(names.at("b1"), "node1 HCA-1");
}

TEST(Counts, AreThoseOfTheMachines) {
  const Counts hgx = counts(hgx_h100("a"));
  EXPECT_EQ(hgx.gpus, 8);
  EXPECT_EQ(hgx.nics, 8);
  EXPECT_EQ(hgx.ports, 8);
  EXPECT_EQ(hgx.nvlinks, 144);
  EXPECT_EQ(hgx.nvswitches, 4);
  EXPECT_EQ(hgx.pcie_switches, 4);
  EXPECT_EQ(counts(hgx_h100_with("a", 8)).pcie_switches, 8);
  EXPECT_EQ(counts(pcie_box("a")).pcie_switches, 3);
  EXPECT_EQ(counts(four_rails("a")).pcie_switches, 0);
}

TEST(Counts, VirtualDevicesAreNoNics) {
  Node node = four_rails("node0");
  Nic veth;
  veth.name = "veth0";
  veth.netdevs = {"veth0"};
  veth.virtual_device = true;
  veth.ports.resize(1);
  node.nics.push_back(veth);
  // A virtual function with a name, and one that was given to a guest.
  for (const int function : {1, 2}) {
    const PciDevice above = pci_of(node, node.nics[0].address);
    auto& vf = add_pci(node, fmt::format("0000:22:00.{}", function), above.parent, PciKind::endpoint,
                       0x020700, 0x15b3, 0x101e, {}, 0, above.root);
    vf.virtual_function = true;
    vf.physical_function = node.nics[0].address;
  }
  Nic vf;
  vf.name = vf.rdma = "mlx5_9";
  vf.address = "0000:22:00.1";
  vf.ports.resize(1);
  node.nics.push_back(vf);
  EXPECT_EQ(counts(node).nics, 4);
  EXPECT_EQ(counts(node).virtual_nics, 3);
  EXPECT_EQ(counts(node).ports, 4);
  for (const Link& link : links(node)) EXPECT_TRUE(link.from != "veth0" && link.from != "mlx5_9");
}

TEST(Counts, TrunksAreBetweenSwitches) {
  Cluster cluster = cluster_of(3, hgx_h100);
  cluster.fabric->hosts.push_back({"aaaaaaaaaaaaaaaa", "Mellanox Technologies Aggregation Node", "", true});
  const Counts c = counts(cluster);
  EXPECT_EQ(c.nodes, 3);
  EXPECT_EQ(c.gpus, 24);
  EXPECT_EQ(c.fabric_switches, 2);
  EXPECT_EQ(c.fabric_hosts, 24);
  EXPECT_EQ(c.trunks, 4);
}

TEST(Links, ATreeThatBitesItsTailEnds) {
  Node node = pcie_box("node0");
  pci_of(node, "0000:20:01.0").parent = "0000:25:00.0";  // GPU0
  EXPECT_FALSE(links(node).empty());
}

}  // namespace
}  // namespace ringtrue::topology
