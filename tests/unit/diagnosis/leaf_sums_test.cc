// Leaves whose trunks together carry less than those of others, though each hop alone does well.
#include "diagnosis/infer/leaf_sums.h"

#include <gtest/gtest.h>

#include <map>

#include "diagnosis/infer/attribute.h"
#include "fleet.h"

namespace ringtrue::diagnosis {
namespace {

// Each leaf's trunks carry so many times what a node does, each way, shared evenly by all hops that cross.
class Trunks : public Fleet {
 public:
  using Fleet::Fleet;
  std::function<double(int leaf)> carries = [](int) { return 8.0; };
  Result<Observation> measure(const Experiment& e) override {
    std::map<int, double> out, in;
    const std::size_t n = e.order.size();
    const std::size_t shift = e.algorithm == collective::AlgorithmId::pairwise ? std::size_t(e.shift) : 1;
    for (std::size_t r = 0; r < n; ++r) {
      const int x = e.order[r], y = e.order[(r + shift) % n];
      if (hangs.crosses(x, y)) ++out[leaf(x)], ++in[leaf(y)];
    }
    ways = [&](int x, int y, int) {
      return std::min({1.0, carries(leaf(x)) / out[leaf(x)], carries(leaf(y)) / in[leaf(y)]});
    };
    return Fleet::measure(e);
  }

 private:
  int leaf(int node) const { return hangs.leaf[std::size_t(node)]; }
};

TEST(LeafSums, NameALeafThatCarriesLessWithAllAtOnce) {
  for (const double usual : {8.0, 4.0}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Trunks fleet(64, 8, 1, seed);
      fleet.hangs.spines = 0;
      fleet.carries = [&](int leaf) { return leaf == 3 ? 0.4 * usual : usual; };
      const Diagnosis d = fleet.check();
      ASSERT_EQ(named(d), Names{"slow-leaf leaf 3"}) << explain(d);
      EXPECT_NEAR(*d.findings[0].ratio, 0.4, 0.1) << explain(d);
      EXPECT_EQ(d.findings[0].evidence[0].kind, StatementKind::leaf_carries_less);
    }
  }
}

// What the others do with one another is what is usual.
TEST(LeafSums, NameOneOfThreeLeaves) {
  for (const double share : {0.4, 1.0})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Trunks fleet(48, 16, 1, seed);
      fleet.hangs.spines = 0;
      fleet.carries = [&](int leaf) { return leaf == 1 ? 4 * share : 4; };
      const Diagnosis d = fleet.check();
      EXPECT_EQ(named(d), share < 1 ? Names{"slow-leaf leaf 1"} : Names{}) << explain(d);
    }
}

// Nodes of one of three leaves are suspected, so that what they did one at a time does not count: there are
// three leaves all the same.
TEST(LeafSums, NameOneOfThreeLeavesWhoseNodesAreSuspected) {
  Trunks fleet(12, 4);
  fleet.hangs.spines = 0;
  fleet.carries = [&](int leaf) { return leaf == 1 ? 1 : 4; };
  Readings readings(12), across(12);
  Experiment e;
  e.algorithm = collective::AlgorithmId::pairwise;
  e.bytes = Bytes(std::uint64_t(1e9));
  for (int run = 1; run <= 8; ++run) {
    e.order = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    readings.add(*fleet.measure(e), 2 * run, false);
    e.order = {0, 4, 8, 1, 9, 5, 2, 6, 10, 3, 11, 7};
    across.add(*fleet.measure(e), 2 * run + 1, true);
  }
  Inference inference = infer(readings, Readings(12), std::nullopt, std::nullopt, {}, fleet.hangs);
  for (const ScopeType side : {ScopeType::sender, ScopeType::receiver}) {
    Suspect suspect;
    suspect.type = side, suspect.node = side == ScopeType::sender ? 7 : 4;
    inference.suspects.push_back(suspect);
  }
  const Parts parts(fleet.hangs, readings, across, inference);
  ASSERT_EQ(parts.fabric().size(), 1u);
  EXPECT_EQ(parts.fabric()[0].device, "leaf 1");
}

// One hop of it lacks no more than a member sends for others, and all at once far more.
TEST(LeafSums, NameALeafWhoseSingleHopsOthersMayHoldUp) {
  class Busy : public Trunks {
   public:
    using Trunks::Trunks;
    Result<Observation> measure(const Experiment& e) override {
      auto seen = Trunks::measure(e);
      if (seen) seen->others[25] = {0.7 * rail_rate, 0.7 * rail_rate};
      return seen;
    }
  };
  Busy fleet(64, 8, 1, 3);
  fleet.hangs.spines = 0;
  fleet.hangs.guessed = true;
  fleet.carries = [](int leaf) { return leaf == 3 ? 0.5 : 2.0; };
  const Diagnosis d = fleet.check();
  ASSERT_EQ(named(d).size(), 1u) << explain(d);
  EXPECT_EQ(named(d)[0].substr(0, 9), "slow-leaf");
  EXPECT_EQ(d.findings[0].evidence[0].kind, StatementKind::leaf_carries_less) << explain(d);
}

TEST(LeafSums, NameNobodyWhereAllAreOversubscribedAlike) {
  for (const double usual : {8.0, 4.0, 1.0})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Trunks fleet(64, 8, 1, seed);
      fleet.hangs.spines = 0;
      fleet.carries = [&](int) { return usual; };
      const Diagnosis d = fleet.check();
      EXPECT_EQ(named(d), Names{}) << usual << explain(d);
    }
}

// More nodes below it, and no more trunks.
TEST(LeafSums, NameNoLeafThatHasMoreOfTheNodes) {
  Trunks fleet(64, 8);
  fleet.hangs.spines = 0;
  for (int node = 8; node < 16; ++node) fleet.hangs.leaf[std::size_t(node)] = 0;
  fleet.carries = [&](int) { return 3.0; };
  const Diagnosis d = fleet.check();
  EXPECT_EQ(named(d), Names{}) << explain(d);
}

// Alone in a pod of its own: all that it sends goes over that pod's links, of others only some.
TEST(LeafSums, NameNoLeafThatIsFurtherAway) {
  Trunks fleet(64, 8);
  fleet.hangs.spines = 0;
  fleet.carries = [&](int leaf) { return leaf == 3 ? 3.0 : 8.0; };
  fleet.trips = [](int x, int y) { return x / 8 != y / 8 && (x / 8 == 3 || y / 8 == 3) ? 1.4 : 1.0; };
  const Diagnosis d = fleet.check();
  EXPECT_EQ(named(d), Names{}) << explain(d);
}

// The only one of its pod, among pods of four whose leaves have as many far partners.
TEST(LeafSums, NameNoLeafThatIsAloneInItsPod) {
  Trunks fleet(72, 8);
  fleet.hangs.spines = 0;
  const auto pod = [](int node) { return (node / 8 + 3) / 4; };
  fleet.carries = [](int leaf) { return leaf == 0 ? 4.0 : 8.0; };
  fleet.trips = [&](int x, int y) { return pod(x) != pod(y) ? 1.4 : 1.0; };
  const Diagnosis d = fleet.check();
  EXPECT_EQ(named(d), Names{}) << explain(d);
}

// While all pairs are measured, many hops cross at once.
TEST(LeafSums, NameNobodyForHopsThatMeetWhileAllPairsAreMeasured) {
  Trunks fleet(32, 16);
  fleet.hangs.spines = 0;
  Options options = fleet.options();
  options.path_coverage = PathCoverage::pairs;
  options.budget = Seconds(60);
  const Diagnosis d = run_check(fleet, options);
  EXPECT_GT(d.coverage.pairs_measured, 400) << explain(d);
  EXPECT_EQ(named(d), Names{}) << explain(d);
}

TEST(LeafSums, LeaveOutANode) {
  LeafSum sum;
  sum.hops = {{0, 8, 1, 0, 1}, {1, 9, 1, 0, 1}, {2, 10, 0.1, 0, 1}, {3, 11, 1, 0, 1}};
  sum.usual_share = 1, sum.usual_sum = 4;
  EXPECT_DOUBLE_EQ(sum.carried(), 3.1);
  EXPECT_DOUBLE_EQ(sum.share(), 3.1 / 4);
  EXPECT_DOUBLE_EQ(sum.share(2), 1);
  EXPECT_DOUBLE_EQ(sum.share(10), 1);
}

}  // namespace
}  // namespace ringtrue::diagnosis
