#include <gtest/gtest.h>

#include "probe/live.h"
#include "probe/probe.h"
#include "tests/support/sysfs_tree.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

using test::SysfsTree;

// Files, and what verbs is to say.
class Answering : public Files {
 public:
  Answering(const std::string& root, std::string verbs) : Files(root), verbs_(std::move(verbs)) {}
  Result<std::string> answer(std::string_view library) override {
    if (library != "verbs" || verbs_.empty()) return fail(Cause::deadline, "verbs did not answer");
    return verbs_;
  }

 private:
  std::string verbs_;
};

Node probed(const SysfsTree& tree, std::string verbs = R"({"devices": []})") {
  Answering source(tree.root(), std::move(verbs));
  Node node;
  probe_pci(source, node);
  probe_rdma(source, node);
  return node;
}

std::string add_function(SysfsTree& tree) {
  tree.pci("0000:3a:00.0");
  return tree.pci("0000:3a:00.0/0000:3b:00.0",
                  {.device_class = 0x020700, .vendor = 0x15b3, .device = 0x101b, .driver = "mlx5_core"});
}

constexpr double Gbit = 1e9 / 8;

TEST(ProbeRdma, ReadsAnInfiniBandPort) {
  SysfsTree tree;
  tree.rdma("mlx5_0", add_function(tree), "200 Gb/sec (4X HDR)");
  const Node node = probed(tree);
  ASSERT_EQ(node.nics.size(), 1u);
  const Nic& nic = node.nics[0];
  EXPECT_EQ(nic.name, "mlx5_0");
  EXPECT_EQ(nic.rdma, "mlx5_0");
  EXPECT_EQ(nic.address, "0000:3b:00.0");
  EXPECT_FALSE(nic.virtual_device);
  EXPECT_TRUE(nic.firmware.is("28.39.1002"));
  EXPECT_TRUE(nic.model.is("ConnectX-6 (MT_0000000838)"));
  EXPECT_TRUE(nic.driver.is("mlx5_core"));
  EXPECT_TRUE(nic.guid.is("506b4b0300c19c16"));
  ASSERT_EQ(nic.ports.size(), 1u);
  const Port& port = nic.ports[0];
  EXPECT_EQ(port.number, 1);
  EXPECT_EQ(port.layer, LinkLayer::infiniband);
  EXPECT_TRUE(port.state.is("active"));
  EXPECT_TRUE(port.physical_state.is("linkup"));
  EXPECT_TRUE(port.speed.is("HDR"));
  EXPECT_TRUE(port.width.is(4));
  EXPECT_EQ(port.rate, Fact<BytesPerSecond>(BytesPerSecond(200 * Gbit), origin::sysfs));
  EXPECT_FALSE(port.max_rate.known());
  EXPECT_TRUE(port.lid.is(26));
  EXPECT_TRUE(port.guid.is("506b4b0300c19c17"));
  EXPECT_EQ(port.gids.size(), 1u);
  EXPECT_TRUE(node.gaps.empty());
}

// The kernel names the signalling rate; the data rate of old speeds is lower.
TEST(ProbeRdma, TurnsSignallingRatesIntoDataRates) {
  const std::pair<const char*, double> rates[] = {{"40 Gb/sec (4X QDR)", 32},   {"40 Gb/sec (4X FDR10)", 40},
                                                  {"400 Gb/sec (4X NDR)", 400}, {"100 Gb/sec (2X HDR)", 100},
                                                  {"100 Gb/sec (4X EDR)", 100}, {"10 Gb/sec (4X SDR)", 8}};
  for (const auto& [text, expected] : rates) {
    SysfsTree tree;
    tree.rdma("mlx5_0", add_function(tree), text);
    const Node node = probed(tree);
    EXPECT_DOUBLE_EQ(node.nics.at(0).ports.at(0).rate.value_or(BytesPerSecond(0)).value, expected * Gbit)
        << text;
  }
}

TEST(ProbeRdma, GivesAPortThatIsDownNoRate) {
  SysfsTree tree;
  tree.rdma("mlx5_0", add_function(tree), "2.5 Gb/sec (1X SDR)", "InfiniBand", "1: DOWN", "2: Polling");
  const Node node = probed(tree, R"({"devices": [{"name": "mlx5_0", "ports": [
      {"port": 1, "active_speed": "SDR", "active_width": 1, "active_mtu": 4096, "max_mtu": 4096}]}]})");
  const Port& port = node.nics.at(0).ports.at(0);
  EXPECT_TRUE(port.state.is("down"));
  EXPECT_TRUE(port.physical_state.is("polling"));
  EXPECT_FALSE(port.rate.known());
  EXPECT_FALSE(port.speed.known());
  EXPECT_FALSE(port.mtu.known());
  EXPECT_TRUE(port.max_mtu.is(4096));
}

TEST(ProbeRdma, TakesEthernetsRateAsItIs) {
  SysfsTree tree;
  tree.rdma("mlx5_0", add_function(tree), "25 Gb/sec (1X EDR)", "Ethernet");
  const Node node = probed(tree, R"({"devices": [{"name": "mlx5_0", "ports": [
      {"port": 1, "active_speed": "EDR", "active_width": 1, "active_mtu": 1024, "max_mtu": 4096}]}]})");
  const Port& port = node.nics.at(0).ports.at(0);
  EXPECT_EQ(port.layer, LinkLayer::ethernet);
  EXPECT_DOUBLE_EQ(port.rate->value, 25 * Gbit);
  EXPECT_FALSE(port.speed.known());
  EXPECT_FALSE(port.mtu.known());
  EXPECT_FALSE(port.guid.known());
}

TEST(ProbeRdma, AddsWhatVerbsKnows) {
  SysfsTree tree;
  tree.rdma("mlx5_0", add_function(tree), "200 Gb/sec (4X HDR)");
  tree.remove("/sys/class/infiniband/mlx5_0/fw_ver");
  const Node node = probed(tree, R"({"rdma_core": "44.0", "devices": [
      {"name": "mlx5_0", "firmware": "20.31.1014", "ports": [
        {"port": 1, "active_mtu": 2048, "max_mtu": 4096, "supported_speed": "NDR", "supported_width": 4}]},
      {"name": "other", "ports": [{}, 7]}, 3]})");
  EXPECT_EQ(node.nics.size(), 1u);
  EXPECT_EQ(node.nics[0].firmware, Fact<std::string>("20.31.1014", origin::verbs));
  EXPECT_TRUE(node.nics[0].ports[0].mtu.is(2048));
  EXPECT_TRUE(node.nics[0].ports[0].max_mtu.is(4096));
  EXPECT_EQ(node.nics[0].ports[0].max_rate, Fact<BytesPerSecond>(BytesPerSecond(400 * Gbit), origin::verbs));
  EXPECT_TRUE(node.system.rdma_core.is("44.0"));
}

TEST(ProbeRdma, NamesVerbsSilence) {
  SysfsTree tree;
  tree.rdma("mlx5_0", add_function(tree), "200 Gb/sec (4X HDR)");
  for (const char* answer : {"", "no JSON", "[]"}) {
    const Node node = probed(tree, answer);
    EXPECT_EQ(node.nics.size(), 1u);
    ASSERT_EQ(node.gaps.size(), 1u) << answer;
    EXPECT_EQ(node.gaps[0].source, origin::verbs);
  }
}

TEST(ProbeRdma, NeedsNoVerbsWithoutDevices) {
  EXPECT_TRUE(probed(SysfsTree(), "").gaps.size() == 1);  // no PCI; nothing of RDMA
}

TEST(ProbeRdma, MapsSoftRoceByItsNetdev) {
  SysfsTree tree;
  const std::string function = tree.pci("0000:00:03.0", {.device_class = 0x020000, .vendor = 0x1af4});
  tree.netdev("eth0", function, "10000");
  const std::string folder = tree.rdma("rxe0", "", "10 Gb/sec (4X SDR)", "Ethernet");
  tree.file(folder + "/parent", "eth0\n");
  const Node node = probed(tree);
  ASSERT_EQ(node.nics.size(), 1u);
  EXPECT_TRUE(node.nics[0].virtual_device);
  EXPECT_EQ(node.nics[0].address, "0000:00:03.0");
  EXPECT_EQ(node.nics[0].netdevs, std::vector<std::string>{"eth0"});
  EXPECT_DOUBLE_EQ(node.nics[0].ports.at(0).rate->value, 10 * Gbit);
}

TEST(ProbeRdma, KnowsVirtualFunctions) {
  SysfsTree tree;
  add_function(tree);
  const std::string folder =
      tree.pci("0000:3a:00.0/0000:3b:00.1",
               {.device_class = 0x020700, .vendor = 0x15b3, .device = 0x101c, .physical = "0000:3b:00.0"});
  tree.rdma("mlx5_1", folder, "200 Gb/sec (4X HDR)");
  const Node node = probed(tree);
  ASSERT_EQ(node.nics.size(), 1u);
  EXPECT_TRUE(node.nics[0].virtual_device);
}

}  // namespace
}  // namespace ringtrue::probe
