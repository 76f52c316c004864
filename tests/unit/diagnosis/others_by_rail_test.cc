// Others' traffic on some rails of several: a hop is as fast as its slowest rail.
#include <gtest/gtest.h>

#include "diagnosis/infer/attribute.h"
#include "diagnosis/infer/inference.h"
#include "diagnosis/infer/readings.h"

namespace ringtrue::diagnosis {
namespace {

constexpr int rails = 4;
constexpr double rail_rate = 10e9;

// Node 0 sends to node 1, by each rail at so many GB/s, beside what node 0 sends, and node 1 receives, for
// others by each.
Readings readings_of(const std::vector<double>& own, const std::vector<double>& others,
                     const std::vector<double>& received = {}) {
  Observation seen;
  HopReading hop;
  hop.source = 0, hop.destination = 1;
  hop.bytes = Bytes(4'000'000'000);
  double slowest = 0;
  for (std::size_t k = 0; k < own.size(); ++k) {
    const double seconds = 1 / own[k];
    hop.rails.push_back({int(k), Bytes(1'000'000'000), Seconds(seconds)});
    slowest = std::max(slowest, seconds);
  }
  hop.busy = Seconds(slowest);
  seen.hops = {hop};
  OthersTraffic& traffic = seen.others[0];
  for (const double rate : others) {
    traffic.sends += rate * 1e9;
    traffic.sends_by_rail.push_back(rate * 1e9);
  }
  for (const double rate : received) {
    seen.others[1].receives += rate * 1e9;
    seen.others[1].receives_by_rail.push_back(rate * 1e9);
  }
  Readings out(2);
  out.add(seen, 0, true);
  return out;
}

double sent(const Readings& readings) {
  return readings.of(0, 1).front().carried_by(Direction::sends);
}

TEST(OthersByRail, OnOneRailHoldUpAllOfTheHop) {
  const Readings seen = readings_of({10, 4, 10, 10}, {0, 6, 0, 0});
  EXPECT_NEAR(sent(seen), rails * rail_rate, 1e6);
  EXPECT_NEAR(seen.best_of(Direction::sends, 0, 1).value_or(0), rails * rail_rate, 1e6);
}

TEST(OthersByRail, OnAnotherRailExcuseNothing) {
  EXPECT_NEAR(sent(readings_of({10, 4, 10, 10}, {6, 0, 0, 0})), rails * 4e9, 1e6);
}

TEST(OthersByRail, OnDifferentRailsOfBothEndsAccuseNeither) {
  const Readings seen = readings_of({10, 4, 5, 10}, {0, 6, 0, 0}, {0, 0, 5, 0});
  const Reading& r = seen.of(0, 1).front();
  EXPECT_FALSE(r.counts_for(Direction::sends));
  EXPECT_FALSE(r.counts_for(Direction::receives));
  EXPECT_NEAR(sent(seen), rails * rail_rate, 1e6);
}

TEST(OthersByRail, OfBothEndsExcuseNoThirdRail) {
  const Readings seen = readings_of({4, 4, 5, 10}, {0, 6, 0, 0}, {0, 0, 5, 0});
  EXPECT_TRUE(seen.of(0, 1).front().counts_for(Direction::sends));
  EXPECT_NEAR(sent(seen), rails * 4e9, 1e6);
}

TEST(OthersByRail, AreNoMoreThanWhatTheSlowestRailHad) {
  // A rail at half of its rate, which others share.
  EXPECT_NEAR(sent(readings_of({7, 2, 7, 7}, {3, 3, 3, 3})), rails * 5e9, 1e6);
}

TEST(OthersByRail, MakeNoOtherRailFaster) {
  const Readings seen = readings_of({10, 4, 10, 10}, {0, 6, 0, 0});
  const Shown shown(seen);
  EXPECT_NEAR(shown.sends[0], rails * rail_rate, 1e6);
  const auto counting = seen.counting_for(Direction::sends, 0, 1);
  ASSERT_EQ(counting.size(), 1u);
  for (const double rail : counting[0].rails) EXPECT_NEAR(rail, rail_rate, 1e6);
}

// Two of three nodes have one NIC busy, which is most of all sides that have one.
TEST(OthersByRail, AreNoSlowRail) {
  constexpr int nodes = 3;
  Readings seen(nodes);
  for (int run = 0; run < 6; ++run) {
    Observation o;
    for (int x = 0; x < nodes; ++x) {
      HopReading hop;
      hop.source = x, hop.destination = (x + 1 + run % 2) % nodes;
      hop.bytes = Bytes(4'000'000'000);
      for (int k = 0; k < rails; ++k)
        hop.rails.push_back({k, Bytes(1'000'000'000), Seconds(k == 1 ? 1 / 5.0 : 1 / 10.0)});
      hop.busy = hop.rails[1].busy;
      o.hops.push_back(hop);
    }
    for (const int node : {0, 1}) {
      o.others[node].sends = o.others[node].receives = 5e9;
      o.others[node].sends_by_rail = o.others[node].receives_by_rail = {0, 5e9, 0, 0};
    }
    seen.add(o, run, run > 2);
  }
  const Structure structure;
  const Readings none(nodes);
  const Inference inference = infer(seen, none, std::nullopt, std::nullopt, {}, structure);
  EXPECT_FALSE(Parts(structure, seen, none, inference).slow_rail());
}

TEST(OthersTraffic, OfOneRailMayHoldUpAsMuchOnAllOfThem) {
  OthersTraffic traffic;
  traffic.sends = 3, traffic.sends_by_rail = {0, 3, 0, 0};
  traffic.receives = 4;
  EXPECT_DOUBLE_EQ(traffic.sends_at_most(), 12);
  EXPECT_DOUBLE_EQ(traffic.receives_at_most(), 4) << "by no rail that is known";
  OthersTraffic sum;
  for (int i = 0; i < 2; ++i) sum.add(traffic, 0.5);
  EXPECT_DOUBLE_EQ(sum.sends, 3);
  EXPECT_EQ(sum.sends_by_rail, traffic.sends_by_rail);
}

}  // namespace
}  // namespace ringtrue::diagnosis
