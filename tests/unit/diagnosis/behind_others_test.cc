// Others' traffic the other way: what acknowledgements and round trips wait behind.
#include <gtest/gtest.h>

#include <map>

#include "diagnosis/infer/inference.h"
#include "diagnosis/infer/late.h"
#include "diagnosis/infer/readings.h"

namespace ringtrue::diagnosis {
namespace {

constexpr double full = 100e6;

HopReading hop_of(int source, int destination, double share) {
  HopReading hop;
  hop.source = source, hop.destination = destination;
  hop.bytes = Bytes(100'000'000);
  hop.busy = Seconds(1e8 / (share * full));
  return hop;
}

Readings readings_of(const Observation& seen) {
  Readings out(3);
  out.add(seen, 0, true);
  return out;
}

// Node 1 sends to node 2 and receives from node 0, beside what it receives for others.
Reading of_node1(double sends, double receives, double others) {
  Observation seen;
  seen.hops = {hop_of(1, 2, sends), hop_of(0, 1, receives)};
  seen.others[1].receives = others * full;
  return readings_of(seen).of(1, 2).front();
}

TEST(BehindOthers, APortThatIsFullTheOtherWayExplainsASlowSender) {
  const Reading r = of_node1(0.7, 0.4, 0.6);
  EXPECT_TRUE(r.waits_for_others());
  EXPECT_FALSE(r.counts());
  EXPECT_FALSE(r.counts_for(Direction::sends));
}

TEST(BehindOthers, AcknowledgementsThatWaitTakeUpTo70Percent) {
  EXPECT_FALSE(of_node1(0.33, 0.7, 0.3).counts());
}

TEST(BehindOthers, APortWithRoomDoesNot) {
  EXPECT_TRUE(of_node1(0.7, 0.1, 0.3).counts());
}

TEST(BehindOthers, ItsOwnTrafficAloneDoesNot) {
  EXPECT_TRUE(of_node1(0.7, 0.9, 0).counts());
  EXPECT_TRUE(of_node1(0.7, 0.9, 0.1).counts()) << "of which others have little";
}

TEST(BehindOthers, NorASenderThatIsFarSlower) {
  EXPECT_TRUE(of_node1(0.2, 0.4, 0.6).counts());
}

TEST(BehindOthers, WhatTheReceiverSendsForOthersCountsAsWell) {
  Observation seen;
  seen.hops = {hop_of(1, 2, 0.7), hop_of(2, 0, 0.4)};
  seen.others[2].sends = 0.6 * full;
  EXPECT_FALSE(readings_of(seen).of(1, 2).front().counts());
}

TEST(BehindOthers, HoldsForAnOlderGenerationToo) {
  Observation seen;
  seen.hops = {hop_of(1, 2, 0.35), hop_of(0, 1, 0.2)};
  seen.others[1].receives = 0.3 * full;
  const std::vector<double> levels = {1, 0.5, 1};
  EXPECT_TRUE(readings_of(seen).evened(levels, levels).of(1, 2).front().waits_for_others());
}

// Node 3 answers last; in the other experiments others fill its port with this share of what its hop has.
std::vector<Late> late_of(double others) {
  Latencies latencies;
  for (int run = 0; run < 6; ++run) {
    Observation seen;
    for (int x = 0; x < 4; ++x)
      for (int y = x + 1; y < 4; ++y) {
        HopReading hop = hop_of(x, y, 0.5);
        if (run % 2 == 0) hop.bytes = Bytes(64);  // of round trips alone
        hop.latency = Seconds(y == 3 ? 5e-3 : 10e-6);
        seen.hops.push_back(hop);
      }
    if (run % 2) seen.others[3].receives = others * 0.5 * full;
    latencies.add(seen, run);
  }
  return latencies.late({}, 4);
}

TEST(BehindOthers, WhoAnswersLateBehindOthersTrafficIsNotNamed) {
  ASSERT_EQ(late_of(0).size(), 1u);
  EXPECT_EQ(late_of(0).front().node, 3);
  EXPECT_EQ(late_of(0.2).size(), 1u) << "little of it keeps nothing waiting";
  EXPECT_TRUE(late_of(0.5).empty()) << "a third of the port, and all of it where the check pauses";
  EXPECT_TRUE(late_of(1).empty());
}

// Six nodes in every company; node 5 receives 0.4 for others, and sends no more than that itself.
struct BesideSlowSender {
  BesideSlowSender() {
    for (int shift = 1; shift < nodes; ++shift) {
      Observation seen;
      for (int x = 0; x < nodes; ++x)
        seen.hops.push_back(hop_of(x, (x + shift) % nodes,
                                   x == 5                     ? 0.4
                                   : (x + shift) % nodes == 5 ? 0.6
                                                              : 1));
      add(readings, seen, shift);
    }
  }
  // One direction at a time with `other`.
  void measure_alone(int other, double sends, int run) {
    Observation seen;
    seen.experiment.algorithm = collective::AlgorithmId::naive;
    seen.hops = {hop_of(5, other, sends), hop_of(other, 5, 0.6)};
    add(alone, seen, run);
  }
  Inference inference() const { return infer(readings, alone, std::nullopt, std::nullopt, {}); }

  static constexpr int nodes = 6;
  Readings readings{nodes}, alone{nodes};

 private:
  static void add(Readings& to, Observation& seen, int run) {
    seen.others[5].receives = 0.38 * full;
    to.add(seen, run, true);
  }
};

TEST(BehindOthers, ASideThatOnlyEverWaitedIsToBeMeasuredAlone) {
  BesideSlowSender fleet;
  EXPECT_TRUE(fleet.inference().is_waiting(5));
  EXPECT_EQ(fleet.inference().find(ScopeType::sender, 5), nullptr);
}

TEST(BehindOthers, AloneItIsSlowOrIsNot) {
  BesideSlowSender slow, fine;
  for (int other = 0; other < 5; ++other) slow.measure_alone(other, 0.4, 10 + other);
  for (int other = 0; other < 5; ++other) fine.measure_alone(other, 1, 10 + other);
  const Inference told = slow.inference();
  const Suspect* sender = told.find(ScopeType::sender, 5);
  ASSERT_NE(sender, nullptr);
  EXPECT_TRUE(sender->confirmed);
  EXPECT_EQ(fine.inference().find(ScopeType::sender, 5), nullptr);
}

TEST(BehindOthers, TwoNodesDoNoMoreThanAHopOfTheirsHasCarried) {
  Observation seen;
  seen.experiment.algorithm = collective::AlgorithmId::naive;
  seen.hops = {hop_of(0, 1, 0.6), hop_of(1, 0, 0.9)};
  seen.others[0].sends = seen.others[1].receives = 0.7 * full;  // most of it in the other hop's turn
  Readings readings(2);
  readings.add(seen, 0, true);
  const Inference inference = infer(readings, Readings(2), std::nullopt, std::nullopt, {});
  EXPECT_NEAR(inference.sends[0].value_or(0), 0.9 * full, 0.01 * full);
}

}  // namespace
}  // namespace ringtrue::diagnosis
