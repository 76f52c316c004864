// What healthy fleets have, and what is told of it: others' traffic, generations, ports that differ.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "diagnosis/infer/generations.h"
#include "wires.h"

namespace ringtrue::diagnosis {
namespace {

bool tells(const Diagnosis& d, FindingKind kind) {
  return std::any_of(d.findings.begin(), d.findings.end(), [&](const Finding& f) { return f.kind == kind; });
}

// Scopes of what is more than information.
Names accused(Diagnosis d) {
  std::erase_if(d.findings, [](const Finding& f) { return f.severity == Severity::info; });
  return scopes_of(d);
}

// `from` sends to `to` for somebody else throughout: hops of either get what is left of its port.
void send_for_others(Wires& wires, int from, int to, double share) {
  wires.tamper = [=](Observation& o) {
    for (HopReading& hop : o.hops) {
      if (hop.source != from && hop.destination != to) continue;
      const double rate = std::min(*hop.rate(), (1 - share) * Wires::full);
      hop.busy = Seconds(double(hop.bytes.value) / rate);
    }
    for (const HopReading& hop : o.hops) {
      if (hop.source == from) o.others[from].sends = share * Wires::full;
      if (hop.destination == to) o.others[to].receives = share * Wires::full;
    }
  };
}

TEST(OthersTraffic, IsToldAndAccusesNobody) {
  for (const int nodes : {3, 4, 8, 12})
    for (const double share : {0.2, 0.5}) {
      Wires wires(nodes, std::uint64_t(nodes));
      send_for_others(wires, 1, 2, share);
      const Diagnosis d = wires.check();
      EXPECT_EQ(accused(d), Names{}) << nodes << " " << share << " " << explain(d);
      EXPECT_TRUE(tells(d, FindingKind::others_traffic)) << explain(d);
    }
}

TEST(OthersTraffic, DoesNotHideASlowSideElsewhere) {
  Wires wires(8, 5);
  wires.sends[5] *= 0.6;
  send_for_others(wires, 1, 2, 0.4);
  EXPECT_EQ(accused(wires.check()), Names{"sender node5"}) << explain(wires.check());
}

// What the port carried for both is too little.
TEST(OthersTraffic, DoesNotHideASlowSideOfItsOwn) {
  Wires wires(8, 6);
  wires.sends[1] *= 0.5;
  wires.tamper = [](Observation& o) {
    for (HopReading& hop : o.hops)
      if (hop.source == 1) {
        hop.busy = Seconds(double(hop.bytes.value) / (0.3 * Wires::full));
        o.others[1].sends = 0.2 * Wires::full;
      }
  };
  EXPECT_EQ(accused(wires.check()), Names{"sender node1"}) << explain(wires.check());
}

TEST(Generations, AreToldAndAccuseNobody) {
  for (const int nodes : {4, 8, 12})
    for (const bool half : {true, false}) {
      Wires wires(nodes, std::uint64_t(nodes));
      for (int node = 0; node < (half ? nodes / 2 : nodes - 2); ++node)
        wires.sends[std::size_t(node)] *= 0.6, wires.receives[std::size_t(node)] *= 0.6;
      const Diagnosis d = wires.check(false);
      EXPECT_EQ(accused(d), Names{}) << nodes << " " << half << " " << explain(d);
      EXPECT_TRUE(tells(d, FindingKind::mixed_generations)) << explain(d);
    }
}

struct Known : Wires {
  using Wires::Wires;
  std::vector<double> ports;
  Structure structure() const override {
    Structure out;
    out.port_rates = ports;
    return out;
  }
};

// Two that are faster than all others show with one another alone what is slow of them.
TEST(Generations, OfTwoThatAreFasterThePathIsNamed) {
  for (const int nodes : {3, 4, 6})
    for (const double share : {1.0, 0.55}) {
      Known wires(nodes, std::uint64_t(nodes));
      for (int node = 0; node < nodes; ++node) {
        const double rate = (node < 2 ? 1 : 0.4) * Wires::full;
        wires.ports.push_back(rate);
        wires.sends[std::size_t(node)] = wires.receives[std::size_t(node)] = rate;
      }
      wires.receives[0] *= share;
      const Diagnosis d = wires.check(false);
      EXPECT_EQ(accused(d), share < 1 ? Names{"path node1 -> node0"} : Names{}) << explain(d);
      if (d.findings.empty() || share == 1) continue;
      EXPECT_EQ(d.findings[0].evidence[1].kind, StatementKind::cannot_be_told_apart);
    }
}

// Once, by what they did themselves, and without those of which nothing is known.
TEST(Generations, AreToldTogether) {
  Known wires(8, 8);
  for (std::size_t node = 0; node < 8; ++node) {
    const double rate = (node < 4 ? 0.5 - 0.003 * double(node) : 1) * Wires::full;
    wires.ports.push_back((node < 4 ? 0.5 : 1) * Wires::full);
    wires.sends[node] = wires.receives[node] = rate;
  }
  const Diagnosis d = wires.check(false);
  const auto told = std::ranges::find(d.findings, FindingKind::mixed_generations, &Finding::kind);
  ASSERT_NE(told, d.findings.end()) << explain(d);
  ASSERT_EQ(told->evidence.size(), 1u) << explain(d);
  const std::string text = report::sentence(told->evidence[0]);
  EXPECT_NE(text.find("node0, node1, node2, node3"), text.npos) << text;
}

// A port carried for others what a slower partner's would not have let through.
TEST(Rates, AreNoMoreThanThePortsAtBothEnds) {
  Known wires(4, 4);
  for (std::size_t node = 0; node < 4; ++node) {
    const double rate = (node == 3 ? 0.5 : 1) * Wires::full;
    wires.ports.push_back(rate);
    wires.sends[node] = wires.receives[node] = rate;
  }
  wires.tamper = [](Observation& o) { o.others[0].sends = 0.4 * Wires::full; };
  const Diagnosis d = wires.check(false);
  ASSERT_TRUE(d.rates[0][3] && d.rates[1][3]);
  EXPECT_LE(d.rates[0][3]->value, 0.5 * Wires::full);
  EXPECT_NEAR(d.rates[1][3]->value / Wires::full, 0.5, 0.05);
}

// Of two newer nodes with one that is slow nobody shows what newer ports do: an older one that does what its
// own can is none of those that are to blame.
TEST(Generations, AnOlderNodeIsNotNamedForWhatTheFastestLack) {
  const std::vector<double> shares = {1, 1, 0.5, 0.5, 0.25};
  for (const bool told : {false, true})
    for (const std::size_t nodes : {3, 4, 5})
      for (const double slow : {0.6, 0.45, 0.33}) {
        Known wires(int(nodes), nodes);
        for (std::size_t node = 0; node < nodes; ++node) {
          const double rate = shares[node] * Wires::full;
          wires.ports.push_back(1.25 * rate);  // protocols leave 80 %
          wires.sends[node] = wires.receives[node] = rate;
        }
        wires.receives[0] *= slow, wires.sends[0] *= slow;
        const Diagnosis d = wires.check(told);
        // Where others do better than it does, it is told from its partner.
        const bool alone = slow > 0.5;
        if (told)
          EXPECT_EQ(accused(d),
                    alone ? (Names{"path node0 -> node1", "path node1 -> node0"}) : Names{"node node0"})
              << explain(d);
        for (const Finding& f : d.findings) {
          if (f.severity == Severity::info) continue;
          EXPECT_LT(f.scope.node, 2) << explain(d);
          EXPECT_LT(f.scope.peer, 2) << explain(d);
        }
      }
}

// Of which somebody said what their links carry: one finding, with its members.
TEST(Generations, BelowADeclaredRateAreAWarning) {
  for (const int nodes : {4, 8, 16})
    for (const int slow : {nodes / 4, nodes / 2}) {
      Wires wires(nodes, std::uint64_t(nodes));
      for (int node = 0; node < slow; ++node)
        wires.sends[std::size_t(node)] *= 0.6, wires.receives[std::size_t(node)] *= 0.6;
      const Diagnosis d = wires.check(true);
      if (slow < 2) {
        EXPECT_EQ(accused(d), Names{"node node0"}) << explain(d);
        continue;
      }
      EXPECT_EQ(d.verdict, Verdict::degraded) << explain(d);
      ASSERT_EQ(d.findings.size(), 1u) << explain(d);
      EXPECT_EQ(d.findings[0].kind, FindingKind::mixed_generations);
      EXPECT_NEAR(d.findings[0].ratio.value_or(0), 0.6, 0.03);
    }
}

// On a busy machine all that was read of them may be brief: they are measured again, or are not told as fine.
TEST(Generations, BelowADeclaredRateAreRepeatedWhereReadingsAreBrief) {
  for (const int brief : {9, 1000}) {
    Wires wires(8, 8);
    for (const int node : {2, 5})
      wires.sends[std::size_t(node)] *= 0.5, wires.receives[std::size_t(node)] *= 0.5;
    wires.tamper = [&](Observation& seen) {
      if (int(wires.asked.size()) > brief) return;
      for (HopReading& hop : seen.hops) {
        const double part = std::min(1.0, 5e6 / double(hop.bytes.value));
        hop.bytes = Bytes(std::uint64_t(double(hop.bytes.value) * part));
        hop.busy = Seconds(hop.busy.value * part);
      }
    };
    const Diagnosis d = wires.check(true);
    EXPECT_EQ(d.verdict, brief < 100 ? Verdict::degraded : Verdict::unknown) << explain(d);
    EXPECT_EQ(std::ranges::count(d.not_checked, StatementKind::slower_part, &Statement::kind),
              brief < 100 ? 0 : 1)
        << explain(d);
  }
}

TEST(Generations, ThatPortsTellOfAreNoneOfADeclaredRatesFault) {
  Known wires(8, 4);
  wires.ports.assign(8, 12.5e9);
  for (int node = 0; node < 4; ++node)
    wires.sends[std::size_t(node)] *= 0.5, wires.receives[std::size_t(node)] *= 0.5,
        wires.ports[std::size_t(node)] = 6.25e9;
  const Diagnosis d = wires.check(true);
  EXPECT_EQ(d.verdict, Verdict::healthy) << explain(d);
  // Ports of one rate, of which half carry less: no generation.
  wires.ports.assign(8, 12.5e9);
  EXPECT_EQ(accused(wires.check(true)), (Names{"node node0", "node node1", "node node2", "node node3"}))
      << explain(wires.check(true));
}

// Each needs its directions told apart, one pair at a time: that must not take the time in which all of them
// are measured again.
TEST(ManyNodes, ThatAreSlowBothWaysAreAllNamed) {
  for (const auto& [nodes, slow] : {std::pair(8, 2), {8, 4}, {16, 4}, {16, 8}, {32, 8}})
    for (const double share : {0.5, 0.8, 0.85}) {
      if (share > 0.8 && slow > 4) continue;  // mild and many: more than the budget proves
      Known wires(nodes, std::uint64_t(nodes + slow));
      wires.ports.assign(std::size_t(nodes), 12.5e9);
      Names expected;
      for (int node = 0; node < slow; ++node) {
        wires.sends[std::size_t(node)] *= share, wires.receives[std::size_t(node)] *= share;
        expected.push_back("node node" + std::to_string(node));
      }
      EXPECT_THAT(accused(wires.check(true)), testing::UnorderedElementsAreArray(expected))
          << nodes << " " << slow << " " << share << explain(wires.check(true));
    }
}

TEST(Generations, ASlowSideIsHeldToItsOwn) {
  Wires wires(8, 3);
  for (int node = 0; node < 4; ++node)
    wires.sends[std::size_t(node)] *= 0.5, wires.receives[std::size_t(node)] *= 0.5;
  wires.sends[2] *= 0.6;
  wires.receives[6] *= 0.7;
  const Names named = accused(wires.check(false));
  EXPECT_EQ(std::set<std::string>(named.begin(), named.end()),
            (std::set<std::string>{"sender node2", "receiver node6"}))
      << explain(wires.check(false));
}

TEST(Generations, OneNodeAloneIsNone) {
  Wires wires(8, 4);
  wires.sends[3] *= 0.5, wires.receives[3] *= 0.5;
  EXPECT_EQ(accused(wires.check(false)), Names{"node node3"}) << explain(wires.check(false));
}

// But where its ports say so.
TEST(Generations, AreWhatPortsSayTheyAre) {
  Known wires(6, 4);
  wires.sends[3] *= 0.5, wires.receives[3] *= 0.5;
  wires.ports.assign(6, 12.5e9);
  EXPECT_EQ(accused(wires.check(false)), Names{"node node3"}) << explain(wires.check(false));
  wires.ports[3] = 6.25e9;
  EXPECT_EQ(accused(wires.check(false)), Names{}) << explain(wires.check(false));
  // A port that is not in use says nothing of the one that is.
  wires.ports[4] = 1.25e9;
  wires.sends[4] *= 0.5;
  EXPECT_EQ(accused(wires.check(false)), Names{"sender node4"}) << explain(wires.check(false));
}

// It is held to what the others can take and send, which is not all that it can do.
TEST(Generations, TheOnlyFastNodeIsHeldToTheOthers) {
  for (const int nodes : {2, 3, 4}) {
    Known wires(nodes, 4);
    wires.ports.assign(std::size_t(nodes), 6.25e9);
    wires.ports[0] = 12.5e9;
    for (std::size_t node = 1; node < std::size_t(nodes); ++node)
      wires.sends[node] *= 0.5, wires.receives[node] *= 0.5;
    const Diagnosis healthy = wires.check();
    EXPECT_EQ(accused(healthy), Names{}) << explain(healthy);
    EXPECT_TRUE(std::any_of(healthy.not_checked.begin(), healthy.not_checked.end(), [](const Statement& s) {
      return s.kind == StatementKind::alone_as_fast;
    })) << explain(healthy);
    wires.sends[0] *= 0.2;
    const Diagnosis d = wires.check();
    ASSERT_EQ(accused(d), Names{nodes == 2 ? "path node0 -> node1" : "sender node0"}) << explain(d);
    EXPECT_NEAR(d.findings[0].measured->value, 0.2 * Wires::full, 0.02 * Wires::full);
    EXPECT_NEAR(d.findings[0].expected->value, 0.5 * Wires::full, 0.02 * Wires::full);
  }
}

// What others send through it leaves enough for partners that are slower.
TEST(Generations, OthersOnTheOnlyFastNodeRaiseNoRate) {
  Known wires(2, 4);
  wires.ports = {12.5e9, 6.25e9};
  wires.sends[1] *= 0.5, wires.receives[1] *= 0.5;
  wires.tamper = [](Observation& o) { o.others[0].sends = 0.4 * Wires::full; };
  const Diagnosis d = wires.check(false);
  EXPECT_EQ(accused(d), Names{}) << explain(d);
}

TEST(Scatter, PortsThatDifferForGoodAreNotSlow) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> draw(1, 0.03);
  for (int fleet = 0; fleet < 60; ++fleet) {
    Wires wires(2 + fleet % 11, std::uint64_t(fleet + 1));
    for (double& rate : wires.sends) rate *= draw(random);
    for (double& rate : wires.receives) rate *= draw(random);
    const Diagnosis d = wires.check(fleet % 2 == 0);
    EXPECT_EQ(accused(d), Names{}) << fleet << " " << explain(d);
  }
}

TEST(Scatter, WhatIsFarBelowItIsSlow) {
  std::mt19937_64 random(12);
  std::normal_distribution<double> draw(1, 0.015);
  for (int fleet = 0; fleet < 20; ++fleet) {
    Wires wires(8, std::uint64_t(fleet + 1));
    for (double& rate : wires.sends) rate *= draw(random);
    for (double& rate : wires.receives) rate *= draw(random);
    wires.sends[3] = 0.8 * Wires::full;
    EXPECT_EQ(accused(wires.check(false)), Names{"sender node3"}) << fleet;
  }
}

TEST(Declared, ARateThatIsWrongByATenthAccusesNobody) {
  for (const int nodes : {2, 3, 4, 8})
    for (const double off : {0.91, 0.95, 1.05, 1.1}) {
      Wires wires(nodes, 7);
      for (double& rate : wires.sends) rate /= off;
      for (double& rate : wires.receives) rate /= off;
      const Diagnosis d = wires.check(true);
      EXPECT_EQ(accused(d), Names{}) << nodes << " " << off << " " << explain(d);
    }
}

// Few nodes, of which none reaches it, may differ by more.
TEST(Declared, OfFewNodesThatAreAlikeItIsNotHeldAgainstThem) {
  for (const int nodes : {2, 3, 4}) {
    Wires wires(nodes, 7);
    for (double& rate : wires.sends) rate *= 0.855;
    for (double& rate : wires.receives) rate *= 0.855;
    const Diagnosis d = wires.check(true);
    EXPECT_EQ(accused(d), Names{}) << nodes << " " << explain(d);
    for (double& rate : wires.sends) rate *= 0.9;
    for (double& rate : wires.receives) rate *= 0.9;
    const Diagnosis slow = wires.check(true);
    EXPECT_EQ(slow.verdict, Verdict::faulty) << nodes << " " << explain(slow);
  }
}

// One of three makes two thirds of all that is measured as slow as it is.
TEST(Declared, OneSlowNodeOfThreeIsNotWhatAllDo) {
  Wires wires(3, 7);
  wires.sends[0] *= 0.84, wires.receives[0] *= 0.84;
  EXPECT_EQ(accused(wires.check(true)), Names{"node node0"}) << explain(wires.check(true));
}

}  // namespace
}  // namespace ringtrue::diagnosis
