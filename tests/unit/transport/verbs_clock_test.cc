#include <gtest/gtest.h>

#include <random>

#include "transport/verbs/channel.h"

namespace ringtrue::transport::verbs {
namespace {

// An hour by a device whose clock runs so many millionths too fast. Windows of 20 ms begin now and then;
// completions come every 100 us, most are seen at once, some late, and each window's last one counts.
void expect_right(double millionths) {
  DeviceClock clock;
  std::minstd_rand random(5);
  const auto stamp_at = [&](std::int64_t at) {
    return std::int64_t(double(at) * (1 + millionths * 1e-6)) + 777'777;
  };
  for (std::int64_t begin = 1'000'000; begin < 3'600'000'000'000; begin += 5'000'000'000) {
    constexpr std::int64_t window = 20'000'000, between = 100'000;
    std::int64_t seen = 0;
    for (std::int64_t at = begin + between; at <= begin + window; at += between) {
      const std::int64_t late = random() % 20 == 0 ? 50'000'000 : std::int64_t(random() % 1000);
      seen = clock.ours(stamp_at(at), at + late);
      ASSERT_LE(seen, at + late) << "nothing happens after it was seen";
    }
    ASSERT_NEAR(double(seen - begin), double(window), 0.001 * double(window))
        << millionths << " at " << begin;
  }
}

TEST(VerbsClock, FollowsADeviceThatRunsFastOrSlow) {
  for (const double millionths : {0.0, 100.0, -100.0, 590.0, -590.0}) expect_right(millionths);
}

TEST(VerbsClock, TheFirstIsTakenAsItIsSeen) {
  DeviceClock clock;
  EXPECT_EQ(clock.ours(5, 1000), 1000);
  EXPECT_EQ(clock.ours(105, 1050), 1050) << "quicker than the one before";
  EXPECT_EQ(clock.ours(205, 9999), 1150) << "and seen late";
}

}  // namespace
}  // namespace ringtrue::transport::verbs
