#include "topology/path.h"

#include <gtest/gtest.h>

#include "tests/support/machines.h"

namespace ringtrue::topology {
namespace {

using namespace ringtrue::test;

std::string kind(const Node& node, const std::string& from, const std::string& to) {
  const auto found = path(node, from, to);
  const auto back = path(node, to, from);
  EXPECT_TRUE(found && back && found->text() == back->text()) << from << " - " << to;
  return found ? found->text() : found.error().text();
}

// As if there were no NVLinks.
Result<Path> pci_path(Node node, const std::string& from, const std::string& to) {
  for (Gpu& gpu : node.gpus) gpu.nvlinks.reset();
  return path(node, from, to);
}

TEST(Path, KindsOnAnHgx) {
  const Node node = hgx_h100("node0");
  EXPECT_EQ(kind(node, "GPU0", "GPU7"), "NV18");
  EXPECT_EQ(kind(node, "GPU0", "mlx5_0"), "PIX");
  EXPECT_EQ(kind(node, "GPU0", "mlx5_1"), "PIX");
  EXPECT_EQ(kind(node, "GPU0", "mlx5_2"), "NODE");
  EXPECT_EQ(kind(node, "GPU0", "mlx5_4"), "SYS");
  EXPECT_EQ(kind(node, "mlx5_0", "mlx5_1"), "PIX");
  EXPECT_EQ(kind(node, "GPU3", "GPU3"), "X");
  EXPECT_EQ(kind(node, "ib0", "mlx5_0"), "X");
  EXPECT_EQ(kind(node, "GPU0", "0000:13:00.0"), "X");
  EXPECT_EQ(pci_path(node, "GPU0", "GPU1")->text(), "PIX");
  EXPECT_EQ(pci_path(node, "GPU0", "GPU7")->text(), "SYS");
}

TEST(Path, KindsOnOtherMachines) {
  const Node box = pcie_box("a");
  EXPECT_EQ(kind(box, "GPU0", "GPU1"), "PIX");
  EXPECT_EQ(kind(box, "GPU0", "GPU2"), "PXB");
  EXPECT_EQ(kind(box, "GPU0", "mlx5_0"), "NODE");
  const Node rails = four_rails("b");
  EXPECT_EQ(kind(rails, "GPU0", "mlx5_0"), "PHB");
  EXPECT_EQ(kind(rails, "GPU0", "mlx5_1"), "NODE");
  EXPECT_EQ(kind(rails, "GPU0", "mlx5_3"), "SYS");
}

TEST(Path, WhatIsUnknownIsNotGuessed) {
  Node node = four_rails("a");
  for (PciDevice& device : node.pci) device.root.clear();
  EXPECT_EQ(kind(node, "GPU0", "mlx5_0"), "PHB");
  EXPECT_EQ(kind(node, "GPU0", "mlx5_1"), "PHB");  // of one NUMA node; that is all that is known
  EXPECT_EQ(kind(node, "GPU0", "mlx5_2"), "SYS");
  for (PciDevice& device : node.pci) device.numa = {};
  EXPECT_EQ(kind(node, "GPU0", "mlx5_0"), "unknown");
  node.processors.numa.resize(1);  // a machine with one
  EXPECT_EQ(kind(node, "GPU0", "mlx5_2"), "PHB");

  Node switched = hgx_h100("b");
  for (PciDevice& device : switched.pci) device.numa = {}, device.root.clear();
  EXPECT_EQ(kind(switched, "GPU0", "mlx5_0"), "PIX");
  EXPECT_EQ(kind(switched, "GPU0", "mlx5_7"), "unknown");
}

TEST(Path, TheNarrowestLink) {
  Node node = hgx_h100("node0");
  auto way = pci_path(node, "GPU0", "mlx5_2");
  ASSERT_TRUE(way);
  ASSERT_EQ(way->links.size(), 4u);
  EXPECT_EQ(way->links[0].name, "0000:13:00.0 - 0000:12:00.0");
  EXPECT_EQ(way->links[1].name, "0000:11:00.0 - 0000:10:01.0");
  EXPECT_EQ(way->links[2].name, "0000:21:00.0 - 0000:20:01.0");
  EXPECT_EQ(way->links[3].name, "0000:25:00.0 - 0000:22:02.0");
  EXPECT_TRUE(way->all_known);

  pci_of(node, "0000:20:01.0").link.width = {8, origin::sysfs};  // a root port that reports less
  way = pci_path(node, "GPU0", "mlx5_2");
  EXPECT_EQ(way->narrowest_link, 2);
  EXPECT_EQ(way->links[2].text, "32 GT/s x8");
  EXPECT_NEAR(way->narrowest->value, 31.5e9, 1e7);

  pci_of(node, node.gpus[0]).link = {};
  way = pci_path(node, "GPU0", "mlx5_2");
  EXPECT_TRUE(way->all_known) << "the port above reports the link, too";
  port_above(node, node.gpus[0].address).link = {};
  way = pci_path(node, "GPU0", "mlx5_2");
  EXPECT_FALSE(way->all_known);
  EXPECT_FALSE(way->links[0].rate);
  EXPECT_EQ(way->links[0].text, "unknown");
  EXPECT_EQ(way->narrowest_link, 2);
}

TEST(Path, InsideASwitchNoLinkAboveItMatters) {
  Node node = hgx_h100("node0");
  pci_of(node, "0000:11:00.0").link.speed_GTps = {2.5, origin::sysfs};
  EXPECT_NEAR(path(node, "GPU0", "mlx5_0")->narrowest->value, 63e9, 2e7);
  EXPECT_NEAR(path(node, "GPU0", "mlx5_2")->narrowest->value, 4e9, 1e6);
  const auto up = path_to_root(node, "mlx5_0");
  EXPECT_NEAR(up->narrowest->value, 4e9, 1e6);
  EXPECT_EQ(up->narrowest_link, 1);
}

// NCCL's XML shows a switch as one device, and no root ports.
TEST(Path, SwitchesWithoutTheirPorts) {
  Node node;
  node.name = "nccl";
  const auto add = [&](const char* address, const char* parent, PciKind kind, int numa) {
    PciDevice d;
    d.address = address;
    d.parent = parent;
    d.kind = kind;
    d.numa = {numa, origin::nccl_xml};
    d.link.speed_GTps = {16, origin::nccl_xml};
    d.link.width = {kind == PciKind::switch_upstream ? 8 : 16, origin::nccl_xml};
    node.pci.push_back(d);
  };
  add("0001:00:00.0", "", PciKind::switch_upstream, 0);
  add("0001:01:00.0", "0001:00:00.0", PciKind::endpoint, 0);
  add("0001:02:00.0", "0001:00:00.0", PciKind::endpoint, 0);
  add("0002:00:00.0", "", PciKind::switch_upstream, 0);
  add("0002:01:00.0", "0002:00:00.0", PciKind::endpoint, 0);
  add("0003:01:00.0", "", PciKind::endpoint, 1);
  EXPECT_EQ(kind(node, "0001:01:00.0", "0001:02:00.0"), "PIX");
  EXPECT_EQ(kind(node, "0001:01:00.0", "0002:01:00.0"), "PHB");
  EXPECT_EQ(kind(node, "0001:01:00.0", "0003:01:00.0"), "SYS");
  // The switch's report is of its own link up, not of those below.
  EXPECT_NEAR(path(node, "0001:01:00.0", "0001:02:00.0")->narrowest->value, 31.5e9, 1e7);
  const auto far = path(node, "0001:01:00.0", "0002:01:00.0");
  ASSERT_EQ(far->links.size(), 4u);
  EXPECT_EQ(far->links[1].name, "0001:00:00.0 - host");
  EXPECT_NEAR(far->narrowest->value, 15.75e9, 1e7);
}

TEST(Path, NvlinksDirectly) {
  Node node = pcie_box("node0");
  const auto join = [&](std::size_t a, std::size_t b, int count) {
    for (const auto& [here, there] : {std::pair(a, b), std::pair(b, a)})
      for (int i = 0; i < count; ++i)
        node.gpus[here].nvlinks->push_back(nvlink(int(node.gpus[here].nvlinks->size()), 3,
                                                  BytesPerSecond(25e9), Remote::gpu,
                                                  node.gpus[there].address));
  };
  join(0, 1, 4);
  join(0, 2, 2);
  EXPECT_EQ(kind(node, "GPU0", "GPU1"), "NV4");
  EXPECT_EQ(kind(node, "GPU0", "GPU2"), "NV2");
  EXPECT_EQ(kind(node, "GPU1", "GPU2"), "PXB");
  const auto way = path(node, "GPU0", "GPU1");
  ASSERT_EQ(way->links.size(), 1u);
  EXPECT_EQ(way->links[0].name, "GPU0 - GPU1");
  EXPECT_EQ(way->links[0].text, "4 NVLinks");
  EXPECT_DOUBLE_EQ(way->narrowest->value, 100e9);
  (*node.gpus[1].nvlinks)[0].up = {false, origin::nvml};  // seen at one end alone
  EXPECT_EQ(kind(node, "GPU0", "GPU1"), "NV3");
  node.gpus[1].nvlinks.reset();
  EXPECT_EQ(kind(node, "GPU0", "GPU1"), "NV4");
}

TEST(Path, ThroughNvSwitchesTheFewerCount) {
  Node node = hgx_h100("node0");
  for (int i = 0; i < 2; ++i) (*node.gpus[3].nvlinks)[std::size_t(i)].up = {false, origin::nvml};
  EXPECT_EQ(kind(node, "GPU0", "GPU3"), "NV16");
  EXPECT_EQ(kind(node, "GPU0", "GPU1"), "NV18");
  const auto way = path(node, "GPU0", "GPU3");
  ASSERT_EQ(way->links.size(), 2u);
  EXPECT_EQ(way->narrowest_link, 1);
  EXPECT_DOUBLE_EQ(way->narrowest->value, 400e9);
  EXPECT_EQ(kind(node, "GPU0", "NVSwitch1"), "NV5");
  for (NvLink& link : *node.gpus[3].nvlinks) link.up = {false, origin::nvml};
  EXPECT_EQ(kind(node, "GPU0", "GPU3"), "NODE");
}

TEST(Path, FunctionsOfOneCardShareItsLink) {
  Node node = four_rails("node0");
  const Nic& first = node.nics[0];
  const PciDevice card = pci_of(node, first.address);
  add_nic(node, card.parent, "0000:22:00.1", LinkLayer::ethernet, "", BytesPerSecond(12.5e9), card.link);
  EXPECT_EQ(kind(node, "mlx5_0", "mlx5_4"), "PIX");
  EXPECT_EQ(path_to_root(node, "mlx5_0")->links[0].name, path_to_root(node, "mlx5_4")->links[0].name);
  EXPECT_EQ(kind(node, "GPU0", "mlx5_4"), "PHB");
}

TEST(Path, AVirtualFunctionHasItsPhysicalOnesLink) {
  Node node = four_rails("node0");
  const PciDevice card = pci_of(node, node.nics[0].address);
  PciLink none;
  none.speed_GTps = {0, origin::sysfs};
  none.width = {0, origin::sysfs};
  auto& vf = add_pci(node, "0000:22:01.2", card.parent, PciKind::endpoint, 0x020700, 0x15b3, 0x101e, none, 0,
                     card.root);
  vf.virtual_function = true;
  vf.physical_function = card.address;
  const auto up = path_to_root(node, "0000:22:01.2");
  ASSERT_EQ(up->links.size(), 1u);
  EXPECT_NEAR(up->narrowest->value, 31.5e9, 1e7);
  EXPECT_EQ(up->links[0].name, path_to_root(node, "mlx5_0")->links[0].name);
}

TEST(Path, ADeviceWithoutAPlaceOnPci) {
  Node node = four_rails("node0");
  Nic veth;
  veth.name = "veth0";
  veth.virtual_device = true;
  node.nics.push_back(veth);
  EXPECT_EQ(kind(node, "GPU0", "veth0"), "unknown");
  EXPECT_FALSE(path(node, "GPU0", "veth0")->all_known);
  EXPECT_FALSE(path_to_root(node, "veth0")->narrowest);
  EXPECT_FALSE(path_to_root(node, "veth0")->all_known);
}

TEST(Path, AnUnknownNameListsWhatThereIs) {
  const auto none = path(four_rails("node0"), "GPU0", "GPU9");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().cause, Cause::bad_input);
  EXPECT_NE(none.error().text().find("GPU9"), std::string::npos);
  EXPECT_NE(none.error().next.find("mlx5_3"), std::string::npos);
  EXPECT_TRUE(path(four_rails("node0"), "21:00.0", "0000:21:00.0"));
}

TEST(Path, AFinderSaysTheSameOfManyPairs) {
  const Node node = hgx_h100("node0");
  const PathFinder finder(node);
  for (const char* to : {"GPU1", "mlx5_0", "mlx5_7", "NVSwitch0"})
    EXPECT_EQ(finder.path("GPU0", to)->text(), path(node, "GPU0", to)->text()) << to;
  EXPECT_FALSE(finder.path("GPU0", "GPU9"));
}

TEST(Path, ATreeThatBitesItsTailEnds) {
  Node node = pcie_box("node0");
  pci_of(node, "0000:20:01.0").parent = "0000:25:00.0";  // GPU0, below it
  EXPECT_TRUE(path(node, "GPU0", "mlx5_0"));
  EXPECT_TRUE(path(node, "GPU0", "GPU2"));
  EXPECT_TRUE(path_to_root(node, "GPU0"));
}

}  // namespace
}  // namespace ringtrue::topology
