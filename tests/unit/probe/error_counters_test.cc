#include "probe/error_counters.h"

#include <gtest/gtest.h>

#include "probe/live.h"
#include "tests/support/sysfs_tree.h"
#include "topology/counters.h"

namespace ringtrue::probe {
namespace {

using test::SysfsTree;

class ErrorCountersTest : public testing::Test {
 protected:
  static constexpr const char* port = "/sys/class/infiniband/mlx5_0/ports/1/";

  ErrorCountersTest() {
    const std::string function = tree.pci("0000:00:03.0", {.device_class = 0x020700, .vendor = 0x15b3});
    tree.rdma("mlx5_0", function, "200 Gb/sec (4X HDR)");
    tree.netdev("eth0", function, "200000", 1);
    tree.file(std::string(port) + "state", "4: ACTIVE\n");
    of_port("symbol_error", "7");
    of_port("port_xmit_data", "1000");
    tree.file("/sys/class/net/eth0/statistics/rx_crc_errors", "0\n");
    tree.file("/sys/class/net/eth0/statistics/rx_bytes", "5\n");
    tree.file("/sys/class/net/eth0/carrier_down_count", "1\n");
    aer(2);
    watched.find();
  }
  void of_port(const std::string& counter, const std::string& value) {
    tree.file(port + ("counters/" + counter), value + "\n");
  }
  void aer(int errors) {
    tree.file("/sys/bus/pci/devices/0000:00:03.0/aer_dev_correctable",
              fmt::format("RxErr 0\nBadTLP {0}\nTOTAL_ERR_COR {0}\n", errors));
  }
  std::map<std::string, std::uint64_t> of(const std::string& device) {
    for (const run::CounterSet& set : watched.read())
      if (set.device == device) return set.values;
    return {};
  }

  SysfsTree tree;
  ErrorCounters watched{std::make_unique<Files>(tree.root())};
};

using Values = std::map<std::string, std::uint64_t>;

TEST_F(ErrorCountersTest, ReadsWhatTellsOfErrorsAlone) {
  EXPECT_EQ(of("mlx5_0/1"), (Values{{"symbol_error", 7}, {"port_down", 0}}));
  EXPECT_EQ(of("eth0"), (Values{{"rx_crc_errors", 0}, {"carrier_down_count", 1}}));
  EXPECT_EQ(of("0000:00:03.0"), (Values{{"aer_correctable", 2}}));
}

TEST_F(ErrorCountersTest, CountsHowOftenAPortLeavesActive) {
  const auto state = [&](const char* text) {
    tree.file(std::string(port) + "state", text);
    return of("mlx5_0/1")["port_down"];
  };
  EXPECT_EQ(state("4: ACTIVE\n"), 0u);
  EXPECT_EQ(state("1: DOWN\n"), 1u);
  EXPECT_EQ(state("1: DOWN\n"), 1u);  // it is down once
  EXPECT_EQ(state("2: INIT\n"), 1u);
  EXPECT_EQ(state("4: ACTIVE\n"), 1u);
  EXPECT_EQ(state("1: DOWN\n"), 2u);
}

// A port that was down from the start has not gone down.
TEST_F(ErrorCountersTest, APortThatWasDownHasNotGoneDown) {
  tree.file(std::string(port) + "state", "1: DOWN\n");
  EXPECT_EQ(of("mlx5_0/1")["port_down"], 0u);
}

TEST_F(ErrorCountersTest, DevicesMayVanishAndComeBack) {
  EXPECT_EQ(of("mlx5_0/1").count("symbol_error"), 1u);
  tree.remove("/sys/class/infiniband/mlx5_0/ports/1/counters");
  EXPECT_EQ(of("mlx5_0/1").count("symbol_error"), 0u);
  tree.remove("/sys/class/net/eth0");
  EXPECT_TRUE(of("eth0").empty());
  of_port("symbol_error", "9");
  tree.file("/sys/class/net/eth1/statistics/rx_crc_errors", "4\n");
  watched.find();
  EXPECT_EQ(of("mlx5_0/1")["symbol_error"], 9u);
  EXPECT_EQ(of("eth1")["rx_crc_errors"], 4u);
}

TEST_F(ErrorCountersTest, WhatIsNoNumberIsNoReading) {
  of_port("symbol_error", "N/A (no PMA)");
  EXPECT_EQ(of("mlx5_0/1"), (Values{{"port_down", 0}}));
}

// What rose between two readings, as the daemon works it out.
TEST_F(ErrorCountersTest, TellsRisesResetsAndTheEndOfACounter) {
  const auto risen = [&](const char* value) {
    const auto before = watched.read();
    of_port("symbol_error", value);
    std::uint64_t sum = 0;
    for (const auto& change : rises(before, watched.read())) sum += topology::rise(change);
    return sum;
  };
  EXPECT_EQ(risen("10"), 3u);
  EXPECT_EQ(risen("10"), 0u);
  EXPECT_EQ(risen("2"), 2u);          // cleared, and 2 since
  EXPECT_EQ(risen("65535"), 65533u);  // its end, for 16 bits
  EXPECT_EQ(risen("65535"), 0u);
  EXPECT_EQ(risen("70000"), 4465u);  // this driver counts further
  aer(5);
  const auto before = watched.read();
  aer(6);
  const auto changes = rises(before, watched.read());
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].device, "0000:00:03.0");
  EXPECT_EQ(topology::rise(changes[0]), 1u);
}

}  // namespace
}  // namespace ringtrue::probe
