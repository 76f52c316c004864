// What a check of a large fleet costs, and what it holds to.
#include <gtest/gtest.h>

#include <map>

#include "diagnosis/infer/significance.h"
#include "diagnosis/plan/neighbours.h"
#include "fleet.h"

namespace ringtrue::diagnosis {
namespace {

auto slow(int node, double share, int rail = -1) {
  return [=](int x, int k) { return x == node && (rail < 0 || k == rail) ? share : 1.0; };
}

// Those that take more than a moment.
long long_runs(const Diagnosis& d) {
  return std::count_if(d.runs.begin(), d.runs.end(),
                       [](const RunRecord& r) { return r.stage != Stage::probe; });
}

TEST(Economy, AFaultOfANodeOrANicAmongAThousandIsProvenInSevenRuns) {
  for (const double share : {0.8, 0.5, 0.1}) {
    for (const int leaf : {0, 32}) {
      for (int what = 0; what < 4; ++what) {
        Fleet fleet(1024, leaf, 4, std::uint64_t(what + 1));
        const int node = 100 + 211 * what;
        if (what != 1) fleet.sends = slow(node, share, what == 3 ? 2 : -1);
        if (what == 1 || what == 2) fleet.receives = slow(node, share);
        const std::string name = "node" + std::to_string(node);
        const Names wanted[] = {{"slow-sender " + name},
                                {"slow-receiver " + name},
                                {"slow-node " + name},
                                {"slow-nic " + name + " rail 2"}};
        const Diagnosis d = fleet.check();
        EXPECT_EQ(named(d), wanted[what]) << share << " " << leaf << " " << explain(d);
        ASSERT_FALSE(d.findings.empty());
        EXPECT_GE(d.findings[0].proven_after, 3) << "a screening and two repeats";
        // A moment of all ports, and then: where nobody told who hangs below which leaf, short messages are
        // tried first, and three rounds of few pairs come after those of all ports.
        EXPECT_LE(d.findings[0].proven_after, leaf ? 7 : 14) << share << " " << leaf << " " << explain(d);
        EXPECT_LE(long_runs(d), leaf ? 6 : 9) << share << " " << leaf << " " << explain(d);
        EXPECT_EQ(d.verdict, Verdict::faulty);
      }
    }
  }
}

// What comes and goes may be away at first: all ports are watched for six seconds of sixteen, and no
// longer.
TEST(Economy, AHealthyFleetIsLeftInPeaceSoon) {
  for (const int nodes : {17, 64, 300, 1024}) {
    Fleet fleet(nodes);
    const Diagnosis d = fleet.check();
    EXPECT_EQ(named(d), Names{});
    EXPECT_EQ(d.verdict, Verdict::healthy) << explain(d);
    EXPECT_GE(d.cost.seconds.value, 6) << explain(d);
    EXPECT_LE(d.cost.seconds.value, 6.5) << explain(d);
    EXPECT_LE(long_runs(d), 40);
    EXPECT_EQ(d.coverage.pairs, nodes * (nodes - 1));
    EXPECT_GT(d.coverage.pairs_measured, 2 * nodes);
    EXPECT_LT(d.coverage.pairs_measured, 20 * nodes);
    EXPECT_EQ(d.rates.empty(), nodes > 256);
  }
}

TEST(Economy, AShortCheckHasARingForItsBusbw) {
  for (const int nodes : {32, 64, 128}) {
    Fleet fleet(nodes, 16);
    fleet.hangs.spines = 0;  // not told, so that no more pairs between leaves are wanted
    EXPECT_TRUE(fleet.check().ring_busbw) << nodes;
  }
}

// At 3 % of the rate a round of the usual length would take 8 s, half of the budget.
TEST(Economy, ADeepFaultThatTheFirstBytesDoNotShowLeavesTimeToProveIt) {
  struct Later : Fleet {
    using Fleet::Fleet;
    Result<Observation> measure(const Experiment& e) override {
      const bool short_one = e.bytes.value < 1'000'000;
      receives = slow(33, short_one ? 1.0 : 0.03);
      return Fleet::measure(e);
    }
  };
  for (const int leaf : {0, 16}) {
    Later fleet(64, leaf);
    const Diagnosis d = fleet.check();
    EXPECT_EQ(named(d), Names{"slow-receiver node33"}) << explain(d);
    EXPECT_LE(d.cost.seconds.value, 16) << explain(d);
  }
}

// Partners of a slower generation take less than such a program lets through, which clears nobody.
TEST(Economy, ASlowProgramIsNamedBesideASlowerGeneration) {
  Fleet fleet(32);
  const auto rate = [](int node, int) { return node % 3 == 0 ? 0.45 : 1.0; };
  fleet.sends = fleet.receives = rate;
  fleet.slow_programs = {13};
  EXPECT_EQ(named(fleet.check()), Names{"slow-compute node13"});
}

TEST(Economy, TwoFaultsAreBothFound) {
  Fleet fleet(1024, 32);
  fleet.sends = slow(17, 0.5);
  fleet.receives = slow(900, 0.75);
  const Diagnosis d = fleet.check();
  EXPECT_EQ(named(d), (Names{"slow-receiver node900", "slow-sender node17"})) << explain(d);
  EXPECT_LE(d.cost.runs, 8);
}

TEST(Disturbed, LargeFleetsAreNotBlamed) {
  for (std::uint64_t seed = 1; seed <= 30; seed += 5) {
    Fleet fleet(int(20 + 15 * seed), seed % 2 ? 0 : 8, 2, seed);
    fleet.disturbed = 0.05;
    const Diagnosis d = fleet.check();
    ASSERT_EQ(named(d), Names{}) << seed << " " << explain(d);
  }
}

TEST(Disturbed, NodesThatSendAndReceiveForOthersAreNotBlamed) {
  // The first three: where chance below 0.01 % of a path, or 0.1 % of a node, would have sufficed.
  std::vector<std::uint64_t> seeds{1829, 1904, 2006};
  for (std::uint64_t seed = 1; seed <= 30; seed += 5) seeds.push_back(seed);
  for (const std::uint64_t seed : seeds) {
    Fleet fleet(int(20 + 15 * (seed % 60)), seed % 2 ? 0 : 8, 2, seed);
    fleet.exchanging = 0.05;
    const Diagnosis d = fleet.check();
    EXPECT_EQ(named(d), Names{}) << seed << " " << explain(d);
  }
}

TEST(Disturbed, LargeFleetsHideNoFault) {
  for (std::uint64_t seed = 1; seed <= 10; seed += 3) {
    Fleet fleet(int(100 * seed), 0, 1, seed);
    fleet.disturbed = 0.05;
    fleet.receives = slow(int(50 * seed), 0.75);
    const Diagnosis d = fleet.check();
    ASSERT_EQ(named(d), Names{"slow-receiver node" + std::to_string(50 * seed)}) << explain(d);
  }
}

TEST(Disturbed, ANodeOrANICAmongAThousandIsProvenAsSoon) {
  for (int what = 0; what < 4; ++what) {
    Fleet fleet(1024, 32, 4, std::uint64_t(what + 1));
    fleet.disturbed = 0.05;
    if (what != 1) fleet.sends = slow(300, 0.7, what == 3 ? 2 : -1);
    if (what == 1 || what == 2) fleet.receives = slow(300, 0.7);
    const Diagnosis d = fleet.check();
    ASSERT_EQ(d.findings.size(), 1u) << what << " " << explain(d);
    EXPECT_LE(d.findings[0].proven_after, 9) << what << " " << explain(d);
  }
}

TEST(Chance, IsLessWhereReadingsLieNearTogether) {
  const double low = 0.05;
  EXPECT_DOUBLE_EQ(chance_of(low, 3), low * low * low);
  EXPECT_DOUBLE_EQ(chance_of(low, std::vector<double>{0.001}), low * low)
      << "two tell nothing of their distance";
  // Spread over all that is as low: no more than that they are low.
  EXPECT_DOUBLE_EQ(chance_of(low, {0.02, 0.04, 0.05}), chance_of(low, 4));
  // Together: 3 x 4 x 0.05 x 0.005^3.
  EXPECT_NEAR(chance_of(low, {0.005, 0.005, 0.005}), 7.5e-8, 1e-12);
  // One of them disturbed.
  EXPECT_LT(chance_of(low, {0.005, 0.005, 0.005, 0.05}), chance_of(low, 5));
  EXPECT_GT(chance_of(low, {0.005, 0.005, 0.005, 0.05}), chance_of(low, {0.005, 0.005, 0.005, 0.005}));
}

TEST(Repetition, NobodyIsBlamedForWhatWasSeenOnce) {
  // As slow as can be, in the second round alone.
  Fleet fleet(64);
  fleet.sends = [&](int node, int) { return node == 9 && fleet.asked.size() == 3 ? 0.2 : 1.0; };
  const Diagnosis d = fleet.check();
  EXPECT_EQ(named(d), Names{});
  EXPECT_EQ(d.verdict, Verdict::healthy) << explain(d);
}

// It lacks no more than a node sends that may be below the same switch: what both exchange tells.
TEST(LargeFleet, WhoIsSlowAtTimesMeetsWhoseTrafficMayBeTheReason) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Fleet fleet(64, 16, 1, seed);
    fleet.hangs.guessed = true;
    fleet.for_others[12] = 0.55;
    fleet.sends = [&](int node, int) { return node == 9 && int(fleet.clock / 0.7) % 3 > 0 ? 0.5 : 1.0; };
    const Names names = named(fleet.check());
    for (const std::string& name : names) EXPECT_EQ(name, "slow-sender node9");
    found += !names.empty();
  }
  EXPECT_GE(found, 5);
}

// Whose round trips scatter, on nodes where each run takes long.
TEST(LeafGuess, LeavesMostOfTheBudgetToTheRest) {
  Fleet fleet(8);
  fleet.run_seconds = 0.2;
  std::mt19937 random(1);
  fleet.trips = [&](int, int) { return 1 + double(random() % 1000) / 100; };
  double guessing = 0;
  Options options = fleet.options();
  options.on_progress = [&](Stage, const std::string& what, double) {
    guessing += what == "who is near whom" ? fleet.run_seconds : 0;
  };
  run_check(fleet, options);
  EXPECT_GT(guessing, 0);
  EXPECT_LE(guessing, 0.2 * options.budget.value + fleet.run_seconds);
}

TEST(Neighbours, SendWithinTheirLeafButForOneOfEach) {
  const int n = 96, leaf = 8;
  std::vector<int> nodes, group;
  for (int i = 0; i < n; ++i) nodes.push_back(i), group.push_back(i % (n / leaf));
  Readings met(n);
  Wanted wanted(n);
  wanted.paths = {{3, 15}, {27, 3}, {1, 2}, {14, 27}};  // below one leaf, across, and both
  wanted.sends[40] = wanted.receives[52] = 1;           // suspects below one leaf
  for (std::uint64_t seed = 0; seed <= 20; ++seed) {
    const auto order = neighbour_order(nodes, group, wanted, met, seed);
    std::map<int, int> out, next;
    ASSERT_EQ(std::set<int>(order.begin(), order.end()).size(), std::size_t(n));
    for (int i = 0; i < n; ++i) {
      const int x = order[std::size_t(i)], y = order[std::size_t((i + 1) % n)];
      next[x] = y;
      out[group[std::size_t(x)]] += group[std::size_t(x)] != group[std::size_t(y)];
    }
    for (const auto& [from, count] : out) EXPECT_EQ(count, 1) << from;
    if (seed == 0) continue;
    for (const auto& [x, y] : wanted.paths) EXPECT_EQ(next[x], y) << seed;
    EXPECT_NE(next[40], 52);
    EXPECT_EQ(group[std::size_t(next[40])], group[40]);
  }
}

TEST(Neighbours, OfASuspectAreAsFastAndCarryNothingForOthers) {
  const int n = 32, leaf = 8;
  std::vector<int> nodes, group;
  for (int i = 0; i < n; ++i) nodes.push_back(i), group.push_back(i / leaf);
  Readings met(n);
  Wanted wanted(n);
  wanted.sends[10] = 1;
  wanted.busy[8] = wanted.busy[9] = wanted.busy[13] = 1;
  wanted.level[11] = wanted.level[15] = 0.5;
  int good = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto order = neighbour_order(nodes, group, wanted, met, seed);
    const auto at = std::size_t(std::ranges::find(order, 10) - order.begin());
    const int next = order[(at + 1) % order.size()];
    good += next == 12 || next == 14;
  }
  EXPECT_GE(good, 36) << "of 40";
}

TEST(Coverage, OfAllPairsIsReachedWhereItIsAskedFor) {
  Fleet fleet(40);
  fleet.ways = [](int x, int y, int) { return x == 7 && y == 29 ? 0.5 : 1.0; };
  EXPECT_EQ(named(fleet.check()), Names{});  // not among the neighbours
  Options options = fleet.options();
  options.path_coverage = PathCoverage::pairs;
  options.budget = Seconds(60);
  fleet.clock = 0;
  const Diagnosis d = run_check(fleet, options);
  EXPECT_EQ(named(d), Names{"slow-path node7 node29"}) << explain(d);
  EXPECT_EQ(d.coverage.pairs_measured, 40 * 39);
  EXPECT_EQ(
      std::count_if(d.runs.begin(), d.runs.end(), [](const RunRecord& r) { return r.stage == Stage::cover; }),
      39);
  EXPECT_GT(d.cost.bytes.value, 0u);
}

TEST(Coverage, EndsWithTheBudgetAndSaysHowFarItCame) {
  Fleet fleet(40);
  Options options = fleet.options();
  options.path_coverage = PathCoverage::pairs;
  options.budget = Seconds(3);
  const Diagnosis d = run_check(fleet, options);
  EXPECT_LT(d.cost.seconds.value, 3.5);
  EXPECT_LT(d.coverage.pairs_measured, d.coverage.pairs);
  EXPECT_FALSE(d.not_checked.empty());
}

TEST(ReadingsOf, AHundredThousandNodesTakeWhatWasMeasuredAlone) {
  const int n = 100'000;
  Readings readings(n);
  Observation seen;
  for (int i = 0; i < 1000; ++i) {
    HopReading hop;
    hop.source = i, hop.destination = n - 1 - i, hop.bytes = Bytes(100'000'000), hop.busy = Seconds(1);
    seen.hops.push_back(hop);
  }
  readings.add(seen, 1, false);
  readings.add(seen, 2, true);
  EXPECT_EQ(readings.pairs_measured(), 1000);
  EXPECT_EQ(readings.of(7, n - 8).size(), 2u);
  EXPECT_TRUE(readings.of(7, 8).empty());
  EXPECT_EQ(readings.senders_to(n - 8), std::vector<int>{7});
  EXPECT_EQ(readings.receivers_of(7), std::vector<int>{n - 8});
  EXPECT_DOUBLE_EQ(*readings.best(7, n - 8), 1e8);
}

}  // namespace
}  // namespace ringtrue::diagnosis
