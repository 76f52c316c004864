#include "diagnosis/sweep/foreign_ports.h"

#include <gtest/gtest.h>

namespace ringtrue::diagnosis {
namespace {

using topology::Fact;

// A node with the soft-RoCE devices of a whole lab in context.
topology::Node node(const std::string& name) {
  topology::Node n;
  n.name = name;
  n.window.emplace();
  for (int i = 1; i <= 3; ++i) {
    topology::Nic nic;
    nic.name = nic.rdma = "rxe" + std::to_string(i);
    nic.netdevs = {"veth" + std::to_string(i)};
    topology::Port port;
    port.state = Fact<std::string>(i == 3 ? "down" : "active", "sysfs");
    port.gids = {"fe80:0000:0000:0000:0000:0000:0000:000" + std::to_string(i),
                 "0000:0000:0000:0000:0000:ffff:0a01:000" + std::to_string(i)};
    nic.ports = {port};
    n.nics.push_back(nic);
    n.counters.push_back({nic.name + "/1", {{"sent_pkts", 1}}, {}});
    n.counters.push_back({nic.netdevs[0], {{"rx_errors", 1}}, {}});
    n.window->changes.push_back({nic.name + "/1", "rcvd_seq_err", 0, 1, false, false});
  }
  n.counters.push_back({"0000:01:00.0", {{"aer_fatal", 0}}, {}});
  return n;
}

TEST(ForeignPorts, APortIsTheNodesThatSendsFromIt) {
  topology::Cluster cluster;
  cluster.nodes = {node("a"), node("b")};
  drop_foreign_ports(cluster, {{"a", "10.1.0.1"}, {"b", "10.1.0.2"}, {"c", ""}, {"d", "nonsense"}});
  ASSERT_EQ(cluster.nodes[0].nics.size(), 2u);  // rxe3 is nobody's in particular
  EXPECT_EQ(cluster.nodes[0].nics[0].name, "rxe1");
  EXPECT_EQ(cluster.nodes[0].nics[1].name, "rxe3");
  EXPECT_EQ(cluster.nodes[0].counters.size(), 5u);  // without rxe2's and veth2's
  EXPECT_EQ(cluster.nodes[0].window->changes.size(), 2u);
  EXPECT_EQ(cluster.nodes[1].nics[0].name, "rxe2");
  const Ports ports = active_ports(cluster, {"b", "x", "a"});
  EXPECT_EQ(ports[0], (std::vector<RdmaPort>{{"rxe2", 1}}));
  EXPECT_TRUE(ports[1].empty());
  EXPECT_EQ(ports[2], (std::vector<RdmaPort>{{"rxe1", 1}}));
}

TEST(ForeignPorts, PortsOfTheOtherLayerMeetNobody) {
  topology::Cluster cluster;
  cluster.nodes = {node("a"), node("b")};
  for (topology::Node& n : cluster.nodes) {
    for (topology::Nic& nic : n.nics) nic.ports[0].layer = topology::LinkLayer::infiniband;
    n.nics[1].ports[0].layer = topology::LinkLayer::ethernet;
  }
  const std::vector<std::string> nodes = {"a", "b"};
  const Ports all = active_ports(cluster, nodes), rails = {{{"rxe1", 1}}, {{"rxe1", 1}}};
  Ports kept = all;
  EXPECT_EQ(take_other_layers(cluster, nodes, rails, kept), (Ports{{{"rxe2", 1}}, {{"rxe2", 1}}}));
  EXPECT_EQ(kept, rails);
  kept = all;
  EXPECT_EQ(take_other_layers(cluster, nodes, {{{"rxe1", 1}}, {{"rxe2", 1}}}, kept), Ports(2))
      << "both are used";
  EXPECT_EQ(take_other_layers(cluster, nodes, {{{"mlx5_9", 1}}, {}}, kept), Ports(2)) << "of a layer unknown";
  EXPECT_EQ(kept, all);
}

TEST(ForeignPorts, WithoutAddressesAllStays) {
  topology::Cluster cluster;
  cluster.nodes = {node("a"), node("b")};
  const topology::Cluster before = cluster;
  drop_foreign_ports(cluster, {});
  EXPECT_EQ(cluster, before);
  drop_foreign_ports(cluster, {{"a", "fe80::9"}});
  EXPECT_EQ(cluster, before);
  drop_foreign_ports(cluster, {{"a", "fe80::2"}});
  EXPECT_EQ(cluster.nodes[0], before.nodes[0]);
  EXPECT_EQ(cluster.nodes[1].nics.size(), 2u);
}

TEST(ForeignPorts, WhatIsNoAddressOwnsNothing) {
  topology::Cluster cluster;
  cluster.nodes = {node("b")};
  const topology::Cluster before = cluster;
  for (const char* bad :
       {":", "::", ":::", "fe80:::2", "fe80::2:", "fe80::12345", "10.1.0", "10.1.0.2.3", "10.1.0.258",
        "10..0.2", "-1.1.0.2", "fe80:0:0:0:0:0:0", "fe80::0:0:0:0:0:0:2", "10.1.0.2 "}) {
    drop_foreign_ports(cluster, {{"a", bad}});
    EXPECT_EQ(cluster, before) << bad;
  }
  for (const char* good : {"10.1.0.2", "::ffff:a01:2", "0:0:0:0:0:ffff:a01:2", "fe80:0::2"}) {
    topology::Cluster other = before;
    drop_foreign_ports(other, {{"a", good}});
    EXPECT_EQ(other.nodes[0].nics.size(), 2u) << good;
  }
}

}  // namespace
}  // namespace ringtrue::diagnosis
