// A node that stops answering in the middle of a check costs itself alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/diagnosis/wires.h"

namespace ringtrue::diagnosis {
namespace {

std::vector<std::string> kinds_of(const Diagnosis& d) {
  Names out;
  for (const Finding& f : d.findings)
    if (f.severity != Severity::info) out.push_back(std::string(key_of(f.kind)) + " " + f.scope.subject.node);
  std::sort(out.begin(), out.end());
  return out;
}

// As many runs as a check of this fleet has.
int runs_of(Wires wires) {
  return wires.check().cost.runs;
}

// By run: whether the node takes part.
std::vector<bool> parts_of(Wires wires, int node) {
  (void)wires.check();
  std::vector<bool> out;
  for (const Experiment& e : wires.asked)
    out.push_back(std::find(e.order.begin(), e.order.end(), node) != e.order.end());
  return out;
}

TEST(DeadNode, AtAnyRunOfACheckIsNamedAlone) {
  for (const int nodes : {4, 8, 20}) {
    const auto takes_part = parts_of(Wires(nodes), nodes - 3);
    const int last = int(takes_part.rend() - std::find(takes_part.rbegin(), takes_part.rend(), true));
    for (int at = 1; at <= last; ++at) {
      Wires wires(nodes);
      wires.dies_at[nodes - 3] = at;
      const Diagnosis d = wires.check();
      EXPECT_EQ(kinds_of(d), Names{"dead-node node" + std::to_string(nodes - 3)}) << at << explain(d);
      EXPECT_EQ(d.verdict, Verdict::faulty) << at;
      EXPECT_FALSE(d.error) << at;
      EXPECT_EQ(wires.asked_of_dead, 1) << at << ": it was asked again";
    }
  }
}

// Its daemon is being upgraded: nothing is wrong with it, and all others are measured.
TEST(DeadNode, WhoseDaemonStopsIsNoFinding) {
  for (const bool beside_slow : {false, true}) {
    Wires alive(8);
    if (beside_slow) alive.sends[1] *= 0.5;
    const auto takes_part = parts_of(alive, 5);
    const int last = int(takes_part.rend() - std::find(takes_part.rbegin(), takes_part.rend(), true));
    for (int at = 1; at <= last; ++at) {
      Wires wires = alive;
      wires.dies_at[5] = at;
      wires.dies_of = Cause::stopping;
      const Diagnosis d = wires.check();
      EXPECT_EQ(kinds_of(d), beside_slow ? Names{"slow-sender node1"} : Names{}) << at << explain(d);
      EXPECT_EQ(d.verdict, beside_slow ? Verdict::faulty : Verdict::healthy) << at << explain(d);
      EXPECT_FALSE(d.error) << at;
      const auto stopping = std::count_if(d.not_checked.begin(), d.not_checked.end(), [](const Statement& s) {
        return s.kind == StatementKind::daemon_stopping && s.subjects[0].node == "node5";
      });
      EXPECT_EQ(stopping, 1) << at;
    }
  }
}

TEST(DeadNode, AtAnyRunBesideASlowNode) {
  for (const int nodes : {4, 8}) {
    Wires slow(nodes);
    slow.sends[1] *= 0.5;
    const int runs = runs_of(slow);
    for (int at = 1; at <= runs; ++at) {
      Wires wires = slow;
      wires.dies_at[nodes - 1] = at;
      const Diagnosis d = wires.check();
      EXPECT_EQ(kinds_of(d), (Names{"dead-node node" + std::to_string(nodes - 1), "slow-sender node1"}))
          << nodes << " nodes, run " << at << explain(d);
      EXPECT_LE(d.cost.seconds.value, 17) << at;
    }
  }
}

// What is slow for good is named although the dead one took the time for it.
TEST(DeadNode, TakesNoTimeFromASlowNode) {
  Wires slow(8);
  slow.sends[1] *= 0.5;
  const Diagnosis whole = Wires(slow).check();
  const auto confirms = std::count_if(whole.runs.begin(), whole.runs.end(),
                                      [](const auto& run) { return run.stage == Stage::confirm; });
  ASSERT_GT(confirms, 0);
  const int at = int(whole.runs.size() - std::size_t(confirms)) + 1;
  Wires wires = slow;
  wires.dies_at[7] = at;
  Options options = wires.options();
  options.budget = whole.cost.seconds;  // nothing is left after the 4 s
  options.budget_at_most = usual_budget_at_most;
  const Diagnosis d = run_check(wires, options);
  EXPECT_EQ(kinds_of(d), (Names{"dead-node node7", "slow-sender node1"})) << explain(d);
}

TEST(DeadNode, ThatWasSlowIsDeadAndNothingElse) {
  Wires slow(8);
  slow.sends[3] *= 0.3;
  slow.receives[3] *= 0.3;
  const int runs = runs_of(slow);
  for (int at = 1; at <= runs; ++at) {
    Wires wires = slow;
    wires.dies_at[3] = at;
    const Diagnosis d = wires.check();
    EXPECT_EQ(kinds_of(d), Names{"dead-node node3"}) << at << explain(d);
    EXPECT_FALSE(d.error) << at;
  }
}

TEST(DeadNode, SaysWhatItDidLast) {
  Wires wires(8);
  wires.dies_at[5] = 6;
  const Diagnosis d = wires.check();
  ASSERT_EQ(d.findings.size(), 1u);
  const auto said = report::sentences(d.findings[0].evidence);
  EXPECT_THAT(said, testing::Contains("node5 run: no answer for 4.0 s"));
  EXPECT_THAT(said,
              testing::Contains(testing::HasSubstr("the last run that it completed was of the stage pairs")));
}

TEST(DeadNode, IsNobodyWhereNoRunCompletesWithoutIt) {
  // Tests of two nodes show that their partner is silent, and nothing completes after them.
  Wires slow(8);
  slow.sends[3] *= 0.3;
  slow.receives[3] *= 0.3;
  const Diagnosis whole = Wires(slow).check();
  int two = 0;
  for (std::size_t i = 0; i < whole.runs.size(); ++i) {
    if (whole.runs[i].stage != Stage::one_way) continue;
    class Cut : public Wires {
     public:
      explicit Cut(const Wires& wires, int at) : Wires(wires), at_(at) {}
      Result<Observation> measure(const Experiment& e) override {
        if (int(asked.size()) + 1 < at_) return Wires::measure(e);
        asked.push_back(e);
        return fail(Cause::peer_lost, "no answer for 4.0 s",
                    int(asked.size()) == at_ ? name(e.order[0]) : "");
      }

     private:
      int at_;
    } cut(slow, int(i) + 1);
    const Diagnosis d = cut.check();
    ASSERT_TRUE(d.error);
    for (const Finding& f : d.findings) EXPECT_NE(f.kind, FindingKind::dead_node) << explain(d);
    ++two;
  }
  EXPECT_GT(two, 0);
}

TEST(DeadNode, IsProvenByARunOfTheOthersAtLast) {
  Wires slow(8);
  slow.sends[3] *= 0.3;
  slow.receives[3] *= 0.3;
  const Diagnosis whole = Wires(slow).check();
  for (std::size_t i = 0; i < whole.runs.size(); ++i) {
    if (whole.runs[i].stage != Stage::one_way) continue;
    Wires wires = slow;
    wires.dies_at[whole.runs[i].experiment.order[0]] = int(i) + 1;
    const Diagnosis d = wires.check();
    EXPECT_FALSE(d.error);
    ASSERT_FALSE(d.runs.empty());
    EXPECT_GT(d.runs.back().experiment.order.size(), 1u);
    EXPECT_EQ(std::count_if(d.findings.begin(), d.findings.end(),
                            [](const Finding& f) { return f.kind == FindingKind::dead_node; }),
              1)
        << explain(d);
  }
}

TEST(DeadNode, ASecondOneIsNamedToo) {
  Wires wires(8);
  wires.dies_at[2] = 3;
  wires.dies_at[6] = 7;
  wires.receives[0] *= 0.5;
  const Diagnosis d = wires.check();
  EXPECT_EQ(kinds_of(d), (Names{"dead-node node2", "dead-node node6", "slow-receiver node0"})) << explain(d);
}

}  // namespace
}  // namespace ringtrue::diagnosis
