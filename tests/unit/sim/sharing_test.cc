#include "sim/sharing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/splitmix64.h"

namespace ringtrue::sim {
namespace {

using Links = std::vector<std::uint32_t>;

// Plays until nothing ends any more; gives when each tag ended.
std::map<std::uint32_t, double> play(Sharing& sharing, double now = 0) {
  std::map<std::uint32_t, double> ends;
  sharing.settle(now);
  while (sharing.next() != Sharing::never) {
    now = sharing.next();
    std::vector<std::uint32_t> tags;
    sharing.finish(now, tags);
    for (const std::uint32_t tag : tags) ends[tag] = now;
    sharing.settle(now);
  }
  return ends;
}

TEST(Sharing, GivesALinkToOneAndHalvesItForTwo) {
  Sharing sharing;
  const std::uint32_t link = sharing.add_link(100);
  sharing.start(Links{link}, 50, 1, 0);
  sharing.start(Links{link}, 100, 2, 0);
  const auto ends = play(sharing);
  EXPECT_DOUBLE_EQ(ends.at(1), 1.0);  // 50 at 50
  EXPECT_DOUBLE_EQ(ends.at(2), 1.5);  // 50 at 50, 50 at 100
}

// Bertsekas and Gallager's kind of example: the long flow gets a third where three meet, the others take what
// it leaves elsewhere.
TEST(Sharing, IsMaxMinFair) {
  Sharing sharing;
  const std::uint32_t a = sharing.add_link(3), b = sharing.add_link(10);
  sharing.start(Links{a, b}, 10, 1, 0);  // 1
  sharing.start(Links{a}, 10, 2, 0);     // 1
  sharing.start(Links{a}, 10, 3, 0);     // 1
  sharing.start(Links{b}, 90, 4, 0);     // 9
  const auto ends = play(sharing);
  for (const std::uint32_t tag : {1, 2, 3, 4}) EXPECT_NEAR(ends.at(tag), 10, 1e-9) << tag;
}

TEST(Sharing, FollowsALinksRateAndWaitsWhereItIsDown) {
  Sharing sharing;
  const std::uint32_t link = sharing.add_link(100);
  sharing.start(Links{link}, 100, 1, 0);
  sharing.settle(0);
  EXPECT_DOUBLE_EQ(sharing.next(), 1);
  sharing.set_rate(link, 0);
  sharing.settle(0.5);
  EXPECT_EQ(sharing.next(), Sharing::never);
  sharing.set_rate(link, 50);
  sharing.settle(2);
  EXPECT_DOUBLE_EQ(sharing.next(), 3);
}

// What a shaped link left unused passes at ten times its rate, as much as its bucket holds.
TEST(Sharing, LetsABurstPassThatItsBucketHolds) {
  const auto time_of = [](double idle, double bytes) {
    Sharing sharing;
    const std::uint32_t link = sharing.add_link(100, 50);
    sharing.settle(0);
    sharing.start(Links{link}, bytes, 1, idle);
    return play(sharing, idle).at(1) - idle;
  };
  EXPECT_DOUBLE_EQ(time_of(0, 100), 1.0);       // empty at first
  EXPECT_NEAR(time_of(0.2, 100), 0.8, 1e-12);   // 20 tokens
  EXPECT_NEAR(time_of(3600, 100), 0.5, 1e-12);  // 50: no more than it holds
  EXPECT_NEAR(time_of(3600, 40), 0.04, 1e-12);  // all of it at 1000
  // In the long run no more than its rate passes, whatever the pauses.
  Sharing sharing;
  const std::uint32_t link = sharing.add_link(100, 50);
  double now = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    sharing.start(Links{link}, 20, i, now);
    now = play(sharing, now).at(i) + (i % 3) * 0.1;
  }
  EXPECT_NEAR(now, 20, 0.3);
}

// Two that share it empty the bucket together, and one that another link holds back leaves it to the other.
TEST(Sharing, SharesABucket) {
  Sharing sharing;
  const std::uint32_t link = sharing.add_link(100, 90), slow = sharing.add_link(10);
  sharing.start(Links{link}, 90, 1, 1);
  sharing.start(Links{link, slow}, 20, 2, 1);
  const auto ends = play(sharing, 1);
  EXPECT_NEAR(ends.at(1), 1 + 90.0 / 990, 1e-9);  // 1000 less 10; the bucket of 90 lasts for 0.1 s
  EXPECT_NEAR(ends.at(2), 3, 1e-9);
}

TEST(Sharing, LeavesRoomBesideTrafficWithoutEnd) {
  Sharing sharing;
  const std::uint32_t link = sharing.add_link(100), cap = sharing.add_link(30);
  sharing.start(Links{link, cap}, Sharing::never, 9, 0);
  sharing.start(Links{link}, 70, 1, 0);
  EXPECT_DOUBLE_EQ(play(sharing).at(1), 1);
}

// What is rated anew piece by piece is what a filling of everything gives: no link is overfull, and every
// flow has a full link on which none gets more.
TEST(Sharing, RatesAnewOnlyWhatChangesAndStaysFair) {
  SplitMix64 random(7);
  const auto roll = [&](std::uint64_t sides) { return random() % sides; };
  for (int round = 0; round < 50; ++round) {
    Sharing sharing;
    constexpr std::uint32_t links = 12;
    std::vector<double> rates;
    for (std::uint32_t l = 0; l < links; ++l) {
      rates.push_back(double(1 + roll(9)));
      sharing.add_link(rates.back());
    }
    struct Flow {
      Links links;
      double bytes;
    };
    std::map<std::uint32_t, Flow> flows;
    double now = 0, moved = 0;
    for (std::uint32_t tag = 0; tag < 40; ++tag) {
      Flow flow;
      const std::uint32_t first = std::uint32_t(roll(links)), second = std::uint32_t(roll(links));
      flow.links = {first};
      if (second != first) flow.links.push_back(second);
      flow.bytes = double(1 + roll(100));
      sharing.start(flow.links, flow.bytes, tag, now);
      flows[tag] = flow;
      sharing.settle(now);
      const std::vector<double> got = sharing.rates(40);
      for (std::uint32_t l = 0; l < links; ++l) {
        double used = 0;
        for (const auto& [t, f] : flows) {
          if (std::find(f.links.begin(), f.links.end(), l) != f.links.end()) used += got[t];
        }
        ASSERT_LE(used, rates[l] * (1 + 1e-6));
      }
      for (const auto& [t, f] : flows) {
        bool limited = false;
        for (const std::uint32_t l : f.links) {
          double used = 0, most = 0;
          for (const auto& [u, g] : flows) {
            if (std::find(g.links.begin(), g.links.end(), l) == g.links.end()) continue;
            used += got[u];
            most = std::max(most, got[u]);
          }
          limited = limited || (used >= rates[l] * (1 - 1e-6) && got[t] >= most * (1 - 1e-6));
        }
        ASSERT_TRUE(limited) << "round " << round << ", flow " << t << " of " << flows.size();
      }
      if (roll(2) == 0) continue;
      now = sharing.next();
      std::vector<std::uint32_t> tags;
      sharing.finish(now, tags);
      sharing.settle(now);
      for (const std::uint32_t t : tags) {
        moved += flows.at(t).bytes;
        flows.erase(t);
      }
      ASSERT_FALSE(tags.empty());
    }
    EXPECT_GT(moved, 0);
    EXPECT_EQ(play(sharing, now).size(), flows.size());
  }
}

}  // namespace
}  // namespace ringtrue::sim
