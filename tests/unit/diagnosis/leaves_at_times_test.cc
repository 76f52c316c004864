// Leaves whose trunks come and go.
#include "diagnosis/infer/leaves_at_times.h"

#include <gtest/gtest.h>

#include "diagnosis/infer/at_times.h"
#include "diagnosis/infer/attribute.h"
#include "fleet.h"

namespace ringtrue::diagnosis {
namespace {

// Each experiment by itself, half of them: what is slow is slow in these.
bool now(const Fleet& fleet, std::uint64_t seed) {
  return std::mt19937_64(seed * 1000 + fleet.asked.size())() % 2 == 0;
}

bool says(const Diagnosis& d, StatementKind kind) {
  return std::ranges::any_of(d.findings, [&](const Finding& f) {
    return std::ranges::any_of(f.evidence, [&](const Statement& s) { return s.kind == kind; });
  });
}

TEST(LeafAtTimes, IsNamedWithHowOftenItWasSlow) {
  int found = 0, told = 0;
  constexpr int all = 20;
  for (std::uint64_t seed = 1; seed <= all; ++seed) {
    Fleet fleet(64, 8, 1, seed);
    fleet.ways = [&](int x, int y, int) {
      return now(fleet, seed) && (x / 8 == 3 || y / 8 == 3) ? 0.5 : 1.0;
    };
    const Diagnosis d = fleet.check();
    for (const std::string& name : named(d)) EXPECT_EQ(name, "slow-leaf leaf 3") << explain(d);
    found += !named(d).empty();
    told += says(d, StatementKind::leaf_slow_at_times);
  }
  EXPECT_GE(found, all * 9 / 10);
  EXPECT_GE(told, all * 7 / 10) << "else it was slow in all that were made";
}

TEST(LeafAtTimes, OfTwoNobodyKnowsWhich) {
  int found = 0;
  constexpr int all = 20;
  for (std::uint64_t seed = 1; seed <= all; ++seed) {
    Fleet fleet(32, 16, 1, seed);
    fleet.ways = [&](int, int, int) { return now(fleet, seed) ? 0.4 : 1.0; };
    const Diagnosis d = fleet.check();
    for (const std::string& name : named(d))
      EXPECT_EQ(name, "slow-trunk the links between leaf 0 and leaf 1") << explain(d);
    found += !named(d).empty();
  }
  EXPECT_GE(found, all / 2);
}

// Hops that meet on hashed trunks, others each time: as often at any leaf.
TEST(LeafAtTimes, IsNotNamedWhereAllAreLowAsOften) {
  for (const int leaf : {4, 8, 16})
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      Fleet fleet(64, leaf, 1, seed);
      fleet.hangs.spines = 0;
      std::mt19937_64 random(seed);
      fleet.ways = [&](int, int, int) { return random() % 4 == 0 ? 0.5 : 1.0; };
      const Diagnosis d = fleet.check();
      EXPECT_EQ(named(d), Names{}) << seed << explain(d);
    }
}

TEST(LeafAtTimes, IsNotNamedForOneOfItsNodes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Fleet fleet(64, 8, 1, seed);
    fleet.sends = [&](int node, int) { return node == 24 && now(fleet, seed) ? 0.5 : 1.0; };
    const Diagnosis d = fleet.check();
    for (const std::string& name : named(d)) EXPECT_EQ(name, "slow-sender node24") << explain(d);
  }
}

// What a pod's leaves share is above them.
TEST(LeafAtTimes, IsNotNamedWhereAnotherIsSlowAtTimesAsWell) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Fleet fleet(64, 8, 1, seed);
    fleet.hangs.spines = 0;
    const auto in_pod = [](int node) { return node / 8 >= 2 && node / 8 < 4; };
    fleet.ways = [&](int x, int y, int) { return now(fleet, seed) && in_pod(x) != in_pod(y) ? 0.5 : 1.0; };
    const Diagnosis d = fleet.check();
    EXPECT_FALSE(says(d, StatementKind::leaf_slow_at_times)) << explain(d);
  }
}

// What ended, began, or came and went, of as many rounds as are asked for.
constexpr int nodes = 32, leaf_size = 4;

Readings readings_of(Fleet& fleet, int rounds, const std::function<bool(int round)>& slow) {
  Readings readings(nodes);
  for (int round = 0; round < rounds; ++round) {
    fleet.ways = [&](int x, int y, int) { return slow(round) && (x / 4 == 3 || y / 4 == 3) ? 0.5 : 1.0; };
    Experiment e;
    e.algorithm = collective::AlgorithmId::pairwise;
    e.bytes = Bytes(std::uint64_t(1e9));
    // One hop out of each leaf, to another one each time.
    for (int i = 0; i < nodes; ++i) {
      const int leaf = i / leaf_size * (2 * round + 1) % (nodes / leaf_size);
      e.order.push_back(leaf * leaf_size + (i + round) % leaf_size);
    }
    readings.add(*fleet.measure(e), round + 1, true);
  }
  return readings;
}

std::vector<LeafAtTimes> leaves_of(int rounds, const std::function<bool(int round)>& slow) {
  Fleet fleet(nodes, leaf_size);
  const Readings readings = readings_of(fleet, rounds, slow);
  const Inference inference = infer(readings, Readings(nodes), std::nullopt, std::nullopt, {}, fleet.hangs);
  return leaves_at_times(readings, Readings(nodes), inference, fleet.hangs, {});
}

TEST(LeafAtTimes, IsToldAsWhatItWas) {
  const auto ended = leaves_of(12, [](int round) { return round < 5; });
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_TRUE(ended[0].confirmed);
  EXPECT_EQ(ended[0].course, Course::ended);
  EXPECT_EQ(ended[0].leaf, 3);
  EXPECT_EQ(ended[0].low_runs, 5);
  EXPECT_EQ(ended[0].all_runs, 12);
  const auto began = leaves_of(12, [](int round) { return round >= 6; });
  ASSERT_EQ(began.size(), 1u);
  EXPECT_EQ(began[0].course, Course::began);
  const auto comes = leaves_of(12, [](int round) { return round % 2 == 0; });
  ASSERT_EQ(comes.size(), 1u);
  EXPECT_EQ(comes[0].course, Course::at_times);
  EXPECT_TRUE(comes[0].up && comes[0].down);
}

TEST(LeafAtTimes, IsOpenUntilItIsKnownToBeOver) {
  const auto leaves = leaves_of(7, [](int round) { return round < 5; });
  ASSERT_EQ(leaves.size(), 1u);
  EXPECT_FALSE(leaves[0].confirmed);
}

// A check that ends then is no pass.
TEST(LeafAtTimes, IsAPartThatIsNotNamedUntilThen) {
  Fleet fleet(nodes, leaf_size);
  const Readings none(nodes), readings = readings_of(fleet, 7, [](int round) { return round < 5; });
  const Inference inference = infer(readings, none, std::nullopt, std::nullopt, {}, fleet.hangs);
  const Parts parts(fleet.hangs, readings, none, inference);
  EXPECT_TRUE(parts.fabric().empty());
  ASSERT_EQ(parts.at_times().size(), 1u);
  EXPECT_EQ(parts.at_times()[0].device, "leaf 3");
  EXPECT_LT(parts.chance_at_times(), at_times::by_chance);
}

// After as many as it is worth it was slow at times, be it over or not.
TEST(LeafAtTimes, IsNamedAtTheEndWhereItWasSlowUntilThen) {
  const int rounds = at_times::worth_runs(true);
  const auto leaves = leaves_of(rounds, [&](int round) { return round < rounds - 2; });
  ASSERT_EQ(leaves.size(), 1u);
  EXPECT_TRUE(leaves[0].confirmed);
  EXPECT_EQ(leaves[0].course, Course::at_times);
}

}  // namespace
}  // namespace ringtrue::diagnosis
