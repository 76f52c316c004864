// Faults that come and go.
#include "diagnosis/infer/unsteady.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "diagnosis/infer/at_times.h"
#include "wires.h"

namespace ringtrue::diagnosis {
namespace {

TEST(Tail, IsThatOfABinomial) {
  EXPECT_DOUBLE_EQ(tail_of({}, 0), 1);
  EXPECT_DOUBLE_EQ(tail_of({0.5}, 2), 0);
  EXPECT_DOUBLE_EQ(tail_of({0.5, 0.5}, 1), 0.75);
  EXPECT_DOUBLE_EQ(tail_of({0.5, 0.5}, 2), 0.25);
  EXPECT_NEAR(tail_of(std::vector<double>(10, 0.1), 3), 0.0701908264, 1e-9);
  // Each with its own chance: 1 - (1 - 0.1) (1 - 0.3).
  EXPECT_NEAR(tail_of({0.1, 0.3}, 1), 0.37, 1e-12);
}

// One side of a node slow in half of the runs.
void come_and_go(Wires& wires, int node, bool sends, double share, std::uint64_t seed) {
  wires.tamper = [=, random = std::mt19937_64(seed)](Observation& o) mutable {
    const bool now = random() % 2 == 0;
    for (HopReading& hop : o.hops)
      if (now && (sends ? hop.source : hop.destination) == node) hop.busy = hop.busy / share;
  };
}

TEST(Unsteady, ASideIsNamedWithHowOftenItWasSlow) {
  int found = 0, all = 0;
  for (const int nodes : {6, 8, 12, 16})
    for (const bool sends : {true, false})
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        Wires wires(nodes, seed);
        come_and_go(wires, 2, sends, 0.5, seed);
        const Diagnosis d = wires.check(seed % 2 == 0);
        const Names expected{sends ? "sender node2" : "receiver node2"};
        ++all;
        for (const std::string& name : scopes_of(d)) EXPECT_EQ(name, expected[0]) << explain(d);
        if (scopes_of(d) != expected) continue;
        ++found;
        const Finding& f = d.findings[0];
        const bool told = std::any_of(f.evidence.begin(), f.evidence.end(), [&](const Statement& s) {
          return s.kind ==
                 (sends ? StatementKind::sends_slowly_at_times : StatementKind::receives_slowly_at_times);
        });
        EXPECT_TRUE(told || d.cost.runs < 12) << explain(d);  // slow in all runs so far: not unsteady
        EXPECT_NEAR(*f.ratio, 0.5, 0.05);
      }
  EXPECT_GE(found, all * 9 / 10) << found << " of " << all;
}

// Hops into a port that another job fills are lower in every run, and are no sign of a link that all share.
TEST(Unsteady, ASideIsNamedBesideABusyPort) {
  int found = 0, all = 0;
  for (const int nodes : {5, 6, 8})
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      Wires wires(nodes, seed);
      wires.tamper = [random = std::mt19937_64(seed)](Observation& o) mutable {
        const bool now = random() % 2 == 0;
        for (HopReading& hop : o.hops) {
          if (now && hop.source == 2) hop.busy = hop.busy / 0.5;
          if (hop.destination != 4 || !hop.rate()) continue;
          const double room = 0.6 * *hop.rate(), others = *hop.rate() - room;
          hop.busy = Seconds(double(hop.bytes.value) / room);
          o.others[4].receives = others;
        }
      };
      const Diagnosis d = wires.check(seed % 2 == 0);
      for (const std::string& name : scopes_of(d)) EXPECT_EQ(name, "sender node2") << explain(d);
      ++all, found += scopes_of(d) == Names{"sender node2"};
    }
  EXPECT_GE(found, all * 8 / 10) << found << " of " << all;
}

// Nobody else is there to compare with.
TEST(Unsteady, ADirectionOfTwoNodesIsNamed) {
  constexpr int rings = 2;  // runs, whose times are not tampered with
  int found = 0, met = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Wires wires(2, seed);
    int runs = 0, slow = 0;
    wires.tamper = [&, random = std::mt19937_64(seed)](Observation& o) mutable {
      const bool now = random() % 2 == 0;
      slow += ++runs > rings && now;
      for (HopReading& hop : o.hops)
        if (now && hop.source == 1) hop.busy = hop.busy / 0.4;
    };
    const Diagnosis d = wires.check(seed % 2 == 0);
    const Names expected{"path node1 -> node0"};
    for (const std::string& name : scopes_of(d)) EXPECT_EQ(name, expected[0]) << explain(d);
    met += slow > 0;
    found += scopes_of(d) == expected;
  }
  EXPECT_GE(met, 20);
  EXPECT_GE(found, met * 9 / 10);
}

TEST(Unsteady, OfTwoNodesWhatIsLowSeldomIsNot) {
  for (const double often : {0.02, 0.05, 0.1})
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      Wires wires(2, seed);
      wires.disturbed = often;
      wires.disturbance = 0.5;
      const Diagnosis d = wires.check(seed % 2 == 0);
      EXPECT_EQ(scopes_of(d), Names{}) << often << " " << seed << " " << explain(d);
    }
}

TEST(Unsteady, BusyHealthyFleetsAreNot) {
  for (const double often : {0.02, 0.1, 0.3})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Wires wires(8 + int(seed % 9), seed);
      wires.disturbed = often;
      wires.disturbance = 0.5;
      const Diagnosis d = wires.check(seed % 2 == 0);
      EXPECT_EQ(scopes_of(d), Names{}) << often << " " << seed << " " << explain(d);
    }
}

// A path that is slow for good, and a busy machine that disturbs a reading in eight.
void slow_path_and_disturbed(Wires& wires, std::uint64_t seed) {
  wires.tamper = [random = std::mt19937_64(seed)](Observation& o) mutable {
    for (HopReading& hop : o.hops) {
      const bool disturbed = random() % 8 == 0;
      if ((hop.source == 1 && hop.destination == 2) || disturbed) hop.busy = hop.busy * 5;
    }
  };
}

TEST(Unsteady, APathThatIsSlowForGoodIsNoSideOfItsEnds) {
  int found = 0;
  constexpr int all = 60;
  for (std::uint64_t seed = 1; seed <= all; ++seed) {
    Wires wires(4 + int(seed % 2) * 4, seed);
    slow_path_and_disturbed(wires, seed);
    const Diagnosis d = wires.check(seed % 2 == 0);
    for (const std::string& name : scopes_of(d)) EXPECT_EQ(name, "path node1 -> node2") << seed << explain(d);
    found += scopes_of(d).size() == 1;
  }
  EXPECT_GE(found, all * 8 / 10) << found;
}

// Of four nodes, which have few other partners to tell by.
TEST(Unsteady, APathOfFourNodesIsSeldomTakenForASide) {
  int found = 0, wrong = 0;
  constexpr int all = 400;
  for (std::uint64_t seed = 1; seed <= all; ++seed) {
    Wires wires(4, seed);
    slow_path_and_disturbed(wires, seed);
    const Names named = scopes_of(wires.check(seed % 2 == 0));
    found += named == Names{"path node1 -> node2"};
    wrong +=
        std::any_of(named.begin(), named.end(), [](const auto& n) { return n != "path node1 -> node2"; });
  }
  EXPECT_GE(found, all * 9 / 10) << found;
  EXPECT_LE(wrong, all * 2 / 100) << wrong;
}

// From the given run on, or until it.
void change_at(Wires& wires, int node, std::size_t run, bool begins) {
  wires.tamper = [&wires, node, run, begins](Observation& o) {
    if ((wires.asked.size() >= run) != begins) return;
    for (HopReading& hop : o.hops)
      if (hop.source == node) hop.busy = hop.busy / 0.5;
  };
}

TEST(Unsteady, AFaultThatBeginsDuringTheCheckIsToldAsThat) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Wires wires(8, seed);
    change_at(wires, 3, 6, true);
    const Diagnosis d = wires.check(seed % 2 == 0);
    EXPECT_EQ(scopes_of(d), Names{"sender node3"}) << explain(d);
    ASSERT_FALSE(d.findings.empty());
    EXPECT_NE(explain(d).find("became slow during the check"), std::string::npos) << explain(d);
  }
}

// Slow both ways in company, and away in some of the tests of one direction at a time, which clear no side.
struct AwayInSomeTests : Wires {
  using Wires::Wires;
  Result<Observation> measure(const Experiment& e) override {
    const bool away = e.algorithm == collective::AlgorithmId::naive && ++tests % 3 == 1;
    for (auto* side : {&sends, &receives}) (*side)[3] = full * (away ? 1 : 0.4);
    return Wires::measure(e);
  }
  int tests = 0;
};

TEST(Unsteady, BothSidesAreToldByTestsInWhichTheFaultWasThere) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    AwayInSomeTests wires(8, seed);
    wires.acknowledgements = true;
    EXPECT_EQ(scopes_of(wires.check(true)), Names{"node node3"}) << seed;
  }
}

// Both sides of a node at once: whether both are slow is told by one direction at a time.
TEST(Unsteady, BothSidesOfANodeAreTheNode) {
  int named = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Wires wires(12, seed);
    wires.tamper = [random = std::mt19937_64(seed)](Observation& o) mutable {
      if (random() % 3 == 0) return;
      for (HopReading& hop : o.hops)
        if (hop.source == 3 || hop.destination == 3) hop.busy = hop.busy / 0.3;
    };
    const Diagnosis d = wires.check();
    for (const Finding& f : d.findings) EXPECT_EQ(f.scope.node, 3) << explain(d);
    named += scopes_of(d) == Names{"node node3"};
  }
  EXPECT_GE(named, 9);
}

// Acknowledgements queue behind the data of a slow sender, now and then: its node's other side takes no more
// of the time, as long as nothing but that shows.
TEST(Unsteady, TheOtherSideOfASlowOneTakesNoTime) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Wires wires(8, seed);
    wires.sends[3] *= 0.5;
    wires.tamper = [random = std::mt19937_64(seed)](Observation& o) mutable {
      const bool now = random() % 4 == 0 && o.hops.size() > 2;
      for (HopReading& hop : o.hops)
        if (now && hop.destination == 3) hop.busy = hop.busy / 0.82;
    };
    Options options = wires.options();
    options.budget_at_most = Seconds(60);
    const Diagnosis d = run_check(wires, options);
    EXPECT_EQ(scopes_of(d), Names{"sender node3"}) << explain(d);
    EXPECT_LE(d.cost.budget.value, 16) << explain(d);
    EXPECT_LE(d.cost.runs, 40) << explain(d);
  }
}

// Acknowledgements of what it sends wait behind what it receives slowly, in some of the runs in which it
// does.
TEST(Unsteady, TheOtherSideOfOneThatIsSlowAtTimesTakesNoTime) {
  int longer = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Wires wires(4, seed);
    wires.overhead = 0.15;
    wires.tamper = [random = std::mt19937_64(seed)](Observation& o) mutable {
      const bool now = random() % 5 < 2, behind = now && random() % 3 == 0;
      for (HopReading& hop : o.hops) {
        if (now && hop.destination == 1) hop.busy = hop.busy / 0.33;
        if (behind && hop.source == 1) hop.busy = hop.busy / 0.5;
      }
    };
    Options options = wires.options();
    options.budget_at_most = Seconds(60);
    const Diagnosis d = run_check(wires, options);
    for (const std::string& name : scopes_of(d)) EXPECT_EQ(name, "receiver node1") << explain(d);
    longer += d.cost.budget.value > 16;
  }
  EXPECT_EQ(longer, 0);
}

// All is well at first, and would have been said so if nobody had looked on.
TEST(Unsteady, AFaultThatBeginsAfterTheFirstSecondsIsFound) {
  for (const int nodes : {3, 8, 16, 40})
    for (const double begins : {1.0, 2.2}) {
      Wires wires(nodes, 1);
      wires.tamper = [&](Observation& o) {
        for (HopReading& hop : o.hops)
          if (wires.clock > begins && hop.destination == 1) hop.busy = hop.busy / 0.4;
      };
      const Diagnosis d = wires.check();
      EXPECT_EQ(scopes_of(d), Names{"receiver node1"}) << nodes << " " << begins << explain(d);
      EXPECT_LE(d.cost.seconds.value, 16);
    }
}

// Of few nodes a path that comes and goes is named, and no end of it.
TEST(Unsteady, APathOfFewNodesIsNamed) {
  int found = 0;
  for (const int nodes : {3, 4})
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      Wires wires(nodes, seed);
      wires.tamper = [random = std::mt19937_64(seed)](Observation& o) mutable {
        const bool now = random() % 4 != 0;
        for (HopReading& hop : o.hops)
          if (now && hop.source == 1 && hop.destination == 2) hop.busy = hop.busy / 0.5;
      };
      const Diagnosis d = wires.check();
      for (const std::string& scope : scopes_of(d)) EXPECT_EQ(scope, "path node1 -> node2") << explain(d);
      found += !d.findings.empty();
    }
  EXPECT_GE(found, 15);
}

// Where time runs out while a side may be slow at times, more is taken and told, if nobody has set a limit.
TEST(Unsteady, MoreTimeIsTakenForWhatIsOpen) {
  for (const bool limited : {false, true}) {
    Wires wires(8, 3);
    wires.tamper = [random = std::mt19937_64(5)](Observation& o) mutable {
      const bool now = random() % 4 == 0;
      for (HopReading& hop : o.hops)
        if (now && hop.source == 3) hop.busy = hop.busy / 0.8;
    };
    Options options = wires.options();
    options.budget = Seconds(4);
    if (!limited) options.budget_at_most = Seconds(16);
    std::vector<double> longer;
    options.on_budget = [&](Seconds budget, std::optional<Seconds> reading) {
      if (!reading) longer.push_back(budget.value);
    };
    const Diagnosis d = run_check(wires, options);
    EXPECT_EQ(scopes_of(d), limited ? Names{} : Names{"sender node3"}) << explain(d);
    if (limited)
      EXPECT_TRUE(longer.empty());
    else
      EXPECT_EQ(longer.empty() ? 0 : longer.front(), 2 * 4) << explain(d);
    EXPECT_LE(d.cost.seconds.value, d.cost.budget.value + 1);
  }
}

TEST(Unsteady, AFaultThatEndsDuringTheCheckIsToldAndAccusesNobody) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Wires wires(8, seed);
    change_at(wires, 3, 7, false);
    const Diagnosis d = wires.check(seed % 2 == 0);
    EXPECT_EQ(scopes_of(d), Names{}) << explain(d);
    EXPECT_EQ(d.verdict, Verdict::healthy) << explain(d);
  }
}

// A link that is down for a moment now and then.
TEST(Unsteady, DeepAndSeldomIsNamed) {
  int found = 0;
  std::string missed;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Wires wires(8, seed);
    wires.tamper = [random = std::mt19937_64(seed)](Observation& o) mutable {
      const bool now = random() % 3 == 0;
      for (HopReading& hop : o.hops)
        if (now && (hop.source == 4 || hop.destination == 4)) hop.busy = hop.busy / 0.2;
    };
    const Diagnosis d = wires.check();
    for (const Finding& f : d.findings) EXPECT_EQ(f.scope.node, 4) << explain(d);
    found += !d.findings.empty();
    if (d.findings.empty()) missed += explain(d);
  }
  EXPECT_GE(found, 16) << missed;
}

// What is there for half of the time is in few of the experiments where it takes them ten times as long: what
// may be chance after 24 of them is looked at again.
TEST(Unsteady, WhatIsDeepIsLookedAtForLonger) {
  constexpr double period = 4, there = 2, share = 0.1;
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Wires wires(16, seed);
    wires.tamper = [&wires, seed](Observation& o) {
      const double began = wires.clock - wires.overhead - o.time.value * o.experiment.iterations;
      if (std::fmod(began + 0.3 * double(seed), period) > there) return;
      for (HopReading& hop : o.hops) {
        if (hop.source != 5) continue;
        wires.clock += hop.busy.value * (1 / share - 1);
        hop.busy = hop.busy / share;
      }
    };
    const Diagnosis d = wires.check(seed % 2 == 0);
    for (const std::string& name : scopes_of(d)) EXPECT_EQ(name, "sender node5") << explain(d);
    found += scopes_of(d) == Names{"sender node5"};
  }
  EXPECT_GE(found, 15);
}

// Of three nodes one is of an older generation: what the second lacks at times, the third alone can show.
TEST(Unsteady, WhatOnePartnerAloneCanShowIsThePath) {
  constexpr double older = 0.3, share = 0.5;
  struct TwoGenerations : Wires {
    using Wires::Wires;
    Structure structure() const override {
      Structure out;
      out.port_rates = {Wires::full, Wires::full, older * Wires::full};
      return out;
    }
  };
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TwoGenerations wires(3, seed);
    wires.sends[2] = wires.receives[2] = older * Wires::full;
    wires.tamper = [random = std::mt19937_64(seed)](Observation& o) mutable {
      const bool now = random() % 2 == 0;
      for (HopReading& hop : o.hops)
        if (now && hop.source != 2 && hop.destination != 2) hop.busy = hop.busy / share;
    };
    const Diagnosis d = wires.check(false);
    for (const Finding& f : d.findings)
      if (f.severity != Severity::info) EXPECT_EQ(f.scope.node + f.scope.peer, 1) << explain(d);
    found += !scopes_of(d).empty();
  }
  EXPECT_GE(found, 16);
}

}  // namespace
}  // namespace ringtrue::diagnosis
