// Others' lasting traffic, and whose readings it may explain.
#include "diagnosis/infer/others_beside.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "fleet.h"

namespace ringtrue::diagnosis {
namespace {

constexpr double full = 10e9;

void add(Readings& readings, int source, int destination, double rate, OthersTraffic of_source = {}) {
  Observation seen;
  HopReading hop;
  hop.source = source, hop.destination = destination;
  hop.bytes = Bytes(1'000'000'000);
  hop.busy = Seconds(1e9 / rate);
  seen.hops.push_back(hop);
  seen.others[source] = of_source;
  readings.add(seen, readings.pairs_measured() + 1, true);
}

struct Beside : testing::Test {
  Beside() : readings(6), lasting(6) { lasting[3].receives = 0.5 * full; }
  OthersBeside of(int node, Direction direction = Direction::receives) const {
    return others_beside(direction, readings, lasting, full, 0.95 * full, structure)[std::size_t(node)];
  }
  Readings readings;
  std::vector<OthersTraffic> lasting;
  Structure structure;
};

TEST_F(Beside, WhoeverReceivesForOthersMayFillTheLinksOfAllThatReceive) {
  add(readings, 1, 0, 0.4 * full);
  EXPECT_EQ(of(0).node, 3);
  EXPECT_DOUBLE_EQ(of(0).rate, 0.5 * full);
  EXPECT_EQ(of(3).node, -1) << "what is its own shows on its ports";
}

TEST_F(Beside, WhatItSendsItselfDoesNotCrossThem) {
  add(readings, 3, 0, 0.4 * full);
  EXPECT_EQ(of(0).node, 3) << "once may be chance";
  add(readings, 3, 0, 0.4 * full);
  EXPECT_EQ(of(0).node, -1);
  EXPECT_EQ(of(1).node, 3);
}

// Well with the busy one and slow with all others: that is what a link that they share looks like.
TEST_F(Beside, AGoodMeetingClearsNobody) {
  add(readings, 3, 0, full);
  add(readings, 3, 0, full);
  EXPECT_EQ(of(0).node, 3);
}

TEST_F(Beside, TheBusiestOfThoseNotMetCounts) {
  lasting[4].receives = 0.3 * full;
  lasting[5].receives = 0.6 * full;
  EXPECT_EQ(of(0).node, 5);
  for (int i = 0; i < 2; ++i) add(readings, 5, 0, 0.4 * full);
  EXPECT_EQ(of(0).node, 3);
  for (int i = 0; i < 2; ++i) add(readings, 3, 0, 0.4 * full);
  EXPECT_EQ(of(0).node, 4);
}

TEST_F(Beside, AFullPortOfItsOwnTellsNothing) {
  for (int i = 0; i < 2; ++i) add(readings, 3, 0, 0.4 * full, {0.6 * full, 0});
  EXPECT_EQ(of(0).node, 3);
  for (int i = 0; i < 2; ++i) add(readings, 3, 0, 0.4 * full, {0.2 * full, 0});
  EXPECT_EQ(of(0).node, -1);
}

TEST_F(Beside, BelowAnotherLeafOrOneSwitchItSharesNone) {
  structure.leaf = {0, 0, 0, 1, 1, 1};
  EXPECT_EQ(of(0).node, -1);
  EXPECT_EQ(of(4).node, 3);
  structure.leaf = {0, 0, 2, 1, 1, 1};
  EXPECT_EQ(of(2).node, 3) << "alone below a leaf is who fits nowhere";
  structure.leaf.clear();
  structure.all_alike = true;
  EXPECT_EQ(of(4).node, -1);
}

// It may end below any switch.
TEST_F(Beside, WhatNobodyReceivesEndsElsewhere) {
  lasting[4].sends = 0.5 * full;
  for (int i = 0; i < 2; ++i) add(readings, 3, 0, 0.4 * full);
  EXPECT_DOUBLE_EQ(of(0).rate, 0) << "node 3 receives it";
  lasting[5].sends = 0.4 * full;
  EXPECT_NEAR(of(0).rate, 0.3 * full, 1);
  EXPECT_EQ(of(0).node, -1);
}

// What a pair carried beside others it can do at least; what it did not, says nothing.
TEST(Readings, ABetterOneBesideOthersCountsForWhatAPairCanDo) {
  Readings readings(4);
  add(readings, 0, 1, 0.3 * full);
  add(readings, 0, 1, 0.32 * full);
  add(readings, 0, 1, 0.2 * full, {0.3 * full, 0});
  EXPECT_EQ(readings.counting_and_better(0, 1).size(), 2u);
  add(readings, 0, 1, 0.6 * full, {0.3 * full, 0});
  EXPECT_EQ(readings.counting(0, 1).size(), 2u);
  const auto better = readings.counting_and_better(0, 1);
  ASSERT_EQ(better.size(), 3u);
  EXPECT_NEAR(better.back().rate, 0.6 * full, 1e-3 * full);
  EXPECT_TRUE(readings.counting_and_better(1, 0).empty());
}

// Some of its nodes send and receive for others all the time.
struct Busy : Fleet {
  using Fleet::Fleet;
  std::vector<int> busy;
  Result<Observation> measure(const Experiment& e) override {
    auto seen = Fleet::measure(e);
    if (!seen) return seen;
    for (HopReading& hop : seen->hops)
      for (const int node : busy)
        if (hop.source == node || hop.destination == node)
          hop.busy = std::max(hop.busy, Seconds(double(hop.bytes.value) / (0.4 * rail_rate)));
    for (const int node : busy) seen->others[node] = {0.55 * rail_rate, 0.55 * rail_rate};
    return seen;
  }
};

TEST(LastingOthers, DoNotHideASlowSideOfANodeThatHasMetThem) {
  Busy fleet(40, 0, 1, 3);
  fleet.busy = {7, 30};
  EXPECT_EQ(named(fleet.check()), std::vector<std::string>{});
  Busy slow(40, 0, 1, 3);
  slow.busy = {7, 30};
  slow.receives = [](int node, int) { return node == 20 ? 0.5 : 1.0; };
  EXPECT_EQ(named(slow.check()), std::vector<std::string>{"slow-receiver node20"});
}

// A leaf that was guessed: what its links carry for others begins or ends below it.
struct SlowLeaf : Busy {
  explicit SlowLeaf(std::vector<int> sending) : Busy(64, 8, 1, 5) {
    hangs.guessed = true;
    busy = std::move(sending);
    ways = [](int source, int destination, int) {
      return source / 8 == 3 || destination / 8 == 3 ? 0.5 : 1.0;
    };
  }
};

TEST(LastingOthers, ElsewhereDoNotHideASlowLeaf) {
  const Diagnosis d = SlowLeaf({50}).check();
  ASSERT_EQ(named(d).size(), 1u) << explain(d);
  EXPECT_EQ(named(d)[0].substr(0, 9), "slow-leaf");
}

// One trunk a leaf, as fast as a node; what is left of it by others is shared evenly.
struct NarrowLeaves : Busy {
  NarrowLeaves() : Busy(64, 8, 1, 5) {
    hangs.guessed = true;
    busy = {26};
  }
  Result<Observation> measure(const Experiment& e) override {
    std::map<int, int> out, in;
    const std::size_t shift = e.algorithm == collective::AlgorithmId::pairwise ? std::size_t(e.shift) : 1;
    for (std::size_t r = 0; r < e.order.size(); ++r) {
      const int from = e.order[r] / 8, to = e.order[(r + shift) % e.order.size()] / 8;
      if (from != to) ++out[from], ++in[to];
    }
    const auto left = [](int leaf) { return leaf == 26 / 8 ? 0.45 : 1.0; };
    ways = [&](int x, int y, int) { return std::min(left(x / 8) / out[x / 8], left(y / 8) / in[y / 8]); };
    return Busy::measure(e);
  }
};

TEST(LastingOthers, BelowItMayBeWhatALeafLacks) {
  const Diagnosis d = NarrowLeaves().check();
  EXPECT_EQ(named(d), std::vector<std::string>{}) << explain(d);
}

// Of large fleets, whose ports say nothing, each of them may have met none of the others.
TEST(Generations, AreFoundWhereTheyHaveNotMet) {
  for (const int every : {3, 4, 7, 16})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      Fleet fleet(64, 8, 1, seed);
      fleet.sends = fleet.receives = [every](int node, int) { return node % every == 1 ? 0.5 : 1.0; };
      const Diagnosis d = fleet.check();
      EXPECT_TRUE(named(d).empty()) << every << ", " << seed << explain(d);
      EXPECT_EQ(std::ranges::count(d.findings, FindingKind::mixed_generations, &Finding::kind), 1) << every;
    }
}

TEST(Generations, APairWithAnOlderNodeClearsNoLeaf) {
  Fleet fleet(64, 8, 1, 5);
  fleet.sends = fleet.receives = [](int node, int) { return node % 4 == 1 ? 0.5 : 1.0; };
  fleet.ways = [](int source, int destination, int) {
    return source / 8 == 3 || destination / 8 == 3 ? 0.6 : 1.0;
  };
  const Diagnosis d = fleet.check();
  ASSERT_EQ(named(d).size(), 1u) << explain(d);
  EXPECT_EQ(named(d)[0].substr(0, 9), "slow-leaf");
}

}  // namespace
}  // namespace ringtrue::diagnosis
