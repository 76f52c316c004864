#include "diagnosis/findings/groups.h"

#include <gtest/gtest.h>

namespace ringtrue::diagnosis {
namespace {

Finding slow(int at, double ratio, ScopeType type = ScopeType::sender) {
  Finding f;
  f.severity = Severity::critical;
  f.kind = slow_kind(type);
  f.scope.type = type;
  f.scope.node = at;
  f.scope.subject = "node" + std::to_string(at);
  f.measured = BytesPerSecond(ratio * 1e9);
  f.expected = BytesPerSecond(1e9);
  f.ratio = ratio;
  f.confidence = 0.99 - at * 0.01;
  f.evidence = {StatementKind::send_rate};
  f.impact = {StatementKind::repair_together, {}, {{"from_Bps", 3e8}, {"to_Bps", 1e9}}};
  return f;
}

TEST(Groups, NodesThatAreSlowAlikeAreOneFindingWithItsMembers) {
  const auto found = with_groups({slow(2, 0.30), slow(0, 0.31), slow(1, 0.33)});
  ASSERT_EQ(found.size(), 1u);
  const Finding& f = found[0];
  EXPECT_EQ(f.kind, FindingKind::slow_sender);
  EXPECT_EQ(f.scope.subject.node, "node[0-2]");
  EXPECT_EQ(f.scope.node, -1);
  ASSERT_EQ(f.members.size(), 3u);
  EXPECT_EQ(f.members[0].scope.subject.node, "node2");
  EXPECT_DOUBLE_EQ(*f.ratio, 0.30);
  EXPECT_DOUBLE_EQ(f.confidence, 0.97);
  EXPECT_EQ(f.evidence[0].kind, StatementKind::slow_alike);
  EXPECT_EQ(f.evidence[1].kind, StatementKind::send_rate);
}

TEST(Groups, WhatIsGainedIsByTheRepairOfAllMembers) {
  const auto alone = with_groups({slow(2, 0.30), slow(0, 0.31), slow(1, 0.33)});
  EXPECT_EQ(alone[0].impact.kind, StatementKind::repair);
  const auto beside = with_groups({slow(2, 0.30), slow(0, 0.31), slow(1, 0.33), slow(7, 0.7)});
  ASSERT_EQ(beside.size(), 2u);
  EXPECT_EQ(beside[0].impact.kind, StatementKind::repair_together);
  EXPECT_TRUE(beside[1].members.empty());
}

TEST(Groups, TwoNodesAreTwoFindings) {
  EXPECT_EQ(with_groups({slow(2, 0.30), slow(0, 0.30)}).size(), 2u);
}

TEST(Groups, WhatDiffersStaysApartAndInOrder) {
  Finding at_times = slow(3, 0.3), of_rail = slow(4, 0.3);
  at_times.evidence = {StatementKind::sends_slowly_at_times};
  of_rail.scope.subject.device = "rail 1";
  const auto found = with_groups({slow(0, 0.30), at_times, slow(1, 0.3, ScopeType::receiver), of_rail,
                                  slow(2, 0.45), slow(5, 0.36), slow(6, 0.39)});
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0].members.size(), 3u);
  EXPECT_EQ(found[1].scope.subject.node, "node3");
  EXPECT_EQ(found[2].scope.type, ScopeType::receiver);
  EXPECT_EQ(found[3].scope.subject.node, "node4");
  EXPECT_EQ(found[4].scope.subject.node, "node2");
}

TEST(Groups, PathsAndDeadNodesAreNone) {
  Finding dead = slow(0, 0, ScopeType::node);
  dead.kind = FindingKind::dead_node;
  const Finding path = slow(0, 0.3, ScopeType::path);
  EXPECT_EQ(with_groups({dead, dead, dead, path, path, path}).size(), 6u);
  EXPECT_TRUE(with_groups({}).empty());
}

}  // namespace
}  // namespace ringtrue::diagnosis
