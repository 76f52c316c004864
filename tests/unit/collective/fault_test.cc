#include "collective/fault.h"

#include <gtest/gtest.h>

#include <random>

namespace ringtrue::collective {
namespace {

std::string again(const std::vector<Fault>& faults) {
  std::string text;
  for (const Fault& fault : faults) text.append(text.empty() ? "" : ";").append(to_text(fault));
  return text;
}

TEST(Fault, ReadsTheGrammar) {
  const auto faults = parse_faults("throttle@3>4:rate=50Mbit; corrupt-value@*>0:nth=2;cut@1>*");
  ASSERT_TRUE(faults) << faults.error().text();
  ASSERT_EQ(faults->size(), 3u);
  EXPECT_EQ((*faults)[0].kind, Fault::Kind::throttle);
  EXPECT_EQ((*faults)[0].source, 3);
  EXPECT_EQ((*faults)[0].destination, 4);
  EXPECT_EQ((*faults)[0].rate.value, 6.25e6);
  EXPECT_EQ((*faults)[1].nth, 2u);
  EXPECT_FALSE((*faults)[1].source);
  EXPECT_TRUE((*faults)[1].concerns(7, 0));
  EXPECT_FALSE((*faults)[1].concerns(7, 1));
  EXPECT_EQ((*faults)[2].after.value, 0u);
  EXPECT_TRUE(parse_faults("")->empty());
  EXPECT_TRUE(parse_faults("  ")->empty());
}

TEST(Fault, WritesWhatItReads) {
  for (const char* text :
       {"delay@*>2:time=20ms", "delay@0>1:time=1500us", "throttle@3>4:rate=6250kB/s", "cut@1>*:after=1M",
        "drop@1>2:nth=3", "corrupt-frame@0>1:nth=1", "corrupt-value@*>*:nth=18446744073709551615",
        "stall@5>6:after=0", "delay@1>2:time=0ns", "loss@*>*:share=5%", "duplicate@1>2:share=0%",
        "reorder@0>1:share=100%,seed=7", "corrupt@1>*:share=0.0000001%",
        "loss@0>1:share=33.3333333%,seed=0"}) {
    const auto faults = parse_faults(text);
    ASSERT_TRUE(faults) << text << ": " << faults.error().text();
    EXPECT_EQ(again(*faults), text);
  }
}

TEST(Fault, RefusesWithACause) {
  for (const char* text : {"throttle",
                           "throttle@3>4",
                           "throttle@3>4:",
                           "throttle@3:rate=1MB/s",
                           "melt@1>2",
                           "@1>2",
                           "cut@-1>2",
                           "cut@1>2>3",
                           "cut@1>1:after=1",
                           "cut@1>2:after=-1",
                           "drop@1>2:nth=0",
                           "drop@1>2:nth=1.5",
                           "drop@1>2:time=3s",
                           "cut@1>2:after=1,after=2",
                           "cut@1>2;",
                           ";",
                           "cut@99999999999>1",
                           "cut@ 1>2",
                           "throttle@1>2:rate=0MB/s",
                           "delay@1>2:time=2d",
                           "throttle@1>2:rate=1bit/s",
                           "loss@1>2",
                           "loss@1>2:seed=1",
                           "loss@1>2:share=5",
                           "loss@1>2:share=101%",
                           "loss@1>2:share=-1%",
                           "loss@1>2:share=%",
                           "loss@1>2:share=nan",
                           "loss@1>2:share=5%,share=5%",
                           "loss@1>2:share=5%,seed=1,seed=2",
                           "loss@1>2:share=5%,nth=1",
                           "loss@1>2:share=5%,seed",
                           "corrupt@1>2:share=5%,seed=-1",
                           "cut@1>2:seed=1"}) {
    const auto faults = parse_faults(text);
    ASSERT_FALSE(faults) << text;
    EXPECT_EQ(faults.error().cause, Cause::bad_input);
    EXPECT_FALSE(faults.error().what.empty());
    EXPECT_FALSE(faults.error().next.empty());
  }
}

TEST(Fault, AShareIsAPercentageOrAFraction) {
  for (const char* text : {"loss@0>1:share=5%", "loss@0>1:share=0.05", "loss@0>1:seed=1,share=5.0%"}) {
    const auto faults = parse_faults(text);
    ASSERT_TRUE(faults) << faults.error().text();
    EXPECT_EQ((*faults)[0].share, 0.05);
    EXPECT_EQ((*faults)[0].seed, 1u);
    EXPECT_TRUE((*faults)[0].unreliable());
  }
  EXPECT_EQ((*parse_faults("loss@0>1:share=1"))[0].share, 1);
  EXPECT_FALSE((*parse_faults("drop@0>1"))[0].unreliable());
}

TEST(Fault, StrikesItsShareOfMessagesAndAlwaysTheSame) {
  const Fault fault = (*parse_faults("loss@*>*:share=10%"))[0];
  const Fault other = (*parse_faults("loss@*>*:share=10%,seed=2"))[0];
  const Fault kind = (*parse_faults("duplicate@*>*:share=10%"))[0];
  int struck = 0, as_other = 0, as_kind = 0, as_back = 0;
  for (std::uint64_t k = 1; k <= 20'000; ++k) {
    const bool hit = fault.strikes(0, 1, k);
    struck += hit;
    as_other += hit && other.strikes(0, 1, k);
    as_kind += hit && kind.strikes(0, 1, k);
    as_back += hit && fault.strikes(1, 0, k);
  }
  // Binomial: 2000 +- 42; 200 +- 14 for what is drawn independently.
  EXPECT_NEAR(struck, 2000, 200);
  EXPECT_NEAR(as_other, 200, 70);
  EXPECT_NEAR(as_kind, 200, 70);
  EXPECT_NEAR(as_back, 200, 70);
  EXPECT_EQ(fault.draw(3, 4, 5), (*parse_faults("loss@3>*:share=1%"))[0].draw(3, 4, 5));
  const Fault all = (*parse_faults("loss@*>*:share=100%"))[0], none = (*parse_faults("loss@*>*:share=0%"))[0];
  for (std::uint64_t k = 1; k <= 1000; ++k) {
    EXPECT_TRUE(all.strikes(0, 1, k));
    EXPECT_FALSE(none.strikes(0, 1, k));
  }
}

TEST(Fault, TakesASeedUnlessItNamesOne) {
  auto faults = *parse_faults("loss@0>1:share=10%;loss@0>1:share=10%,seed=1;delay@0>1:time=1ms");
  const Fault other = faults[0];
  seed(faults, 7);
  EXPECT_EQ(to_text(faults[0]), "loss@0>1:share=10%,seed=7");
  EXPECT_EQ(to_text(faults[1]), "loss@0>1:share=10%,seed=1");
  EXPECT_EQ(to_text(faults[2]), "delay@0>1:time=1ms");
  int same = 0;
  for (std::uint64_t k = 1; k <= 1000; ++k) same += faults[0].strikes(0, 1, k) && other.strikes(0, 1, k);
  EXPECT_LT(same, 40) << "another seed strikes others";
}

TEST(Fault, StrikesRanksThatAreThere) {
  EXPECT_TRUE(check_ranks(*parse_faults("delay@0>2:time=1ms;cut@*>1"), 3));
  for (const char* beyond : {"delay@0>3:time=1ms", "cut@3>*"}) {
    const auto checked = check_ranks(*parse_faults(beyond), 3);
    ASSERT_FALSE(checked) << beyond;
    EXPECT_EQ(checked.error().cause, Cause::bad_input);
    EXPECT_NE(checked.error().what.find("no such rank among 3"), std::string::npos);
  }
}

// Whatever is accepted reads back as itself; nothing crashes.
TEST(Fault, StandsRandomText) {
  std::mt19937 random(1);
  const std::string_view words[] = {"delay", "throttle", "cut",   "drop",   "@",    ">",        ":", ";",
                                    "*",     "time=",    "rate=", "after=", "nth=", ",",        "1", "20",
                                    "3ms",   "1GB/s",    "4K",    "-",      "0.5s", "7.25Mbit", "x", " "};
  int accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string text;
    if (i % 2) {
      const std::string_view shape[] = {
          words[random() % 4],     "@", words[13 + random() % 4], ">", "1", ":", words[9 + random() % 4],
          words[14 + random() % 8]};
      for (const std::string_view word : shape) text += word;
    } else {
      for (std::uint32_t n = random() % 10; n > 0; --n) text += words[random() % std::size(words)];
    }
    const auto faults = parse_faults(text);
    if (!faults) continue;
    accepted += !faults->empty();
    const auto twice = parse_faults(again(*faults));
    ASSERT_TRUE(twice) << text << " became " << again(*faults);
    ASSERT_EQ(again(*twice), again(*faults)) << text;
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace ringtrue::collective
