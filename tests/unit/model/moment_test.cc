#include "tui/model/moment.h"

#include <gtest/gtest.h>

#include "tui/model/board.h"
#include "tui/model/demo_fleet.h"
#include "tui/model/document.h"
#include "tui/model/model.h"

namespace ringtrue::tui {
namespace {

constexpr double day = 86400, now = 1'790'000'000;

std::shared_ptr<Moment> check_at(double when, bool slow) {
  const std::string text =
      std::string(R"({"schema": "ringtrue.check/1", "verdict": ")") + (slow ? "faulty" : "healthy") +
      R"(", "nodes": [{"node": "a", "failed_phase": null, "cause": null},
 {"node": "b", "failed_phase": null, "cause": null}, {"node": "c", "failed_phase": "lease", "cause": "connection refused"}],
 "expected": {"rate_Bps": 100.0, "of_most_Bps": null}, "cost": {"runs": 7, "seconds": 2.5, "bytes": 1000},
 "rate_Bps": [[null, )" +
      (slow ? "50, 52" : "100, 101") + R"(], [99, null, 98], [97, null, null]],
 "counters": [{"node": "b", "seconds": 60, "changes": [{"device": "mlx5_0/1", "counter": "symbol_error", "class": "error",
 "before": 1, "after": 3, "delta": 2, "saturated": false, "reset": false}]}],
 "findings": [)" +
      (slow ? R"({"severity": "critical", "kind": "slow-sender", "confidence": 0.9, "measured_Bps": 51,
 "expected_Bps": 100, "ratio": 0.51, "scope": {"type": "sender", "node": "a", "peer": null, "device": null},
 "evidence": ["it is"], "impact": "much", "next": "look", "command": "ringtrue check"})"
            : "") +
      "]}";
  const auto read = read_document(text, when, "a.json");
  EXPECT_TRUE(read) << (read ? "" : read.error().text());
  return std::make_shared<Moment>(*read->moment);
}

Moments story() {  // day by day; slow on the last three
  Moments out;
  for (int d = 6; d >= 0; --d) out.push_back(check_at(now - d * day, d < 3));
  return out;
}

TEST(Moment, ADocumentOfACheckIsReadAsItIs) {
  const auto m = check_at(now, true);
  EXPECT_EQ(m->level, Level::critical);
  EXPECT_EQ(m->nodes, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(m->silent.at("c"), "connection refused");
  ASSERT_EQ(m->findings.size(), 1u);
  EXPECT_EQ(m->findings[0].where, "a's sending side");
  EXPECT_EQ(m->text, "slow-sender: a's sending side");
  EXPECT_EQ(m->matrix->rate(0, 0, 1), 50);
  EXPECT_FALSE(m->matrix->rate(0, 1, 1));
  EXPECT_EQ(m->runs, 7);
}

TEST(Moment, WhatIsNoDocumentIsRefusedAndOddOnesAreUnknown) {
  EXPECT_EQ(schema_of("[1]"), "");
  EXPECT_EQ(schema_of(R"({"schema": "ringtrue.topo/1"})"), "topo");
  EXPECT_FALSE(read_document("", now, "x"));
  EXPECT_FALSE(read_document(R"({"schema": "ringtrue.check/1", )", now, "x"));
  EXPECT_FALSE(read_document(R"({"schema": "ringtrue.pki/1"})", now, "x"));
  for (const char* odd :
       {R"({"schema": "ringtrue.check/1"})",
        R"({"schema": "ringtrue.check/1", "nodes": 3, "rate_Bps": [[1]], "findings": [1, null, {}]})",
        R"({"schema": "ringtrue.check/1", "nodes": [{}, {"node": 5}], "rate_Bps": [1, [2]], "verdict": {}})",
        R"({"schema": "ringtrue.check/1", "cost": {"runs": 1e300}, "counters": [{"changes": [{}]}]})",
        R"({"schema": "ringtrue.run/1", "results": [{}, 1]})"}) {
    const auto read = read_document(odd, now, "x");
    ASSERT_TRUE(read) << odd;
    if (read->moment) Timeline({read->moment}).snapshot(-1, now);
  }
}

TEST(Timeline, TellsSinceWhenAndWhatCameAndWent) {
  const Timeline timeline(story());
  const Snapshot s = timeline.snapshot(-1, now + 60);
  ASSERT_EQ(s.findings.size(), 1u);
  EXPECT_EQ(s.findings[0].since, now - 2 * day);
  EXPECT_FALSE(s.as_of);
  ASSERT_EQ(s.history->marks.size(), 1u);
  EXPECT_EQ(s.history->marks[0].when, now - 2 * day);
  EXPECT_EQ(s.history->series[0].name, "a sends");
  const Snapshot before = timeline.snapshot(1, now);
  EXPECT_EQ(before.as_of, now - 5 * day);
  EXPECT_TRUE(before.findings.empty());
  EXPECT_EQ(before.level, Level::good);
  Moments repaired = story();
  repaired.push_back(check_at(now + day, false));
  EXPECT_EQ(Timeline(repaired).snapshot(-1, now).history->marks.back().text, "recovered: a's sending side");
  EXPECT_EQ(timeline.session_at(now - 2.5 * day), 3);
  EXPECT_EQ(timeline.session_at(0), -1);
}

// A group that lost a member goes on, and marks each node that is still in it.
TEST(Timeline, AGroupIsOfEachOfItsMembers) {
  const auto with = [](double when, std::vector<std::string> members) {
    auto m = check_at(when, true);
    m->findings[0].where = std::to_string(members.size());
    m->findings[0].node = members[0];
    m->findings[0].members = std::move(members);
    return m;
  };
  const Snapshot s = Timeline({with(now - day, {"a", "b", "c"}), with(now, {"a", "b"})}).snapshot(-1, now);
  ASSERT_EQ(s.findings.size(), 1u);
  EXPECT_EQ(s.findings[0].since, now - day);
  int marked = 0;
  for (const NodeRow& node : s.nodes) marked += !node.finding.empty();
  EXPECT_EQ(marked, 2);
  EXPECT_TRUE(s.findings[0].is_about("b"));
  EXPECT_FALSE(s.findings[0].is_about("c"));
}

TEST(Timeline, NodesHaveSidesDaysErrorsAndSilence) {
  const Snapshot s = Timeline(story()).snapshot(-1, now);
  ASSERT_EQ(s.nodes.size(), 3u);
  EXPECT_EQ(s.nodes[0].send, 52);  // the upper of two
  EXPECT_EQ(s.nodes[0].days.back(), 0.52);
  EXPECT_NEAR(*s.nodes[0].days[10], 0.99, 1e-6);  // what b sends it
  EXPECT_FALSE(s.nodes[0].days[0]);
  EXPECT_EQ(s.nodes[1].errors_per_hour, 120);
  EXPECT_FALSE(s.nodes[0].errors_per_hour);  // not read: not 0
  EXPECT_FALSE(s.nodes[2].answers);
  EXPECT_EQ(s.nodes[0].finding, "slow-sender 51 % (90 % sure)");
  EXPECT_EQ(s.counters[0].hour, 2);
  EXPECT_NEAR(*s.matrix->usual(0, 1), 100, 1);  // the baseline is of the sessions before
}

TEST(Demo, NamesItsFaultsAndIsTheSameForTheSameTime) {
  const auto healthy = demo_check("", now, 1);
  ASSERT_TRUE(healthy);
  EXPECT_EQ(healthy->verdict, "healthy");
  const auto faulty = demo_check(demo_faults(0, 0), now, 1);
  EXPECT_EQ(faulty->findings.at(0).where, "node5's sending side");
  const auto a = play_demo({now})->whole(Seconds(1)), b = play_demo({now})->whole(Seconds(1));
  EXPECT_EQ(a->nodes.size(), 32u);
  EXPECT_EQ(a->nodes[5].send, b->nodes[5].send);
  EXPECT_EQ(a->history->sessions.size(), b->history->sessions.size());
  EXPECT_EQ(a->nodes[13].answers, false);
}

TEST(Demo, AWatchedCheckTellsAsItGoesOnAndIsEnded) {
  Queue queue;
  const auto demo = play_demo({now});
  demo->start(queue);
  demo->launch({});
  SnapshotPtr seen;
  for (int i = 0; i < 200 && !(seen && seen->run.runs > 0); ++i) {
    queue.wait(100);
    if (auto next = queue.take()) seen = next;
  }
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->run.state, Run::State::running);
  ASSERT_TRUE(seen->run.matrix);
  EXPECT_EQ(seen->run.matrix->names.size(), 32u);
  demo->cancel();
  for (int i = 0; i < 200 && seen->run.state == Run::State::running; ++i) {
    queue.wait(100);
    if (auto next = queue.take()) seen = next;
  }
  EXPECT_EQ(seen->run.state, Run::State::cancelled);
}

TEST(Model, MomentsAreParsed) {
  EXPECT_EQ(*parse_moment("@1790000000", now), 1'790'000'000);
  EXPECT_EQ(*parse_moment("2d", now), now - 2 * day);
  EXPECT_EQ(*parse_moment("3h", now), now - 3 * 3600);
  EXPECT_NEAR(*parse_moment("2026-09-21 14:00", now), now, 2 * day);
  for (const char* bad : {"", "soon", "2026-13-45", "-3h", "@", "@nan"})
    EXPECT_FALSE(parse_moment(bad, now)) << bad;
}

}  // namespace
}  // namespace ringtrue::tui
