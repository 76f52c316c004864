#include "topology/merge.h"

#include <gtest/gtest.h>

#include "run/counter_window.h"
#include "tests/support/machines.h"
#include "topology/path.h"

namespace ringtrue::topology {
namespace {

using namespace ringtrue::test;

Cluster alone(Node node) {
  Cluster c;
  c.nodes.push_back(std::move(node));
  return c;
}

std::vector<std::string> names(const Cluster& cluster) {
  std::vector<std::string> all;
  for (const Node& node : cluster.nodes) all.push_back(node.name);
  return all;
}

TEST(Merge, NodesStandSideBySide) {
  const Cluster all = merge({alone(four_rails("b")), alone(hgx_h100("a"))});
  EXPECT_EQ(names(all), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(all.nodes[0], four_rails("b"));
  EXPECT_FALSE(all.fabric);
  EXPECT_TRUE(merge({}).nodes.empty());
}

TEST(Merge, NamesakesOfOneKindAreTwoMachines) {
  Node taken = pcie_box("n#2");
  const Cluster all = merge({alone(pcie_box("n")), alone(taken), alone(pcie_box("n")), alone(pcie_box("n"))});
  EXPECT_EQ(names(all), (std::vector<std::string>{"n", "n#2", "n#3", "n#4"}));
}

TEST(Merge, ANameThatWasGivenIsNobodysRecording) {
  Node other = pcie_box("n#2");
  other.recorded = "x (another kind)";
  const Cluster all = merge({alone(pcie_box("n")), alone(pcie_box("n")), alone(other)});
  EXPECT_EQ(names(all), (std::vector<std::string>{"n", "n#2", "n#2#2"}));
}

// What hwloc and NCCL say of one machine.
TEST(Merge, RecordingsOfTwoKindsAreOneMachine) {
  Node hwloc = pcie_box("n");
  hwloc.recorded = "n.xml (hwloc XML)";
  hwloc.gpus[0].model = {};
  for (Gpu& gpu : hwloc.gpus) gpu.nvlinks.reset();
  hwloc.nics[0].name = "eth0";
  hwloc.nics[0].rdma.clear();
  for (PciDevice& device : hwloc.pci) {
    device.link = {};
    device.link.rate = {BytesPerSecond(31.5e9), origin::hwloc};
  }
  Node nccl;
  nccl.name = "n";
  nccl.recorded = "nccl.xml (NCCL XML)";
  nccl.system.nvidia_driver = from<std::string>(origin::nccl_xml, "1.2");  // hwloc's node knows better
  nccl.gpus.push_back({});
  nccl.gpus[0].name = "GPU7";
  nccl.gpus[0].address = hwloc.gpus[0].address;
  nccl.gpus[0].model = from<std::string>(origin::nccl_xml, "A100");
  nccl.gpus[0].nvlinks.emplace(1, nvlink(0, 3, BytesPerSecond(25e9), Remote::gpu, hwloc.gpus[1].address));
  Gpu other;
  other.name = "GPU0";
  other.address = "0000:99:00.0";
  nccl.gpus.push_back(other);
  Nic nic;
  nic.name = nic.rdma = "mlx5_0";
  nic.address = hwloc.nics[0].address;
  nic.gdr = {true, origin::nccl_xml};
  nccl.nics.push_back(nic);
  nccl.gaps = {{origin::nccl_xml, "counters", "not in such a file"}};

  const Cluster all = merge({alone(hwloc), alone(nccl)});
  ASSERT_EQ(all.nodes.size(), 1u);
  const Node& node = all.nodes[0];
  EXPECT_EQ(node.recorded, "n.xml (hwloc XML) + nccl.xml (NCCL XML)");
  EXPECT_TRUE(node.system.nvidia_driver.is("535.104.05"));
  ASSERT_EQ(node.gpus.size(), 5u);
  EXPECT_EQ(node.gpus[0].name, "GPU0");
  EXPECT_EQ(node.gpus[0].model, from<std::string>(origin::nccl_xml, "A100"));
  ASSERT_TRUE(node.gpus[0].nvlinks);
  EXPECT_FALSE(node.gpus[1].nvlinks) << "nobody said that it has none";
  EXPECT_EQ(node.gpus[4].address, "0000:99:00.0");
  EXPECT_EQ(node.gpus[4].name, "GPU0#2") << "names are unique within a node";
  ASSERT_EQ(node.nics.size(), 1u);
  EXPECT_EQ(node.nics[0].name, "mlx5_0");
  EXPECT_TRUE(node.nics[0].gdr.is(true));
  EXPECT_EQ(node.gaps.size(), 1u);
  EXPECT_EQ(node.pci, hwloc.pci);

  // A third recording of a kind that was there is another machine's, and so is a fourth.
  EXPECT_EQ(names(merge({all, alone(hwloc)})), (std::vector<std::string>{"n", "n#2"}));
  EXPECT_EQ(names(merge({alone(hwloc), alone(hwloc), alone(nccl), alone(nccl)})),
            (std::vector<std::string>{"n", "n#2"}));
}

TEST(Merge, TheTreeThatShowsMoreBridgesIsBelieved) {
  const Node whole = pcie_box("n");
  Node coarse = whole;  // as NCCL shows it
  coarse.recorded = "nccl.xml (NCCL XML)";
  std::erase_if(coarse.pci, [](const PciDevice& d) { return d.kind == PciKind::switch_downstream; });
  for (PciDevice& device : coarse.pci)
    if (!coarse.find_pci(device.parent) && !device.parent.empty())
      device.parent = whole.find_pci(device.parent)->parent;
  for (const auto& parts :
       {std::vector{alone(coarse), alone(whole)}, std::vector{alone(whole), alone(coarse)}}) {
    const Node node = merge(parts).nodes.at(0);
    ASSERT_EQ(node.pci.size(), whole.pci.size());
    for (std::size_t i = 0; i < node.pci.size(); ++i) {
      const PciDevice& device = node.pci[i];
      EXPECT_EQ(device.parent, whole.find_pci(device.address)->parent) << device.address;
      const auto before = std::find_if(node.pci.begin(), node.pci.begin() + std::ptrdiff_t(i),
                                       [&](auto& d) { return d.address == device.parent; });
      EXPECT_TRUE(device.parent.empty() || before != node.pci.begin() + std::ptrdiff_t(i))
          << device.address << " comes before its parent";
    }
    EXPECT_EQ(path(node, "GPU0", "GPU1")->text(), "PIX");
    EXPECT_EQ(path(node, "GPU0", "GPU2")->text(), "PXB");
  }
}

TEST(Merge, PortsMeetTheirSwitches) {
  Cluster whole = cluster_of(2, hgx_h100);
  std::vector<Cluster> parts(3);
  parts[0].nodes = {whole.nodes[0]};
  parts[1].nodes = {whole.nodes[1]};
  parts[2].fabric = whole.fabric;
  // GUIDs as others write them.
  parts[0].nodes[0].nics[0].guid.value->insert(0, "0x");
  std::string& guid = *parts[0].nodes[0].nics[1].guid.value;
  guid = guid.substr(0, 4) + ":" + guid.substr(4, 4) + ":" + guid.substr(8, 4) + ":" + guid.substr(12);
  parts[1].nodes[0].nics[2].guid = {};  // the port's is left
  Cluster all = merge(parts);
  EXPECT_EQ(all.nodes[0].nics[0].ports[0].peer, "leaf0/1");
  EXPECT_EQ(all.nodes[0].nics[1].ports[0].peer, "leaf1/1");
  EXPECT_EQ(all.nodes[1].nics[2].ports[0].peer, "leaf0/6");
  EXPECT_EQ(all.nodes[1].nics[7].ports[0].peer, "leaf1/8");

  // Switches of one name are told apart by their GUIDs.
  for (FabricSwitch& s : parts[2].fabric->switches) s.name = "MF0;switch:SX6036/U1";
  all = merge(parts);
  EXPECT_EQ(all.nodes[0].nics[0].ports[0].peer, "e8ebd30300a10000/1");
}

TEST(Merge, APortNumberTellsWhichCable) {
  Cluster c = alone(four_rails("n"));
  Nic& nic = c.nodes[0].nics[0];
  nic.ports.push_back(nic.ports[0]);
  nic.ports[1].number = 2;
  nic.ports[1].guid = {"b83fd20300000099", origin::sysfs};
  c.fabric = two_leaves({});
  c.fabric->hosts.push_back({*nic.guid, "n mlx5_0", *nic.ports[0].guid, false});
  c.fabric->links.push_back({{"e8ebd30300a10000", 7}, {*nic.guid, 1}, {}, {}, {}, {}});
  c.fabric->links.push_back({{"e8ebd30300a20000", 9}, {*nic.guid, 2}, {}, {}, {}, {}});
  c = merge({c});
  EXPECT_EQ(c.nodes[0].nics[0].ports[0].peer, "leaf0/7");
  EXPECT_EQ(c.nodes[0].nics[0].ports[1].peer, "leaf1/9");
  EXPECT_EQ(c.nodes[0].nics[1].ports[0].peer, "");
}

TEST(Merge, FabricsAreOne) {
  Cluster a = cluster_of(2, four_rails), b = a;
  b.nodes.clear();
  for (FabricLink& link : b.fabric->links) std::swap(link.a, link.b);  // the same cables
  b.fabric->switches.push_back({"e8ebd30300a30000", "spine", 40, {}});
  b.fabric->links.push_back({{"e8ebd30300a30000", 1}, {"e8ebd30300a10000", 30}, {}, {}, {}, {}});
  a.fabric->switches[0].name.clear();
  const Cluster all = merge({a, b});
  EXPECT_EQ(all.fabric->switches.size(), 3u);
  EXPECT_EQ(all.fabric->switches[0].name, "leaf0");
  EXPECT_EQ(all.fabric->hosts.size(), 8u);
  EXPECT_EQ(all.fabric->links.size(), a.fabric->links.size() + 1);
}

const run::CounterChange* find(const run::CounterWindow& window, const std::string& counter) {
  for (const run::CounterChange& change : window.changes)
    if (change.counter == counter) return &change;
  return nullptr;
}

TEST(Difference, IsOfWhatChangedOrStandsAtItsEnd) {
  const std::vector<run::CounterSet> before = {
      {"mlx5_0/1",
       {{"symbol_error", 5}, {"link_downed", 255}, {"old", 7}, {"data", 100}, {"cleared", 9}},
       {}},
      {"gone", {{"x", 1}}, {}}};
  const std::map<std::string, std::uint64_t> widths = {
      {"symbol_error", 16}, {"link_downed", 8}, {"new", 8}, {"odd", 0}};
  const std::vector<run::CounterSet> after = {{"mlx5_0/1",
                                               {{"symbol_error", 65535},
                                                {"link_downed", 255},
                                                {"old", 7},
                                                {"data", 255},
                                                {"cleared", 2},
                                                {"new", 255}},
                                               widths},
                                              {"fresh", {{"x", 2}}, {}}};
  const run::CounterWindow window = difference(before, after, 2);
  EXPECT_EQ(window.seconds, 2);
  EXPECT_EQ(window.changes.size(), 4u);
  ASSERT_TRUE(find(window, "symbol_error"));
  EXPECT_EQ(*find(window, "symbol_error"),
            (run::CounterChange{"mlx5_0/1", "symbol_error", 5, 65535, true, false}));
  ASSERT_TRUE(find(window, "link_downed"));
  EXPECT_TRUE(find(window, "link_downed")->saturated) << "any number may have been lost since";
  ASSERT_TRUE(find(window, "data"));
  EXPECT_FALSE(find(window, "data")->saturated) << "it does not stick at 255";
  ASSERT_TRUE(find(window, "cleared"));
  EXPECT_TRUE(find(window, "cleared")->reset);
  EXPECT_FALSE(find(window, "old"));
  EXPECT_FALSE(find(window, "new")) << "what it was before is not known";
}

TEST(Difference, OfWidthsUpToAllBits) {
  const std::vector<run::CounterSet> before = {{"d", {{"a", 0}, {"b", 0}}, {}}};
  const std::vector<run::CounterSet> after = {
      {"d", {{"a", ~0ull}, {"b", ~0ull - 1}}, {{"a", 64}, {"b", 64}}}};
  const run::CounterWindow window = difference(before, after, 1);
  EXPECT_TRUE(find(window, "a")->saturated);
  EXPECT_FALSE(find(window, "b")->saturated);
}

TEST(Join, OneWindowAfterTheOther) {
  const run::CounterWindow first{1, {{"d", "a", 1, 4}, {"d", "b", 2, 3}, {"d", "r", 9, 1, false, true}}};
  const run::CounterWindow second{
      2.5, {{"d", "a", 4, 255, true}, {"d", "c", 0, 6}, {"d", "r", 1, 3}, {"e", "a", 1, 2}}};
  const run::CounterWindow joined = join(first, second);
  EXPECT_EQ(joined.seconds, 3.5);
  EXPECT_EQ(joined.changes.size(), 5u);
  EXPECT_EQ(*find(joined, "a"), (run::CounterChange{"d", "a", 1, 255, true, false}));
  EXPECT_EQ(*find(joined, "b"), (run::CounterChange{"d", "b", 2, 3}));
  EXPECT_EQ(*find(joined, "c"), (run::CounterChange{"d", "c", 0, 6}));
  EXPECT_TRUE(find(joined, "r")->reset);
}

// Between the windows nobody looked: a counter that was cleared there shows it by where it begins again.
TEST(Join, SeesAResetInBetween) {
  const run::CounterWindow joined = join({1, {{"d", "a", 100, 150}}}, {1, {{"d", "a", 3, 5}}});
  EXPECT_TRUE(find(joined, "a")->reset);
}

}  // namespace
}  // namespace ringtrue::topology
