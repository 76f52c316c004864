// What an inspection holds its rails to, what a node's ideal counts and what the transport takes is the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "diagnosis/inspect/rule_context.h"
#include "formats/format.h"
#include "ideal/facts.h"
#include "tests/support/fake_verbs.h"
#include "tests/support/format_fixture.h"
#include "tests/support/machines.h"
#include "transport/verbs/rails.h"

namespace ringtrue {
namespace {

using Names = std::set<std::string>;
using namespace test;

struct Machine {
  std::string what;
  topology::Node node;
};

Names by_inspection(const topology::Node& node) {
  Names names;
  for (const topology::Nic* nic : diagnosis::NodeView(node, 0).rails) names.insert(nic->name);
  return names;
}

Names by_ideal(const topology::Node& node) {
  topology::Cluster cluster;
  cluster.nodes.push_back(node);
  Names names;
  if (const auto facts = ideal::from_topology(cluster, {}))
    for (const ideal::Rail& rail : facts->nodes[0].rails) names.insert(rail.nic);
  return names;
}

// On a node that has the same devices and ports.
Names by_transport(const topology::Node& node) {
  using namespace transport::verbs;
  std::vector<FakeDevice> devices;
  for (const topology::Nic& nic : node.nics) {
    if (nic.rdma.empty()) continue;
    FakeDevice device = fake_infiniband(nic.name, 1);
    const FakePort port = device.ports[0];
    device.ports.assign(std::max<std::size_t>(1, nic.ports.size()), port);
    for (std::size_t i = 0; i < nic.ports.size(); ++i) {
      const topology::Port& from = nic.ports[i];
      const bool ethernet = from.layer == topology::LinkLayer::ethernet;
      if (ethernet) device.ports[i] = fake_roce(nic.name, "10.0.0.1").ports[0];
      device.ports[i].state.rate = topology::best_rate(from).value_or(BytesPerSecond());
      device.ports[i].state.active = !from.state.known() || *from.state == "active";
      if (!device.ports[i].state.active) device.ports[i].state.state = "down";
    }
    devices.push_back(std::move(device));
  }
  FakeFabric fabric;
  const auto opened = open_devices(fabric.add_node(std::move(devices)));
  const auto choice = choose_rails(*opened, {}, {"", std::vector<std::string>{}});
  Names names;
  if (choice)
    for (const transport::verbs::Rail& rail : choice->rails) names.insert(rail.name.device);
  return names;
}

std::vector<Machine> machines() {
  std::vector<Machine> all = {{"hgx_h100", hgx_h100("n")},
                              {"hgx_h100 with 8", hgx_h100_with("n", 8)},
                              {"four_rails", four_rails("n")}};
  const auto add = [&](const std::string& file, Result<topology::Node> node) {
    EXPECT_TRUE(node) << file;
    if (node) all.push_back({file, std::move(*node)});
  };
  for (const char* file : {"hwloc-v1.xml", "hwloc-v2.xml"})
    add(file, formats::read_hwloc_xml(fixture(file), "n"));
  for (const char* file : {"nccl-h100.xml", "nccl-cloud.xml"})
    add(file, formats::read_nccl_xml(fixture(file), "n"));
  // Storage on Ethernet beside the rails, at their rate.
  topology::Node storage = four_rails("n");
  topology::Nic& nic = storage.nics.emplace_back(storage.nics[0]);
  nic.name = nic.rdma = "storage";
  nic.address.clear();
  nic.ports[0].layer = topology::LinkLayer::ethernet;
  all.push_back({"four_rails and storage", std::move(storage)});
  // One port of another model that is faster than each of the rails, and slower than all of them.
  topology::Node fast = four_rails("n");
  topology::Nic& dpu = fast.nics.emplace_back(fast.nics[0]);
  dpu.name = dpu.rdma = "dpu";
  dpu.model = from<std::string>(topology::origin::sysfs, "another");
  dpu.address.clear();
  dpu.ports[0].rate = dpu.ports[0].max_rate = from(topology::origin::sysfs, BytesPerSecond(50e9));
  all.push_back({"four_rails and a faster port", std::move(fast)});
  return all;
}

TEST(Rails, AreTheSameForInspectionIdealAndTransport) {
  for (const Machine& machine : machines()) {
    const Names rails = by_ideal(machine.node);
    EXPECT_EQ(by_inspection(machine.node), rails) << machine.what;
    const bool rdma =
        std::ranges::any_of(machine.node.nics, [](const auto& nic) { return !nic.rdma.empty(); });
    if (rdma) EXPECT_EQ(by_transport(machine.node), rails) << machine.what;
  }
}

TEST(Rails, ThatAreDownAreInspectedButNotUsed) {
  topology::Node node = four_rails("n");
  const std::string down = node.nics[2].name;
  node.nics[2].ports[0].state = from<std::string>(topology::origin::sysfs, "down");
  EXPECT_TRUE(by_inspection(node).contains(down));
  EXPECT_FALSE(by_ideal(node).contains(down));
  EXPECT_EQ(by_transport(node), by_ideal(node));
}

TEST(Rails, ThatAreAllDownAreInspectedWhereAnotherFabricStandsIn) {
  topology::Node node = four_rails("n");
  Names down;
  for (topology::Nic& nic : node.nics) {
    nic.ports[0].state = from<std::string>(topology::origin::sysfs, "down");
    down.insert(nic.name);
  }
  topology::Nic& storage = node.nics.emplace_back(node.nics[0]);
  storage.name = storage.rdma = "storage";
  storage.address.clear();
  storage.ports[0].layer = topology::LinkLayer::ethernet;
  storage.ports[0].state = from<std::string>(topology::origin::sysfs, "active");
  EXPECT_EQ(by_ideal(node), Names{"storage"});
  EXPECT_EQ(by_transport(node), by_ideal(node));
  Names all = down;
  all.insert("storage");
  EXPECT_EQ(by_inspection(node), all);
}

}  // namespace
}  // namespace ringtrue
