#include "operator/events.h"

#include <gtest/gtest.h>

namespace ringtrue::ops {
namespace {

NodeEvent event(const std::string& node, const std::string& device, const std::string& counter,
                std::uint64_t count, std::int64_t first = 100, std::int64_t last = 105) {
  return {node, {first, last, device, counter, count}};
}

TEST(WorthTelling, OneLineACounter) {
  const auto told = worth_telling({event("node5", "mlx5_0/1", "link_downed", 1, 100, 105),
                                   event("node5", "mlx5_0/1", "link_downed", 1, 300, 305),
                                   event("node5", "mlx5_0/1", "link_downed", 1, 900, 905)},
                                  8);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].event.count, 3u);
  EXPECT_EQ(told[0].event.first, 100);
  EXPECT_EQ(told[0].event.last, 905);
}

TEST(WorthTelling, LinksThatWentDownComeFirst) {
  const auto told = worth_telling(
      {event("node1", "eth0", "rx_crc_errors", 50'000), event("node2", "mlx5_0/1", "symbol_error", 9),
       event("node3", "mlx5_0/1", "link_downed", 1)},
      2);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].node, "node3");
  EXPECT_EQ(told[1].node, "node1");
}

// A port and its netdev tell of one cable by several counters; of each device one line is enough.
TEST(WorthTelling, OfCountersThatTellTheSameTheBest) {
  const auto told =
      worth_telling({event("node5", "mlx5_0/1", "port_down", 2), event("node5", "mlx5_0/1", "link_downed", 3),
                     event("node6", "mlx5_0/1", "port_down", 1)},
                    8);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].event.counter, "link_downed");
  EXPECT_EQ(told[1].node, "node6");
  EXPECT_EQ(told[1].event.counter, "port_down");
}

}  // namespace
}  // namespace ringtrue::ops
