#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/live.h"
#include "probe/probe.h"
#include "tests/support/sysfs_tree.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

using test::PciFunction;
using test::SysfsTree;
using testing::ElementsAre;

class Answering : public Files {
 public:
  Answering(const std::string& root, std::string ethtool) : Files(root), ethtool_(std::move(ethtool)) {}
  Result<std::string> answer(std::string_view library) override {
    if (library == "verbs") return R"({"devices": []})";
    if (library != "ethtool" || ethtool_.empty()) return fail(Cause::unavailable, "ethtool died");
    return ethtool_;
  }

 private:
  std::string ethtool_;
};

Node probed(const SysfsTree& tree, std::string ethtool = "{}") {
  Answering source(tree.root(), std::move(ethtool));
  Node node;
  probe_pci(source, node);
  probe_rdma(source, node);
  probe_netlink(source, node);
  return node;
}

std::vector<std::string> names(const Node& node) {
  std::vector<std::string> all;
  for (const Nic& nic : node.nics) all.push_back(nic.name);
  return all;
}

const PciFunction ethernet{.device_class = 0x020000, .vendor = 0x8086, .device = 0x1592, .driver = "ice"};
constexpr double Gbit = 1e9 / 8;

TEST(ProbeNetlink, ReadsAnEthernetPort) {
  SysfsTree tree;
  tree.netdev("eth0", tree.pci("0000:00:03.0", ethernet), "100000", 1, 9000);
  const Node node = probed(tree, R"json({"eth0": {"speed_Mbps": 100000, "supported_Mbps": 200000, "lanes": 2,
      "firmware": "28.39.1002 (MT_0000000838)", "driver": "other", "pause_rx": true, "pause_tx": false}})json");
  ASSERT_EQ(node.nics.size(), 1u);
  const Nic& nic = node.nics[0];
  EXPECT_EQ(nic.name, "eth0");
  EXPECT_EQ(nic.address, "0000:00:03.0");
  EXPECT_FALSE(nic.virtual_device);
  EXPECT_EQ(nic.driver, Fact<std::string>("ice", origin::sysfs));
  EXPECT_EQ(nic.firmware, Fact<std::string>("28.39.1002", origin::ethtool));
  const Port& port = nic.ports.at(0);
  EXPECT_EQ(port.layer, LinkLayer::ethernet);
  EXPECT_TRUE(port.state.is("active"));
  EXPECT_TRUE(port.physical_state.is("linkup"));
  EXPECT_DOUBLE_EQ(port.rate->value, 100 * Gbit);
  EXPECT_EQ(port.max_rate, Fact<BytesPerSecond>(BytesPerSecond(200 * Gbit), origin::ethtool));
  EXPECT_TRUE(port.width.is(2));
  EXPECT_TRUE(port.mtu.is(9000));
  EXPECT_TRUE(port.pause_rx.is(true));
  EXPECT_TRUE(port.pause_tx.is(false));
  EXPECT_TRUE(node.gaps.empty());
}

TEST(ProbeNetlink, JoinsNetdevsToRdmaDevices) {
  SysfsTree tree;
  const std::string a = tree.pci("0000:00:03.0", {.device_class = 0x020700, .vendor = 0x15b3});
  const std::string b = tree.pci("0000:00:04.0", {.device_class = 0x020000, .vendor = 0x15b3});
  tree.rdma("mlx5_0", a, "200 Gb/sec (4X HDR)");
  tree.netdev("ib0", a, "200000", 32, 2044);
  tree.rdma("mlx5_1", b, "100 Gb/sec (4X EDR)", "Ethernet");
  tree.netdev("eth1", b, "100000", 1, 4200);
  const Node node = probed(tree, R"({"eth1": {"supported_Mbps": 100000}})");
  EXPECT_THAT(names(node), ElementsAre("mlx5_0", "mlx5_1"));
  EXPECT_THAT(node.nics[0].netdevs, ElementsAre("ib0"));
  EXPECT_EQ(node.nics[0].ports.size(), 1u);
  EXPECT_FALSE(node.nics[0].ports[0].mtu.known());  // 2044 is IP's over it
  EXPECT_THAT(node.nics[1].netdevs, ElementsAre("eth1"));
  EXPECT_EQ(node.nics[1].ports.size(), 1u);
  EXPECT_TRUE(node.nics[1].ports[0].mtu.is(4200));
  EXPECT_DOUBLE_EQ(node.nics[1].ports[0].max_rate->value, 100 * Gbit);
}

TEST(ProbeNetlink, TellsVirtualFromPhysical) {
  SysfsTree tree;
  tree.netdev("eth0", tree.pci("0000:00:03.0", ethernet) + "/virtio2", "-1");
  tree.netdev("lo", "", "", 772, 65536);
  tree.netdev("veth1", "", "10000");
  const std::string bond = tree.netdev("bond0", "", "200000");
  tree.file(bond + "/uevent", "DEVTYPE=bond\nINTERFACE=bond0\n");
  tree.netdev("usb0", tree.pci("0000:00:14.0", {.device_class = 0x0c0330}) + "/usb1/1-1", "480");
  tree.file("/sys/class/net/bonding_masters", "bond0\n");
  const Node node = probed(tree, R"({"veth1": {"driver": "veth", "speed_Mbps": 10000}})");
  EXPECT_THAT(names(node), ElementsAre("eth0", "bond0", "usb0", "veth1"));
  EXPECT_FALSE(node.find_nic("eth0")->virtual_device);
  EXPECT_EQ(node.find_nic("eth0")->address, "0000:00:03.0");
  EXPECT_FALSE(node.find_nic("eth0")->ports[0].rate.known());
  for (const char* name : {"bond0", "veth1", "usb0"})
    EXPECT_TRUE(node.find_nic(name)->virtual_device) << name;
  EXPECT_FALSE(node.find_nic("veth1")->ports[0].rate.known());
  EXPECT_TRUE(node.find_nic("veth1")->driver.is("veth"));
  EXPECT_DOUBLE_EQ(node.find_nic("bond0")->ports[0].rate->value, 200 * Gbit);
}

TEST(ProbeNetlink, TellsDownFromDisabled) {
  SysfsTree tree;
  const std::string a = tree.netdev("eth0", tree.pci("0000:00:03.0", ethernet), "-1");
  tree.file(a + "/operstate", "down\n");
  tree.file(a + "/carrier", "0\n");
  const std::string b = tree.netdev("eth1", tree.pci("0000:00:04.0", ethernet), "100000");
  tree.file(b + "/operstate", "down\n");
  tree.file(b + "/flags", "0x1002\n");
  const Node node = probed(tree);
  EXPECT_TRUE(node.nics.at(0).ports.at(0).state.is("down"));
  EXPECT_TRUE(node.nics[0].ports[0].physical_state.is("polling"));
  EXPECT_TRUE(node.nics.at(1).ports.at(0).state.is("down"));
  EXPECT_TRUE(node.nics[1].ports[0].physical_state.is("disabled"));
  EXPECT_FALSE(node.nics[1].ports[0].rate.known());
}

TEST(ProbeNetlink, DoesNotBelieveAMaximumBelowTheRate) {
  SysfsTree tree;
  tree.netdev("eth0", tree.pci("0000:00:03.0", ethernet), "100000");
  const Node node = probed(tree, R"({"eth0": {"supported_Mbps": 10000}})");
  EXPECT_FALSE(node.nics.at(0).ports.at(0).max_rate.known());
}

TEST(ProbeNetlink, CountsFunctionsWithoutADriver) {
  SysfsTree tree;
  tree.pci("0000:00:03.0", ethernet);
  PciFunction f = ethernet;
  f.physical = "0000:00:03.0";
  tree.pci("0000:00:03.1", f);
  const Node node = probed(tree);
  EXPECT_THAT(names(node), ElementsAre("NIC0", "NIC1"));
  EXPECT_FALSE(node.nics[0].virtual_device);
  EXPECT_TRUE(node.nics[1].virtual_device);
}

TEST(ProbeNetlink, LeavesOutASwitchsSideOfVirtualFunctions) {
  SysfsTree tree;
  const std::string function = tree.pci("0000:00:03.0", ethernet);
  tree.file(tree.netdev("eth0", function, "100000") + "/phys_port_name", "p0\n");
  tree.file(tree.netdev("eth0_3", function, "100000") + "/phys_port_name", "pf0vf3\n");
  EXPECT_THAT(probed(tree).nics.at(0).netdevs, ElementsAre("eth0"));
}

TEST(ProbeNetlink, PutsSoftRdmaBehindItsHardware) {
  SysfsTree tree;
  tree.netdev("eth0", tree.pci("0000:00:03.0", ethernet), "10000");
  tree.file(tree.rdma("rxe0", "", "10 Gb/sec (4X SDR)", "Ethernet") + "/parent", "eth0\n");
  const Node node = probed(tree);
  EXPECT_THAT(names(node), ElementsAre("eth0", "rxe0"));
  EXPECT_EQ(node.find_nic("eth0")->rdma, "");
}

TEST(ProbeNetlink, NamesASilentEthtool) {
  SysfsTree tree;
  tree.netdev("eth0", tree.pci("0000:00:03.0", ethernet), "10000");
  const Node node = probed(tree, "");
  EXPECT_EQ(node.nics.size(), 1u);
  ASSERT_EQ(node.gaps.size(), 1u);
  EXPECT_EQ(node.gaps[0].source, origin::ethtool);
}

}  // namespace
}  // namespace ringtrue::probe
