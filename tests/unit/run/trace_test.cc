#include "run/trace.h"

#include <gtest/gtest.h>

namespace ringtrue::run {
namespace {

TEST(JoinLane, AddsWhatIsCountedAndTakesTheLongestTimes) {
  std::optional<TcpHop> total;
  const TcpHop first{Seconds(2), Seconds(0.5), Seconds(0), 3, Seconds(1e-4), BytesPerSecond(100)};
  join_lane(total, first);
  EXPECT_EQ(total, first);
  join_lane(total, {Seconds(1), Seconds(0.75), Seconds(0.1), 4, Seconds(5e-5), BytesPerSecond(50)});
  EXPECT_EQ(*total, (TcpHop{Seconds(2), Seconds(0.75), Seconds(0.1), 7, Seconds(5e-5), BytesPerSecond(150)}));
}

TEST(JoinLane, JoinsRailsOfTheSamePort) {
  const auto lane = [](const char* device, std::uint64_t bytes, double busy) {
    return RdmaHop{Seconds(busy), Seconds(0.5), Seconds(0), 10, {{{device, 1}, Bytes(bytes), Seconds(busy)}}};
  };
  std::optional<RdmaHop> total;
  join_lane(total, lane("mlx5_0", 100, 1));
  join_lane(total, lane("mlx5_1", 200, 2));
  join_lane(total, lane("mlx5_0", 300, 3));
  ASSERT_EQ(total->rails.size(), 2u);
  EXPECT_EQ(total->rails[0], (RdmaRail{{"mlx5_0", 1}, Bytes(400), Seconds(3)}));
  EXPECT_EQ(total->rails[1], (RdmaRail{{"mlx5_1", 1}, Bytes(200), Seconds(2)}));
  EXPECT_EQ(total->writes, 30u);
  EXPECT_EQ(total->busy, Seconds(3));
  EXPECT_EQ(total->credit_limited, Seconds(0.5));
}

}  // namespace
}  // namespace ringtrue::run
