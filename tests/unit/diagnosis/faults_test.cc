#include <gtest/gtest.h>

#include "report/text/wording.h"
#include "wires.h"

namespace ringtrue::diagnosis {
namespace {

void slow_down(Wires& wires, int node, bool sends, double share) {
  (sends ? wires.sends : wires.receives)[std::size_t(node)] *= share;
}

TEST(OneSide, IsNamedWithItsSideAndRate) {
  for (const bool link_rate : {true, false}) {
    for (const double share : {0.8, 0.5, 0.1}) {
      for (int node = 0; node < 8; ++node) {
        for (const bool sends : {true, false}) {
          Wires wires(8, std::uint64_t(node + 1));
          wires.disturbed = 0.3;
          wires.acknowledgements = true;
          slow_down(wires, node, sends, share);
          const Diagnosis d = wires.check(link_rate);
          ASSERT_EQ(scopes_of(d), Names{(sends ? "sender node" : "receiver node") + std::to_string(node)})
              << share << " " << link_rate << " " << explain(d);
          EXPECT_EQ(d.verdict, Verdict::faulty);
          const Finding& f = d.findings[0];
          EXPECT_NEAR(*f.ratio, share, 0.04 * share + 0.01) << explain(d);
          EXPECT_GT(f.confidence, 0.6) << explain(d);
          EXPECT_GE(f.evidence.size(), 2u);
          EXPECT_NE(report::sentence(f.impact).find("fixing it: "), std::string::npos);
          EXPECT_LT(d.cost.seconds.value, 17) << explain(d);
        }
      }
    }
  }
}

TEST(OneSide, IsNamedInFleetsOfAnySize) {
  for (const int nodes : {3, 4, 5, 8, 16, 32}) {
    for (const double share : {0.8, 0.5, 0.1}) {
      for (const bool sends : {true, false}) {
        for (const bool link_rate : {true, false}) {
          Wires wires(nodes, 3);
          wires.disturbed = 0.2;
          wires.acknowledgements = true;
          slow_down(wires, nodes - 1, sends, share);
          const Diagnosis d = wires.check(link_rate);
          ASSERT_EQ(scopes_of(d),
                    Names{(sends ? "sender node" : "receiver node") + std::to_string(nodes - 1)})
              << nodes << " " << share << " " << explain(d);
          EXPECT_LT(d.cost.seconds.value, 18) << explain(d);
        }
      }
    }
  }
}

// Acknowledgements that queue behind the data of a slow side, and others' disturbances, make the other side
// look slow at times.
TEST(OneSide, IsNotTakenForTheOther) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const bool sends = seed % 2 == 0;
    Wires wires(3, seed);
    wires.disturbed = 0.2;
    wires.acknowledgements = true;
    slow_down(wires, 2, sends, 0.8);
    const Diagnosis d = wires.check(seed % 4 < 2);
    EXPECT_EQ(scopes_of(d), Names{sends ? "sender node2" : "receiver node2"}) << explain(d);
  }
}

TEST(Gross, SideIsNamedWithinTheBudget) {
  for (const double share : {0.004, 0.01, 0.02, 0.04}) {
    for (const bool sends : {true, false}) {
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Wires wires(8, seed);
        wires.disturbed = 0.2;
        wires.acknowledgements = seed % 2 == 0;
        wires.tick = 0.004;
        wires.warmup = 1;
        slow_down(wires, 2, sends, share);
        const Diagnosis d = wires.check(seed % 3 != 0);
        ASSERT_EQ(scopes_of(d), Names{sends ? "sender node2" : "receiver node2"})
            << share << " " << seed << " " << explain(d);
        EXPECT_EQ(d.verdict, Verdict::faulty);
        EXPECT_LT(d.cost.seconds.value, 18) << share << explain(d);
      }
    }
  }
}

TEST(Gross, IsNeverHealthyHoweverSmallTheBudget) {
  for (const int nodes : {2, 3, 4, 8, 16}) {
    for (const double share : {0.004, 0.01, 0.02, 0.04, 0.1, 0.3}) {
      for (const double budget : {0.5, 1.0, 2.0, 4.0, 8.0}) {
        for (const bool link_rate : {true, false}) {
          for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            Wires wires(nodes, seed);
            wires.disturbed = 0.2;
            wires.acknowledgements = true;
            wires.tick = 0.004;
            wires.warmup = 1;
            slow_down(wires, nodes > 2 ? 2 : 0, true, share);
            Options options = wires.options(link_rate);
            options.budget = Seconds(budget);
            const Diagnosis d = run_check(wires, options);
            ASSERT_NE(d.verdict, Verdict::healthy)
                << nodes << " nodes " << share << " in " << budget << " " << explain(d);
            for (const std::string& name : scopes_of(d)) {
              ASSERT_TRUE(nodes == 2 || name == "sender node2")
                  << nodes << " nodes " << share << " in " << budget << " " << explain(d);
            }
          }
        }
      }
    }
  }
}

TEST(Gross, SideThatKeepsAllOthersShortIsNotTakenForTheFleet) {
  // So fast that what the others carry meanwhile takes a few ticks alone.
  for (const int nodes : {8, 12, 14, 16}) {
    Wires wires(nodes);
    for (auto* side : {&wires.sends, &wires.receives}) {
      for (double& rate : *side) rate *= 50;
    }
    wires.receives[0] *= 0.12;
    const Diagnosis d = wires.check(false);
    EXPECT_EQ(scopes_of(d), Names{"receiver node0"}) << nodes << explain(d);
  }
}

TEST(Gross, SlowestHopOfTheRingIsNamedWhereNothingElseFits) {
  Wires wires(8);
  wires.warmup = 1;
  wires.sends[2] *= 0.0004;
  const Diagnosis d = wires.check();
  EXPECT_EQ(d.verdict, Verdict::unknown) << explain(d);
  EXPECT_FALSE(d.error);
  ASSERT_FALSE(d.not_checked.empty());
  EXPECT_EQ(report::not_checked(d.not_checked[0]).what, "node2 -> node3") << explain(d);
}

TEST(Ticks, NeitherBlameNorRaiseTheReference) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Wires wires(8, seed);
    wires.disturbed = 0.3;
    wires.tick = 0.004;
    EXPECT_EQ(wires.check(seed % 2 == 0).verdict, Verdict::healthy) << seed;
    // One path so slow that all others are measured in a few ticks.
    wires.paths[{2, 5}] = 0.01 * Wires::full;
    const Diagnosis d = wires.check();
    for (const std::string& name : scopes_of(d)) ASSERT_EQ(name, "path node2 -> node5") << explain(d);
    EXPECT_NE(d.verdict, Verdict::healthy) << explain(d);
    for (const Finding& f : d.findings) EXPECT_NE(f.kind, FindingKind::above_link_rate) << explain(d);
  }
}

TEST(Ticks, LinksTooFastToBeMeasuredBlameNobody) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Wires wires(4, seed);
    for (auto* side : {&wires.sends, &wires.receives}) {
      for (double& rate : *side) rate *= 400;
    }
    wires.disturbed = 0.3;
    wires.tick = 0.004;
    Options options = wires.options(false);
    options.max_bytes = Bytes(1 << 20);
    const Diagnosis d = run_check(wires, options);
    ASSERT_EQ(scopes_of(d), Names{}) << seed << explain(d);
  }
}

TEST(OneSide, BetweenTheThresholdsIsAWarning) {
  Wires wires(8);
  wires.sends[4] *= 0.9;
  const Diagnosis d = wires.check();
  EXPECT_EQ(scopes_of(d), Names{"sender node4"}) << explain(d);
  EXPECT_EQ(d.verdict, Verdict::degraded);
  EXPECT_EQ(exit_code(d.verdict), 1);
}

TEST(OneSide, ImpactIsTheRingsRateBeforeAndAfter) {
  Wires wires(8);
  wires.sends[3] *= 0.5;
  const Diagnosis d = wires.check();
  ASSERT_EQ(d.findings.size(), 1u);
  EXPECT_EQ(report::sentence(d.findings[0].impact), "fixing it: 29.9 MB/s -> 59.8 MB/s busbw") << explain(d);
}

TEST(TwoNodes, CannotTellSidesFromThePath) {
  for (const bool link_rate : {true, false}) {
    Wires wires(2);
    wires.sends[0] *= 0.5;
    const Diagnosis d = wires.check(link_rate);
    ASSERT_EQ(scopes_of(d), Names{"path node0 -> node1"}) << explain(d);
    EXPECT_NE(report::sentence(d.findings[0].evidence[1]).find("cannot be told apart"), std::string::npos);
  }
  Wires both(2);
  both.sends = {0.5 * Wires::full, 0.5 * Wires::full};
  EXPECT_EQ(scopes_of(both.check()), (Names{"path node0 -> node1", "path node1 -> node0"}));
  const Diagnosis blind = both.check(false);
  EXPECT_EQ(scopes_of(blind), Names{});
  EXPECT_FALSE(blind.not_checked.empty());
}

TEST(TwoNodes, WhatAcknowledgementsSlowIsNoFault) {
  for (const double share : {0.8, 0.5, 0.1}) {
    Wires wires(2, 3);
    wires.acknowledgements = true;
    wires.receives[1] *= share;
    EXPECT_EQ(scopes_of(wires.check()), Names{"path node0 -> node1"}) << explain(wires.check());
  }
}

TEST(BothSides, OfOneNodeAreTheNode) {
  for (const double share : {0.8, 0.5, 0.1}) {
    for (const int nodes : {3, 4, 8}) {
      for (const bool link_rate : {true, false}) {
        Wires wires(nodes, 5);
        wires.disturbed = 0.2;
        wires.acknowledgements = true;
        slow_down(wires, 2, true, share);
        slow_down(wires, 2, false, share);
        const Diagnosis d = wires.check(link_rate);
        ASSERT_EQ(scopes_of(d), Names{"node node2"}) << nodes << " " << share << " " << explain(d);
      }
    }
  }
}

TEST(BothSides, OfWhichOneIsVerySlowAreToldApartOneAtATime) {
  Wires wires(8, 5);
  wires.acknowledgements = true;
  wires.sends[2] *= 0.1;
  wires.receives[2] *= 0.5;
  EXPECT_EQ(scopes_of(wires.check()), Names{"node node2"}) << explain(wires.check());
  wires.one_at_a_time = false;  // then the other side cannot be judged
  const Diagnosis d = wires.check();
  EXPECT_EQ(scopes_of(d), Names{"sender node2"}) << explain(d);
  const auto& reasons = d.not_checked;
  EXPECT_TRUE(std::any_of(reasons.begin(), reasons.end(), [](const NotChecked& n) {
    const auto [what, why] = report::not_checked(n);
    return what.find("node2's receiving side") == 0 && why.find("acknowledgements") != std::string::npos;
  })) << explain(d);
}

TEST(TwoFaults, AreBothNamedWhereverTheyAre) {
  for (const double share : {0.8, 0.5, 0.1}) {
    for (int a = 0; a < 8; a += 3) {
      for (int b = 0; b < 8; ++b) {
        for (const bool b_sends : {true, false}) {
          if (a == b) continue;
          Wires wires(8, std::uint64_t(a * 8 + b + 1));
          wires.disturbed = 0.2;
          slow_down(wires, a, true, 0.5);
          slow_down(wires, b, b_sends, share);
          const Diagnosis d = wires.check(b % 2 == 0);
          Names names{"sender node" + std::to_string(a),
                      (b_sends ? "sender node" : "receiver node") + std::to_string(b)};
          std::sort(names.begin(), names.end());
          ASSERT_EQ(scopes_of(d), names) << share << " " << explain(d);
          EXPECT_LT(d.cost.seconds.value, 17) << explain(d);
        }
      }
    }
  }
}

TEST(TwoFaults, OfWhichOneIsFarWorse) {
  Wires wires(8, 11);
  wires.disturbed = 0.2;
  wires.acknowledgements = true;
  wires.sends[1] *= 0.1;
  wires.receives[2] *= 0.8;
  EXPECT_EQ(scopes_of(wires.check()), (Names{"receiver node2", "sender node1"})) << explain(wires.check());
}

TEST(TwoFaults, InFourNodes) {
  for (const bool link_rate : {true, false}) {
    Wires wires(4, 2);
    wires.disturbed = 0.2;
    wires.sends[0] *= 0.5;
    wires.receives[1] *= 0.8;
    const Diagnosis d = wires.check(link_rate);
    EXPECT_EQ(scopes_of(d), (Names{"receiver node1", "sender node0"})) << explain(d);
  }
}

TEST(Path, OfOnePairAloneBlamesNoNode) {
  for (const double share : {0.8, 0.5, 0.1}) {
    for (const auto& [x, y] : {std::pair{0, 1}, {6, 2}, {7, 0}, {3, 5}}) {
      for (const int nodes : {8, 12}) {
        Wires wires(nodes, std::uint64_t(x * 8 + y + 1));
        wires.disturbed = 0.2;
        wires.paths[{x, y}] = share * Wires::full;
        const Diagnosis d = wires.check(x % 2 == 0);
        ASSERT_EQ(scopes_of(d), Names{"path node" + std::to_string(x) + " -> node" + std::to_string(y)})
            << share << " " << explain(d);
        EXPECT_LT(d.cost.seconds.value, 17) << explain(d);
      }
    }
  }
}

TEST(Path, InThreeAndFourNodes) {
  for (const int nodes : {3, 4}) {
    Wires wires(nodes);
    wires.paths[{0, 1}] = 0.5 * Wires::full;
    const Diagnosis d = wires.check();
    EXPECT_EQ(scopes_of(d), Names{"path node0 -> node1"}) << explain(d);
  }
}

TEST(Path, BesideASlowSide) {
  Wires wires(8, 4);
  wires.disturbed = 0.2;
  wires.sends[6] *= 0.8;
  wires.paths[{1, 3}] = 0.5 * Wires::full;
  const Diagnosis d = wires.check();
  EXPECT_EQ(scopes_of(d), (Names{"path node1 -> node3", "sender node6"})) << explain(d);
}

TEST(Path, OfANodeThatReceivesSlowlyIsToldOneDirectionAtATime) {
  for (const double share : {0.8, 0.5, 0.1}) {
    for (const bool link_rate : {true, false}) {
      Wires wires(8, 6);
      wires.acknowledgements = true;
      wires.receives[2] *= share;
      wires.paths[{2, 6}] = 0.5 * Wires::full;
      const Diagnosis d = wires.check(link_rate);
      EXPECT_EQ(scopes_of(d), (Names{"path node2 -> node6", "receiver node2"})) << share << " " << explain(d);
      EXPECT_LT(d.cost.seconds.value, 17) << explain(d);
    }
  }
}

}  // namespace
}  // namespace ringtrue::diagnosis
