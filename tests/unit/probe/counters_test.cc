#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/live.h"
#include "probe/probe.h"
#include "run/counter_window.h"
#include "tests/support/machines.h"
#include "tests/support/sysfs_tree.h"

namespace ringtrue::probe {
namespace {

using namespace topology;

using test::SysfsTree;
using testing::Contains;
using testing::Key;
using testing::Not;
using testing::Pair;

// A machine with one InfiniBand port, probed, and what its counters' files say.
class Counters : public testing::Test {
 protected:
  Counters() {
    const std::string function = tree.pci("0000:00:03.0", {.device_class = 0x020700, .vendor = 0x15b3});
    tree.rdma("mlx5_0", function, "200 Gb/sec (4X HDR)");
    tree.netdev("ib0", function, "200000", 32);
  }
  void counter(const std::string& name, const std::string& value) {
    tree.file("/sys/class/infiniband/mlx5_0/ports/1/counters/" + name, value + "\n");
  }
  std::vector<run::CounterSet> read() {
    Files files(tree.root());
    Node node;
    probe_pci(files, node);
    probe_rdma(files, node);
    probe_netlink(files, node);
    return probe_counters(files, node);
  }
  run::CounterSet read(const std::string& device) {
    for (auto& set : read())
      if (set.device == device) return set;
    return {};
  }
  SysfsTree tree;
};

TEST_F(Counters, ReadsAPorts) {
  counter("symbol_error", "412");
  counter("port_xmit_data", "123456789012345");
  counter("unsupported", "N/A (no PMA)");
  tree.file("/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence", "7\n");
  tree.file("/sys/class/infiniband/mlx5_0/ports/1/hw_counters/lifespan", "10\n");
  const run::CounterSet set = read("mlx5_0/1");
  EXPECT_THAT(set.values, testing::UnorderedElementsAre(Pair("symbol_error", 412u),
                                                        Pair("port_xmit_data", 123456789012345u),
                                                        Pair("out_of_sequence", 7u)));
  EXPECT_THAT(set.widths, testing::ElementsAre(Pair("symbol_error", 16u)));
}

TEST_F(Counters, KnowWhereTheyEnd) {
  counter("link_downed", "255");
  counter("local_link_integrity_errors", "15");
  counter("port_rcv_errors", "65535");
  const run::CounterSet set = read("mlx5_0/1");
  EXPECT_THAT(set.widths, Contains(Pair("link_downed", 8u)));
  EXPECT_THAT(set.widths, Contains(Pair("local_link_integrity_errors", 4u)));
  EXPECT_THAT(set.widths, Contains(Pair("port_rcv_errors", 16u)));
}

TEST_F(Counters, KnowHardwareThatCountsInEightBits) {
  counter("symbol_error", "255");
  EXPECT_THAT(read("mlx5_0/1").widths, Contains(Pair("symbol_error", 8u)));
  counter("symbol_error", "256");
  EXPECT_THAT(read("mlx5_0/1").widths, Contains(Pair("symbol_error", 16u)));
}

TEST_F(Counters, SeeADriverThatCountsFurther) {
  counter("link_downed", "256");
  counter("symbol_error", "65536");
  EXPECT_TRUE(read("mlx5_0/1").widths.empty());
}

TEST_F(Counters, ReadANetdevs) {
  const run::CounterSet set = read("ib0");
  EXPECT_THAT(set.values, Contains(Pair("carrier_changes", 2u)));
  EXPECT_THAT(set.values, Contains(Pair("rx_crc_errors", 0u)));
}

TEST_F(Counters, ReadPciErrors) {
  tree.file("/sys/bus/pci/devices/0000:00:03.0/aer_dev_correctable",
            "RxErr 3\nBadTLP 0\nBadDLLP 1\nTOTAL_ERR_COR 4\n");
  tree.file("/sys/bus/pci/devices/0000:00:03.0/aer_dev_nonfatal", "Undefined 0\nTOTAL_ERR_NONFATAL 0\n");
  const run::CounterSet set = read("0000:00:03.0");
  EXPECT_THAT(set.values, testing::ElementsAre(Pair("aer_correctable", 4u), Pair("aer_nonfatal", 0u)));
}

TEST_F(Counters, SpareVirtualFunctions) {
  const std::string folder =
      tree.pci("0000:00:03.1", {.device_class = 0x020700, .vendor = 0x15b3, .physical = "0000:00:03.0"});
  tree.rdma("mlx5_1", folder, "200 Gb/sec (4X HDR)");
  tree.file("/sys/class/infiniband/mlx5_1/ports/1/counters/symbol_error", "1\n");
  for (const auto& set : read()) EXPECT_NE(set.device, "mlx5_1/1");
}

// ---- recordings

TEST_F(Counters, OfARecordingMakeAWindow) {
  counter("symbol_error", "100");
  counter("link_downed", "3");
  Recording recording;
  recording.node = "node3";
  Files files(tree.root());
  RememberingSource first(files, recording);
  const Node live = probe(first);
  counter("symbol_error", "512");
  RememberingSource second(files, recording, true);
  (void)probe_counters(second, live);
  recording.window_s = 10;

  const Node node = probe(recording);
  EXPECT_EQ(node.name, "node3");
  EXPECT_THAT(test::counters_of(const_cast<Node&>(node), "mlx5_0/1").values,
              Contains(Pair("symbol_error", 100u)));
  ASSERT_TRUE(node.window);
  EXPECT_EQ(node.window->seconds, 10);
  ASSERT_EQ(node.window->changes.size(), 1u);
  EXPECT_EQ(node.window->changes[0].device, "mlx5_0/1");
  EXPECT_EQ(node.window->changes[0].counter, "symbol_error");
  EXPECT_EQ(node.window->changes[0].before, 100u);
  EXPECT_EQ(node.window->changes[0].after, 512u);
}

// A bundle is what the probes read: playing it again gives the same node.
TEST_F(Counters, AndAllElseReplayAsTheyWereRead) {
  counter("symbol_error", "100");
  tree.file("/proc/cmdline", "quiet iommu=pt\n");
  tree.file("/proc/sys/kernel/osrelease", "6.1.0\n");
  Recording recording;
  Files files(tree.root());
  RememberingSource source(files, recording);
  const Node live = probe(source);
  EXPECT_EQ(probe(recording), live);
  EXPECT_FALSE(live.pci.empty());
  EXPECT_FALSE(live.nics.empty());
}

// ethtool's, where it answers.
class WithEthtool : public Files {
 public:
  using Files::Files;
  Result<std::string> answer(std::string_view library) override {
    if (library == "ethtool")
      return R"({"ib0": {"statistics": {"rx_prio3_pause": 12, "odd": "text", "rx_crc_errors": 99}}})";
    return Files::answer(library);
  }
};

TEST_F(Counters, IncludeEthtools) {
  WithEthtool source(tree.root());
  Node node;
  node.nics.push_back({});
  node.nics[0].name = "ib0";
  node.nics[0].netdevs = {"ib0"};
  const auto sets = probe_counters(source, node);
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_THAT(sets[0].values, Contains(Pair("rx_prio3_pause", 12u)));
  EXPECT_THAT(sets[0].values, Contains(Pair("rx_crc_errors", 0u)));  // the kernel's own is believed
  EXPECT_THAT(sets[0].values, Not(Contains(Key("odd"))));
}

}  // namespace
}  // namespace ringtrue::probe
