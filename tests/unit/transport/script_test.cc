#include "transport/faulty/script.h"

#include <gtest/gtest.h>

namespace ringtrue::transport::faulty {
namespace {

Script script(const char* text, collective::Rank from = 0, collective::Rank to = 1) {
  return Script(*collective::parse_faults(text), from, to);
}

TEST(Script, KeepsToItsHop) {
  EXPECT_TRUE(script("delay@1>2:time=1s").empty());
  EXPECT_FALSE(script("delay@*>1:time=1s").empty());
}

TEST(Script, ThrottledMessagesFollowOneAnother) {
  Script s = script("throttle@0>1:rate=1MB/s");
  EXPECT_EQ(s.next(1'000'000, 5).not_before, 1'000'000'005);
  EXPECT_EQ(s.next(1'000'000, 5).not_before, 2'000'000'005);
  EXPECT_EQ(s.next(1'000'000, 9'000'000'000).not_before, 10'000'000'000) << "an idle hop saves nothing up";
}

TEST(Script, TheSlowerOfTwoThrottlesDecides) {
  Script s = script("throttle@0>1:rate=1MB/s;throttle@*>1:rate=2MB/s");
  EXPECT_EQ(s.next(1'000'000, 1).not_before, 1'000'000'001);
  EXPECT_EQ(s.next(1'000'000, 1).not_before, 2'000'000'001);
}

TEST(Script, CountsMessagesFromOne) {
  Script s = script("drop@0>1:nth=2;corrupt-value@0>1:nth=3");
  EXPECT_FALSE(s.next(4, 0).vanishes);
  EXPECT_TRUE(s.next(4, 0).vanishes);
  const Fate third = s.next(4, 0);
  EXPECT_FALSE(third.vanishes);
  EXPECT_TRUE(third.broken_value);
}

TEST(Script, CutsAndStallsAfterSoManyBytes) {
  Script s = script("cut@0>1:after=8;stall@0>1:after=12");
  EXPECT_FALSE(s.next(8, 0).breaks);
  const Fate second = s.next(4, 0);
  EXPECT_TRUE(second.breaks);
  EXPECT_FALSE(second.silent);
  EXPECT_TRUE(s.next(4, 0).silent);
}

TEST(Script, WhatALossyHopDoesIsTheSameEveryTime) {
  const char* text =
      "loss@0>1:share=5%;duplicate@0>1:share=10%;reorder@0>1:share=20%;corrupt@0>1:share=1%,seed=3";
  Script one = script(text), two = script(text), other = script(text, 0, 2);
  EXPECT_TRUE(other.empty());
  int lost = 0, doubled = 0, late[3] = {}, broken = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Fate fate = one.next(100, 0), same = two.next(100, 0);
    EXPECT_EQ(fate.lost, same.lost);
    EXPECT_EQ(fate.late, same.late);
    EXPECT_EQ(fate.broken_bit, same.broken_bit);
    lost += fate.lost;
    doubled += fate.doubled;
    ASSERT_TRUE(fate.late >= 0 && fate.late <= 2);
    ++late[fate.late];
    broken += fate.broken;
    EXPECT_FALSE(fate.vanishes || fate.breaks || fate.silent || fate.broken_frame || fate.broken_value);
  }
  EXPECT_NEAR(lost, 500, 110);
  EXPECT_NEAR(doubled, 1000, 150);
  EXPECT_NEAR(late[1], 1000, 150);
  EXPECT_NEAR(late[2], 1000, 150);
  EXPECT_NEAR(broken, 100, 50);
}

TEST(Script, ALaterMessageIsNeverEarlier) {
  Script s = script("delay@0>1:time=10ms");
  const std::int64_t first = s.next(4, 100).not_before;
  EXPECT_GE(s.next(4, 90).not_before, first);
}

}  // namespace
}  // namespace ringtrue::transport::faulty
