// The two halves of a check by themselves: a verdict from evidence, and what the planner asks for.
#include "diagnosis/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/plan/planner.h"
#include "tests/unit/diagnosis/wires.h"

namespace ringtrue::diagnosis {
namespace {

std::vector<std::string> names(int nodes) {
  std::vector<std::string> out;
  for (int i = 0; i < nodes; ++i) out.push_back("node" + std::to_string(i));
  return out;
}

// Every pair of eight nodes, `times` each; node 3 sends at `share` of what the others do.
Evidence all_pairs(int times, double share) {
  constexpr int n = 8;
  constexpr double full = 1e9;
  Evidence out(names(n), 1448);
  for (int run = 0; run < times * (n - 1); ++run) {
    Observation o;
    o.experiment.algorithm = collective::AlgorithmId::pairwise;
    for (int x = 0; x < n; ++x) {
      HopReading hop;
      hop.source = x, hop.destination = (x + 1 + run % (n - 1)) % n;
      hop.bytes = Bytes(200'000'000);
      hop.busy = Seconds(0.2 / (x == 3 ? share : 1) * full / 1e9);
      o.hops.push_back(hop);
      o.experiment.order.push_back(x);
    }
    o.time = Seconds(0.2);
    ++out.cost.runs;
    out.add({Stage::pairs, "", o.experiment}, o);
    out.readings.add(o, out.cost.runs, run >= n - 1);
  }
  return out;
}

std::vector<std::string> kinds_of(const Diagnosis& d) {
  std::vector<std::string> out;
  for (const Finding& f : d.findings) out.push_back(std::string(key_of(f.kind)) + " " + f.scope.subject.node);
  return out;
}

TEST(Diagnose, NamesWhatReadingsFromAnywhereShow) {
  const Evidence slow = all_pairs(3, 0.6);
  const Diagnosis d = diagnose(slow, {}, {});
  EXPECT_THAT(kinds_of(d), testing::ElementsAre("slow-sender node3")) << explain(d);
  EXPECT_EQ(d.verdict, Verdict::faulty);
  EXPECT_NEAR(*d.findings.at(0).ratio, 0.6, 0.01);
  EXPECT_EQ(d.cost.runs, 21);

  const Diagnosis fine = diagnose(all_pairs(3, 1), {}, {});
  EXPECT_TRUE(fine.findings.empty()) << explain(fine);
  EXPECT_EQ(fine.verdict, Verdict::healthy);
}

TEST(Diagnose, IsAFunctionOfItsArguments) {
  const Evidence slow = all_pairs(3, 0.6);
  EXPECT_EQ(explain(diagnose(slow, {}, {})), explain(diagnose(slow, {}, {})));
  Standards declared;  // of which this is all that can be had
  declared.link_rate = BytesPerSecond(0.6e9 * 1514 / 1448);
  const Diagnosis d = diagnose(slow, {}, declared);
  EXPECT_THAT(kinds_of(d), testing::Contains("above-link-rate ")) << explain(d);
  EXPECT_EQ(explain(diagnose(slow, {}, {})), explain(diagnose(slow, {}, {})));
}

TEST(Diagnose, SaysOfNoEvidenceThatNothingIsKnown) {
  const Diagnosis d = diagnose(Evidence(names(8), 1448), {}, {});
  EXPECT_TRUE(d.findings.empty());
  EXPECT_EQ(d.verdict, Verdict::unknown);
}

TEST(Diagnose, LeavesWhatADeadNodeReadAlone) {
  Evidence evidence = all_pairs(3, 0.6);
  evidence.dead.push_back({3, Error{Cause::peer_lost, "no answer", Subject("node3"), {}}});
  EXPECT_THAT(kinds_of(diagnose(evidence, {}, {})), testing::ElementsAre("dead-node node3"));
}

// A check by hand.
struct ByHand {
  explicit ByHand(Wires& wires)
      : evidence(names(wires.nodes()), 1448),
        planner(evidence, wires.structure(), wires.options(), wires.ranks_a_node()) {}
  Evidence evidence;
  Planner planner;
};

TEST(Planner, AsksForTheSameUntilItIsAnswered) {
  Wires wires(8);
  ByHand check(wires);
  const Step* first = check.planner.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->stage, Stage::probe);
  EXPECT_EQ(check.planner.next(), first);
  EXPECT_EQ(check.evidence.cost.runs, 0);
  check.planner.answer(*wires.measure(first->experiment));
  ASSERT_TRUE(check.planner.next());
  EXPECT_EQ(check.evidence.cost.runs, 1);
  EXPECT_EQ(check.planner.next()->stage, Stage::ring);
}

TEST(Planner, AndDiagnoseMakeTheCheck) {
  for (const int nodes : {2, 8, 40}) {
    Wires wires(nodes);
    wires.sends[1] *= 0.5;
    Wires same = wires;
    ByHand by_hand(wires);
    while (const Step* step = by_hand.planner.next())
      by_hand.planner.answer(*wires.measure(step->experiment));
    EXPECT_EQ(by_hand.planner.next(), nullptr);
    const Diagnosis d = diagnose(by_hand.evidence, by_hand.planner.fabric(), standards_of(wires.options()));
    EXPECT_EQ(explain(d), explain(same.check())) << nodes;
    EXPECT_EQ(wires.asked.size(), same.asked.size()) << nodes;
  }
}

TEST(Planner, GoesOnWithoutTheNodeThatAnErrorNames) {
  Wires wires(8);
  ByHand check(wires);
  ASSERT_TRUE(check.planner.next());
  check.planner.failed(Error{Cause::peer_lost, "no answer", Subject("node2", Phase::run), {}}, true);
  const Step* next = check.planner.next();
  ASSERT_TRUE(next);
  EXPECT_THAT(next->experiment.order, testing::Not(testing::Contains(2)));
  EXPECT_EQ(next->experiment.order.size(), 7u);
  EXPECT_TRUE(check.evidence.is_dead(2));
}

TEST(Planner, EndsWhereNothingCanGoOn) {
  Wires wires(8);
  ByHand check(wires);
  ASSERT_TRUE(check.planner.next());
  check.planner.failed(Error{Cause::peer_lost, "no answer", Subject("node2", Phase::run), {}}, false);
  EXPECT_EQ(check.planner.next(), nullptr);
  ASSERT_TRUE(check.evidence.error);
  EXPECT_EQ(check.evidence.error->where.node, "node2");
  EXPECT_FALSE(check.evidence.is_dead(2)) << "this side may be the one that reaches nobody";
}

TEST(Planner, AsksNothingOfOneNode) {
  Wires wires(1);
  ByHand check(wires);
  EXPECT_EQ(check.planner.next(), nullptr);
}

}  // namespace
}  // namespace ringtrue::diagnosis
