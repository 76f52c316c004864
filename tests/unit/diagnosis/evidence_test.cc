#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "diagnosis/findings/small_buffers.h"
#include "wires.h"

namespace ringtrue::diagnosis {
namespace {

std::string reasons(const Diagnosis& d) {
  std::string out;
  for (const NotChecked& n : d.not_checked)
    out += report::not_checked(n).what + ": " + report::not_checked(n).why + "\n";
  return out;
}

TEST(Ring, OneTraceShowsTheSlowHopAmongEight) {
  for (int node = 0; node < 8; ++node) {
    Wires wires(8, std::uint64_t(node + 1));
    wires.sends[std::size_t(node)] *= 0.5;
    wires.fails_at = 2;  // so that nothing but a single short ring was ever measured
    const Diagnosis d = wires.check();
    ASSERT_EQ(wires.asked.size(), 2u);
    EXPECT_EQ(wires.asked[0].algorithm, collective::AlgorithmId::ring);
    EXPECT_EQ(scopes_of(d), Names{});  // a single reading blames nobody
    EXPECT_FALSE(d.ring_busbw) << "a burst may be all that it was";
    const std::string hop = "node" + std::to_string(node) + " -> node" + std::to_string((node + 1) % 8);
    EXPECT_NE(reasons(d).find(hop), std::string::npos) << explain(d);
    EXPECT_EQ(d.verdict, Verdict::unknown);
  }
}

TEST(Partners, NeighbourOfASlowSenderIsNotBlamed) {
  Wires wires(8);
  wires.sends[3] *= 0.5;
  const Diagnosis d = wires.check();
  // In the ring as given, node4 receives from node3 alone, so that either may be to blame.
  EXPECT_EQ(scopes_of(d), Names{"sender node3"}) << explain(d);
  EXPECT_NEAR(d.rates[5][4]->value / Wires::full, 1, 0.04);
  std::set<int> before, repeats;
  for (const RunRecord& run : d.runs) {
    const auto& order = run.experiment.order;
    for (std::size_t i = 0; i < order.size() && run.experiment.algorithm == collective::AlgorithmId::pairwise;
         ++i) {
      if (order[i] != 3) continue;
      const int partner = order[(i + std::size_t(run.experiment.shift)) % order.size()];
      (run.stage == Stage::confirm ? repeats : before).insert(partner);
    }
  }
  EXPECT_EQ(before.size(), 7u);
  EXPECT_GE(repeats.size(), 2u) << explain(d);  // known-good, and changing from round to round
}

TEST(Partners, NodeThatWasDisturbedForAWhileIsExonerated) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Wires wires(8, seed);
    // Node5's machine is busy during all of the screening, and idle again during the repeats.
    wires.tamper = [&](Observation& o) {
      if (wires.asked.size() > 9) return;
      for (HopReading& hop : o.hops) {
        if (hop.source == 5 || hop.destination == 5) hop.busy = hop.busy / 0.75;
      }
    };
    const Diagnosis d = wires.check();
    ASSERT_EQ(scopes_of(d), Names{}) << explain(d);
    EXPECT_EQ(d.verdict, Verdict::healthy);
    EXPECT_GE(wires.asked.size(), 10u);
  }
}

TEST(HeldBack, ReceivingProgramIsNamedAndNotItsWire) {
  Wires wires(8);
  wires.tamper = [](Observation& o) {
    for (HopReading& hop : o.hops) {
      if (hop.destination != 6) continue;
      hop.busy = hop.busy / 0.6;
      hop.receiver_limited = hop.busy * 0.9;
    }
  };
  const Diagnosis d = wires.check();
  EXPECT_EQ(scopes_of(d), Names{"node node6"}) << explain(d);
  EXPECT_EQ(d.findings[0].kind, FindingKind::slow_compute);
  EXPECT_FALSE(d.rates[0][6]);  // nothing is known of the wire
}

TEST(HeldBack, NowAndThenIsToldSo) {
  Wires wires(8);
  wires.tamper = [&](Observation& o) {
    for (HopReading& hop : o.hops) {
      if (hop.destination != 6 || wires.asked.size() % 2 == 0) continue;
      hop.busy = hop.busy / 0.6;
      hop.receiver_limited = hop.busy * 0.9;
    }
  };
  const Diagnosis d = wires.check();
  EXPECT_EQ(scopes_of(d), Names{"node node6"}) << explain(d);
  EXPECT_EQ(d.findings[0].kind, FindingKind::slow_compute);
  EXPECT_EQ(d.findings[0].evidence[0].kind, StatementKind::receives_slowly_at_times) << explain(d);
}

TEST(LateAcknowledgement, OfShortMessagesIsNoSlowPath) {
  // A very slow port keeps all experiments with its node short.
  for (const double slow : {0.025, 0.05, 0.1}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Wires wires(4, seed);
      wires.receives[2] = slow * Wires::full;
      wires.tamper = [](Observation& o) {
        for (HopReading& hop : o.hops) {
          if (hop.source == 2 && hop.destination == 3) hop.busy += Seconds(0.04);
        }
      };
      const Diagnosis d = wires.check(false);
      EXPECT_EQ(scopes_of(d), Names{"receiver node2"}) << slow << explain(d);
      EXPECT_LT(d.cost.seconds.value, 16);
    }
  }
}

TEST(Errors, WhatWasProvenBeforeIsKept) {
  Wires healthy(8);
  healthy.fails_at = 5;
  const Diagnosis d = healthy.check();
  EXPECT_EQ(d.verdict, Verdict::unknown);
  ASSERT_TRUE(d.error);
  EXPECT_EQ(d.error->where, Subject("node2", Phase::run));
  EXPECT_EQ(d.coverage.pairs_measured, 16);
  // Lost while it repeats a milder fault, which needs more readings, after it has proven the grave one.
  Wires two(4, 3);
  two.sends[3] *= 0.5;
  two.receives[1] *= 0.91;
  EXPECT_EQ(scopes_of(Wires(two).check()), (Names{"receiver node1", "sender node3"}));
  int confirmed_at = 0;
  for (int at = 5; at < 30 && confirmed_at == 0; ++at) {
    Wires broken = two;
    broken.fails_at = at;
    const Diagnosis partial = broken.check();
    if (partial.error && partial.verdict == Verdict::faulty) {
      confirmed_at = at;
      EXPECT_EQ(scopes_of(partial), Names{"sender node3"}) << explain(partial);
    }
  }
  EXPECT_GT(confirmed_at, 0);
}

TEST(Errors, StopsWhenAskedTo) {
  Wires wires(8);
  Options options = wires.options();
  options.cancelled = [&] { return wires.asked.size() >= 3; };
  const Diagnosis d = run_check(wires, options);
  ASSERT_TRUE(d.error);
  EXPECT_EQ(d.error->cause, Cause::cancelled);
  EXPECT_EQ(wires.asked.size(), 3u);
}

TEST(Errors, OneNodeHasNoWire) {
  Wires wires(1);
  const Diagnosis d = wires.check();
  EXPECT_EQ(d.verdict, Verdict::unknown);
  EXPECT_TRUE(wires.asked.empty());
  EXPECT_EQ(exit_code(d.verdict), 3);
}

TEST(Errors, TraceWithoutHopsIsNotAPass) {
  Wires wires(4);
  wires.tamper = [](Observation& o) { o.hops.clear(); };
  const Diagnosis d = wires.check();
  EXPECT_EQ(d.verdict, Verdict::unknown);
  EXPECT_FALSE(d.expected.value && d.expected.origin == ideal::Origin::fleet_majority);
}

TEST(Time, IsKeptOnVerySlowAndVeryFastNetworks) {
  for (const double scale : {0.01, 0.1, 20.0, 200.0}) {
    Wires wires(8);
    for (auto* side : {&wires.sends, &wires.receives}) {
      for (double& rate : *side) rate *= scale;
    }
    wires.sends[2] *= 0.5;
    const Diagnosis d = wires.check(false);
    EXPECT_LT(d.cost.seconds.value, 18) << scale << explain(d);
    if (scale >= 0.1) {
      EXPECT_EQ(scopes_of(d), Names{"sender node2"}) << scale << explain(d);
    }
    for (const Experiment& e : wires.asked) EXPECT_LE(e.bytes.value, 256u << 20);
  }
}

TEST(Time, ABudgetThatIsTooShortIsNotAPassForTheUnmeasured) {
  Wires wires(16);
  Options options = wires.options();
  options.budget = Seconds(1.5);
  const Diagnosis d = run_check(wires, options);
  EXPECT_LT(d.cost.seconds.value, 2.2);
  EXPECT_LT(d.coverage.pairs_measured, d.coverage.pairs);
  EXPECT_NE(reasons(d).find("ordered pairs were measured"), std::string::npos);
}

// What decides takes longer than usual: more time is taken where nobody has set a limit, and told at once.
TEST(Time, FollowsFromWhatAReadingTakes) {
  for (const bool limited : {true, false}) {
    Wires wires(16);
    for (auto* side : {&wires.sends, &wires.receives})
      for (double& rate : *side) rate *= 0.4;
    wires.sends[6] *= 0.3;
    Options options = wires.options();
    options.link_rate.reset();
    if (!limited) options.budget_at_most = usual_budget_at_most;
    std::vector<double> told;
    options.on_budget = [&](Seconds budget, std::optional<Seconds>) {
      EXPECT_LT(wires.asked.size(), 3u);
      told.push_back(budget.value);
    };
    const Diagnosis d = run_check(wires, options);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(d.cost.budget.value, told[0]);
    if (limited) {
      EXPECT_EQ(told[0], 16);
    } else {
      EXPECT_GT(told[0], 20);
      EXPECT_LE(told[0], 60);
      EXPECT_EQ(scopes_of(d), Names{"sender node6"}) << explain(d);
    }
  }
}

TEST(Document, CountsItsCostAndNamesItsRuns) {
  Wires wires(4);
  std::vector<std::string> stages;
  Options options = wires.options();
  options.on_progress = [&](Stage stage, const std::string&, double used) {
    stages.emplace_back(key_of(stage));
    EXPECT_GE(used, 0);
    EXPECT_LE(used, 1);
  };
  const Diagnosis d = run_check(wires, options);
  EXPECT_EQ(d.cost.runs, int(wires.asked.size()));
  ASSERT_GE(stages.size(), 5u);
  EXPECT_EQ(Names(stages.begin(), stages.begin() + 3), (Names{"probe", "ring", "pairs"}));
  EXPECT_EQ(std::count(stages.begin(), stages.end(), "pairs"), std::ptrdiff_t(stages.size()) - 2);
  EXPECT_EQ(d.runs.size(), stages.size());
  EXPECT_NEAR(d.ring_busbw->value / Wires::full, 1, 0.1);
  EXPECT_GT(d.cost.bytes.value, 4u * 4 * 8'000'000);
  EXPECT_NE(d.expected.source.find("95.6 %"), std::string::npos) << d.expected.source;
  EXPECT_EQ(d.nodes, (Names{"node0", "node1", "node2", "node3"}));
}

// Every hop of a ring carries its busbw: pairs that all read far less were held up, and tell nothing.
TEST(Ring, ThatIsFarFasterThanAllPairsLeavesTheVerdictOpen) {
  for (const bool told : {false, true}) {
    Wires wires(4);
    wires.tamper = [](Observation& o) {
      if (o.experiment.algorithm == collective::AlgorithmId::ring) return;
      for (HopReading& hop : o.hops) hop.busy = Seconds(hop.busy.value * 5);
    };
    const Diagnosis d = wires.check(told);
    if (told) {
      EXPECT_NE(d.verdict, Verdict::healthy) << explain(d);
      continue;
    }
    EXPECT_EQ(d.verdict, Verdict::unknown) << explain(d);
    EXPECT_EQ(std::ranges::count(d.not_checked, StatementKind::fast_ring, &NotChecked::kind), 1)
        << explain(d);
  }
}

struct OnOneMachine : Wires {
  using Wires::Wires;
  Structure structure() const override {
    Structure out;
    out.one_machine = true;
    return out;
  }
};

// No switch is between daemons of one machine, and what is slow there may be its processors.
TEST(OneMachine, HasNoTrunksAndNothingThatIsSure) {
  const auto split = [](Wires& wires) {
    for (int x = 0; x < 6; ++x)
      for (int y = 0; y < 6; ++y)
        if (x / 3 != y / 3) wires.paths[{x, y}] = 0.5 * Wires::full;
  };
  const auto trunks = [](const Diagnosis& d) {
    return std::ranges::count_if(d.findings, [](const Finding& f) {
      return f.scope.type == ScopeType::trunk || f.scope.type == ScopeType::leaf;
    });
  };
  Wires apart(6);
  OnOneMachine together(6);
  split(apart), split(together);
  EXPECT_GT(trunks(apart.check()), 0) << explain(apart.check());
  EXPECT_EQ(trunks(together.check()), 0) << explain(together.check());
  OnOneMachine wires(6);
  wires.sends[2] *= 0.4;
  const Diagnosis d = wires.check();
  EXPECT_EQ(scopes_of(d), Names{"sender node2"}) << explain(d);
  for (const Finding& f : d.findings) EXPECT_LE(f.confidence, 0.7);
}

// A receiver that loses one packet in 2,000, as the senders' kernels count.
TEST(Retransmissions, AreToldAsAShareOfSegments) {
  for (const bool everywhere : {false, true}) {
    Wires wires(8);
    wires.receives[4] = 0.7 * Wires::full;
    wires.tamper = [&](Observation& o) {
      for (HopReading& hop : o.hops)
        if (everywhere || hop.destination == 4)
          hop.retransmits = std::uint64_t(double(hop.bytes.value) / 1448 / 2000);
    };
    const Diagnosis d = wires.check();
    ASSERT_EQ(scopes_of(d), Names{"receiver node4"}) << explain(d);
    std::string told;
    for (const std::string& line : report::sentences(d.findings[0].evidence))
      if (line.starts_with("retransmissions: ")) told += line;
    EXPECT_EQ(told.empty(), everywhere) << told;
    if (everywhere) continue;
    // Whole ones of each hop are counted, so that it is a little less than one in 2,000.
    EXPECT_THAT(told,
                testing::MatchesRegex("retransmissions: 0\\.0(5|4[0-9]*) % of segments towards node4 .*"));
    EXPECT_NE(told.find("elsewhere 0 %: packets are lost on the way"), std::string::npos) << told;
  }
}

TEST(Causes, AreNotToldWhereTheyAreUsual) {
  Wires wires(8);
  wires.receives[4] = 0.7 * Wires::full;
  wires.tamper = [](Observation& o) {
    for (HopReading& hop : o.hops) {
      hop.retransmits = std::uint64_t(double(hop.bytes.value) / 1448 / 2000);
      hop.sender_limited = hop.busy * 0.4;
    }
  };
  const Diagnosis d = wires.check();
  ASSERT_EQ(scopes_of(d), Names{"receiver node4"}) << explain(d);
  for (const Statement& s : d.findings[0].evidence) {
    EXPECT_NE(s.kind, StatementKind::resent);
    EXPECT_NE(s.kind, StatementKind::send_buffer_limited);
    EXPECT_NE(s.kind, StatementKind::window_limited);
  }
}

TEST(Causes, ASendBufferThatLimits) {
  Wires wires(8);
  wires.sends[2] = 0.6 * Wires::full;
  wires.tamper = [](Observation& o) {
    for (HopReading& hop : o.hops)
      if (hop.source == 2) hop.sender_limited = hop.busy * 0.8;
  };
  const Diagnosis d = wires.check();
  ASSERT_EQ(scopes_of(d), Names{"sender node2"}) << explain(d);
  EXPECT_THAT(
      report::sentences(d.findings[0].evidence),
      testing::Contains(testing::StartsWith("node2 was limited by its send buffer 80 % of the time")));
}

TEST(Causes, ASmallReceiveBufferIsNoSlowProgram) {
  Wires wires(8);
  wires.tamper = [](Observation& o) {
    for (HopReading& hop : o.hops) {
      if (hop.destination != 6) continue;
      hop.busy = hop.busy / 0.6;
      hop.receiver_limited = hop.busy * 0.9;
      hop.retransmits = 20;
    }
  };
  Diagnosis d = wires.check();
  ASSERT_EQ(scopes_of(d), Names{"node node6"}) << explain(d);
  EXPECT_THAT(report::sentences(d.findings[0].evidence),
              testing::Contains("senders were limited by the receive window 90 % of the time"));
  name_small_buffers({{"node5", 8192}, {"node6", 6 << 20}}, d);
  EXPECT_EQ(d.findings[0].kind, FindingKind::slow_compute) << "its buffers are as large as usual";
  name_small_buffers({{"node6", 8192}}, d);
  EXPECT_EQ(d.findings[0].kind, FindingKind::small_receive_buffer);
  EXPECT_EQ(scopes_of(d), Names{"receiver node6"});
  EXPECT_THAT(report::sentences(d.findings[0].evidence),
              testing::Contains(testing::HasSubstr("its TCP sockets receive into 8 KiB at most")));
  for (const Statement& s : d.findings[0].evidence) {
    EXPECT_NE(s.kind, StatementKind::program_holds_back);
    EXPECT_NE(s.kind, StatementKind::resent);
  }
  EXPECT_THAT(report::sentence(d.findings[0].next), testing::HasSubstr("on node6, raise the last number of"));
}

}  // namespace
}  // namespace ringtrue::diagnosis
