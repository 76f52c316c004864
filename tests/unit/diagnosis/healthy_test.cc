#include <gtest/gtest.h>

#include <utility>

#include "wires.h"

namespace ringtrue::diagnosis {
namespace {

TEST(Healthy, IsNeverBlamed) {
  for (const bool link_rate : {true, false}) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      Wires wires(8, seed);
      wires.disturbed = 0.3;
      const Diagnosis d = wires.check(link_rate);
      ASSERT_EQ(scopes_of(d), Names{}) << seed << " " << explain(d);
      ASSERT_EQ(d.verdict, Verdict::healthy);
      ASSERT_LT(d.cost.seconds.value, 16);
    }
  }
}

TEST(Healthy, IsNotBlamedWhenMostReadingsAreDisturbed) {
  for (const int nodes : {2, 3, 4, 8, 16}) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      Wires wires(nodes, seed);
      wires.disturbed = 0.8;
      wires.disturbance = 0.15;
      const Diagnosis d = wires.check(seed % 2 == 0);
      ASSERT_EQ(scopes_of(d), Names{}) << nodes << " " << seed << " " << explain(d);
    }
  }
}

// By its first reading the path is so slow that what follows would be too short to say more.
TEST(Healthy, APathThatWasLowOnceIsReadForLongEnoughInASmallBudget) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Wires wires(8, seed);
    bool was_low = false;
    wires.tamper = [&](Observation& o) {
      for (HopReading& hop : o.hops)
        if (hop.source == 3 && hop.destination == 1 && hop.bytes.value > 7e6 && !std::exchange(was_low, true))
          hop.busy = hop.busy * (1 / 0.6);
    };
    Options options = wires.options();
    options.budget = Seconds(4);
    const Diagnosis d = run_check(wires, options);
    ASSERT_TRUE(was_low) << seed << " " << explain(d);
    ASSERT_EQ(d.verdict, Verdict::healthy) << seed << " " << explain(d);
  }
}

// An emulated machine, or one whose processors are its adapters: every reading is lowered, by up to two
// thirds.
TEST(Healthy, WhereAllReadingsScatterWidelyOnlyGrossFaultsAreNamed) {
  long healthy = 0, named = 0, others = 0, held_up = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Wires wires(4, seed);
    wires.disturbed = 1;
    wires.disturbance = 0.5;
    const Diagnosis d = wires.check(false);
    ASSERT_EQ(scopes_of(d), Names{}) << seed << " " << explain(d);
    healthy += d.verdict == Verdict::healthy;
    // A job is held up all the same, which a pass must not hide.
    if (d.verdict == Verdict::healthy && d.ring_busbw->value < 0.8 * d.expected.value->value) {
      ++held_up;
      EXPECT_TRUE(std::any_of(d.not_checked.begin(), d.not_checked.end(),
                              [](const NotChecked& n) { return n.kind == StatementKind::scattered_ring; }))
          << seed << " " << explain(d);
    }
    Wires slow(4, seed);
    slow.disturbed = 1;
    slow.disturbance = 0.5;
    slow.sends[2] *= 0.1;
    const Diagnosis told = slow.check(false);
    const Names names = scopes_of(told);
    named += std::count(names.begin(), names.end(), "sender node2");
    others += long(names.size()) - (std::count(names.begin(), names.end(), "sender node2"));
    if (names.empty()) {  // no pass
      ASSERT_EQ(told.verdict, Verdict::unknown) << seed << " " << explain(told);
    }
  }
  // Beside a gross fault few readings are left of the others.
  EXPECT_LE(others, 3);
  EXPECT_GE(healthy, 54);
  EXPECT_GE(held_up, 20);
  EXPECT_GE(named, 50);
}

// The first rings take three times as long as their hops do.
struct SlowRings : Wires {
  using Wires::Wires;
  Result<Observation> measure(const Experiment& e) override {
    auto seen = Wires::measure(e);
    if (seen && e.algorithm == collective::AlgorithmId::ring && rings++ < slow) seen->time = seen->time * 3;
    return seen;
  }
  int slow = 2, rings = 0;
};

TEST(Healthy, ARingThatNoLinkExplainsIsMeasuredAgain) {
  SlowRings once(4, 1);
  const Diagnosis d = once.check(false);
  EXPECT_EQ(d.verdict, Verdict::healthy) << explain(d);
  EXPECT_EQ(once.rings, 3);
  SlowRings always(4, 1);
  always.slow = 100;
  EXPECT_EQ(always.check(false).verdict, Verdict::unknown);
  EXPECT_EQ(always.rings, 4);
}

TEST(Healthy, EverySizeIsHealthy) {
  for (const int nodes : {2, 3, 4, 5, 8, 16, 32, 64}) {
    for (const bool link_rate : {true, false}) {
      Wires wires(nodes, 7);
      wires.disturbed = 0.2;
      const Diagnosis d = wires.check(link_rate);
      EXPECT_EQ(d.verdict, Verdict::healthy) << nodes << " " << explain(d);
      EXPECT_EQ(d.coverage.pairs, nodes * (nodes - 1));
      if (nodes <= 16) {
        EXPECT_EQ(d.coverage.pairs_measured, d.coverage.pairs) << explain(d);
      }
      EXPECT_LT(d.cost.seconds.value, 16);
      EXPECT_EQ(d.expected.origin, link_rate ? ideal::Origin::declared : ideal::Origin::fleet_majority);
      EXPECT_NEAR(d.expected.value->value / Wires::full, 1, 0.03);
    }
  }
}

TEST(Healthy, MeasuringMayCostAFewPercentEverywhere) {
  Wires wires(8);
  for (double& rate : wires.sends) rate *= 0.94;
  const Diagnosis d = wires.check();
  EXPECT_EQ(d.verdict, Verdict::healthy) << explain(d);
  ASSERT_EQ(d.not_checked.size(), 1u);
  EXPECT_EQ(d.not_checked[0].kind, StatementKind::last_share);
}

TEST(Fleet, AllLinksAtHalfOfTheDeclaredRateIsOneFinding) {
  Wires wires(8);
  for (double& rate : wires.sends) rate *= 0.5;
  EXPECT_EQ(scopes_of(wires.check()), Names{"fleet"});
  EXPECT_EQ(scopes_of(wires.check(false)), Names{});  // nothing to hold it against
  wires.cpu_busy = 0.97;                              // no wonder then
  const Diagnosis d = wires.check();
  EXPECT_EQ(scopes_of(d), Names{});
  EXPECT_FALSE(d.not_checked.empty());
}

TEST(Fleet, LinkRateThatIsTooLowIsSaidToBeWrong) {
  Wires wires(4);
  wires.sends[2] = 0.5 * Wires::full;
  Options options = wires.options();
  options.link_rate = BytesPerSecond(12.5e6);
  const Diagnosis d = run_check(wires, options);
  EXPECT_EQ(scopes_of(d), Names{"sender node2"}) << explain(d);
  EXPECT_EQ(d.findings.back().kind, FindingKind::above_link_rate);
  EXPECT_EQ(d.findings.back().severity, Severity::info);
}

}  // namespace
}  // namespace ringtrue::diagnosis
