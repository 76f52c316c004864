#include "topology/rails.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/rail_rule.h"
#include "tests/support/machines.h"

namespace ringtrue::topology {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string word(NoRail why) {
  switch (why) {
    case NoRail::none:
      return "rail";
    case NoRail::virtual_device:
      return "virtual";
    case NoRail::no_rdma:
      return "no RDMA";
    case NoRail::other_kind:
      return "other kind";
    case NoRail::down:
      return "down";
  }
  return "";
}

std::vector<std::string> rails(const Node& node, const std::vector<std::string>& names = {}) {
  std::vector<std::string> words;
  for (const RailPort& p : find_rails(node, names)) words.push_back(p.nic->name + ": " + word(p.why_not));
  return words;
}

Nic nic(const std::string& name, double gigabits, LinkLayer layer = LinkLayer::infiniband) {
  Nic nic;
  nic.name = name;
  nic.rdma = name;
  nic.model = from<std::string>(origin::sysfs, fmt::format("ConnectX at {}", gigabits));
  nic.ports.emplace_back();
  nic.ports[0].number = 1;
  nic.ports[0].layer = layer;
  nic.ports[0].state = from<std::string>(origin::sysfs, "active");
  if (gigabits > 0) nic.ports[0].max_rate = {BytesPerSecond(gigabits * 1e9 / 8), origin::sysfs};
  return nic;
}

Node node_of(std::vector<Nic> nics) {
  Node node;
  node.nics = std::move(nics);
  return node;
}

TEST(Rails, AreThePortsOfTheKindThatCarriesMost) {
  // Storage and management beside them are none, whatever the rate of one alone.
  EXPECT_THAT(rails(node_of({nic("a0", 200), nic("a1", 200), nic("a2", 200), nic("b0", 400), nic("c0", 25)})),
              ElementsAre("a0: rail", "a1: rail", "a2: rail", "b0: other kind", "c0: other kind"));
  // The same cards on another fabric.
  EXPECT_THAT(rails(node_of({nic("a0", 400), nic("a1", 400), nic("s0", 400, LinkLayer::ethernet)})),
              ElementsAre("a0: rail", "a1: rail", "s0: other kind"));
}

TEST(Rails, HaveRdmaWhereAnyHasIt) {
  Nic plain = nic("eth0", 800, LinkLayer::ethernet);
  plain.rdma.clear();
  EXPECT_THAT(rails(node_of({plain, nic("mlx5_0", 100)})), ElementsAre("eth0: no RDMA", "mlx5_0: rail"));
  EXPECT_THAT(rails(node_of({plain})), ElementsAre("eth0: rail"));
}

TEST(Rails, AreHardwareWhereThereIsAny) {
  Nic bridge = nic("br0", 800);
  bridge.virtual_device = true;
  EXPECT_THAT(rails(node_of({bridge, nic("mlx5_0", 100)})), ElementsAre("br0: virtual", "mlx5_0: rail"));
  EXPECT_THAT(rails(node_of({bridge})), ElementsAre("br0: rail"));
  Node guest = node_of({bridge, nic("mlx5_0", 100)});
  guest.nics[1].virtual_device = true;
  guest.nics[1].address = "0000:00:05.0";
  guest.pci.emplace_back();
  guest.pci[0].address = "0000:00:05.0";
  guest.pci[0].virtual_function = true;
  EXPECT_TRUE(is_passed_through(guest, guest.nics[1]));
  EXPECT_THAT(rails(guest), ElementsAre("br0: virtual", "mlx5_0: rail"));
}

TEST(Rails, ThatAreDownAreNamedAndDoNotCount) {
  Node node = node_of({nic("a0", 400), nic("a1", 400), nic("b0", 200)});
  node.nics[1].ports[0].state = from<std::string>(origin::sysfs, "down");
  EXPECT_THAT(rails(node), ElementsAre("a0: rail", "a1: down", "b0: other kind"));
  node.nics[0].ports[0].physical_state = from<std::string>(origin::sysfs, "disabled");
  // Another kind stands in for them: that does not make them storage or management.
  EXPECT_THAT(rails(node), ElementsAre("a0: down", "a1: down", "b0: rail"));
  // Where all are down, the kind that would carry most.
  node.nics[2].ports[0].state = from<std::string>(origin::sysfs, "down");
  EXPECT_THAT(rails(node), ElementsAre("a0: down", "a1: down", "b0: other kind"));
  // A lesser kind that is down is nobody's rail.
  for (int i : {0, 1}) node.nics[std::size_t(i)] = nic(i ? "a1" : "a0", 400);
  EXPECT_THAT(rails(node), ElementsAre("a0: rail", "a1: rail", "b0: other kind"));
}

TEST(Rails, CanBeNamed) {
  Node node = node_of({nic("a0", 400), nic("a1", 400), nic("b0", 200)});
  node.nics[1].ports[0].state = from<std::string>(origin::sysfs, "down");
  EXPECT_THAT(rails(node, {"b0", "a1", "b0", "missing"}), ElementsAre("b0: rail", "a1: down"));
}

TEST(Rails, WhosePortsNobodyShowsHaveOneEach) {
  Node node = node_of({nic("a0", 0), nic("a1", 0)});
  for (Nic& n : node.nics) n.ports.clear();
  EXPECT_THAT(rails(node), ElementsAre("a0: rail", "a1: rail"));
  EXPECT_FALSE(best_rate(*find_rails(node)[0].port));
  node.nics[1].ports = nic("a1", 100).ports;
  EXPECT_THAT(rails(node), ElementsAre("a1: rail"));
  EXPECT_THAT(rails(Node()), IsEmpty());
}

TEST(Rails, OfHandMadeMachinesAreTheirNics) {
  EXPECT_EQ(find_rails(hgx_h100("n")).size(), 8u);
  for (const Node& node : {hgx_h100("n"), four_rails("n"), pcie_box("n")})
    for (const RailPort& p : find_rails(node)) EXPECT_EQ(p.why_not, NoRail::none) << p.nic->name;
}

TEST(KindForData, IsTheOneThatCarriesMost) {
  using Ports = std::vector<run::PortForData>;
  EXPECT_EQ(run::kind_for_data(Ports{}), "");
  EXPECT_EQ(run::kind_for_data(Ports{{"a", 1}, {"a", 1}, {"b", 1.5}}), "a");
  EXPECT_EQ(run::kind_for_data(Ports{{"a", 0}, {"b", 0}, {"b", 0}}), "b");
  EXPECT_EQ(run::kind_for_data(Ports{{"a", 9, false}, {"b", 1, true}}), "b");
  EXPECT_EQ(run::kind_for_data(Ports{{"a", 9, false}, {"b", 1, false}}), "a");
  EXPECT_EQ(run::kind_for_data(Ports{{"InfiniBand", 1}, {"Ethernet", 1}}), "InfiniBand");
  EXPECT_EQ(run::kind_that_is_down(Ports{{"a", 9, false}, {"b", 1, true}}), "a");
  EXPECT_EQ(run::kind_that_is_down(Ports{{"a", 9, false}, {"a", 9, true}, {"b", 1, false}}), "");
  EXPECT_EQ(run::kind_that_is_down(Ports{{"a", 9, true}, {"b", 1, false}}), "");
}

}  // namespace
}  // namespace ringtrue::topology
