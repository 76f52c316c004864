#include "diagnosis/infer/time_to_detect.h"
#include "report/text/wording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringtrue::diagnosis {
namespace {

Finding slow(FindingKind kind, int node, Severity severity = Severity::critical) {
  Finding out;
  out.kind = kind;
  out.scope.node = node;
  out.severity = severity;
  return out;
}

TEST(TimeToDetect, CountFromTheRunSinceWhichAFindingStands) {
  TimeToDetect detected;
  detected.note({}, 2);
  detected.note({slow(FindingKind::slow_sender, 3)}, 4);
  detected.note({slow(FindingKind::slow_sender, 3), slow(FindingKind::slow_receiver, 5)}, 5);
  std::vector<Finding> findings = {slow(FindingKind::slow_sender, 3), slow(FindingKind::slow_receiver, 5),
                                   slow(FindingKind::slow_sender, 6)};
  detected.tell(findings, 7);
  EXPECT_EQ(findings[0].proven_after, 4);
  EXPECT_EQ(findings[1].proven_after, 5);
  EXPECT_EQ(findings[2].proven_after, 7) << "new at the end";
  EXPECT_THAT(report::sentences(findings[0].evidence), testing::ElementsAre("proven after 4 of 7 runs"));
  EXPECT_THAT(report::sentences(findings[2].evidence), testing::ElementsAre("proven after 7 runs"));
}

TEST(TimeToDetect, BeginAnewWhereAFindingFell) {
  TimeToDetect detected;
  detected.note({slow(FindingKind::slow_sender, 3)}, 4);
  detected.note({}, 5);
  detected.note({slow(FindingKind::slow_sender, 3)}, 6);
  std::vector<Finding> findings = {slow(FindingKind::slow_sender, 3)};
  detected.tell(findings, 6);
  EXPECT_EQ(findings[0].proven_after, 6);
}

TEST(TimeToDetect, AreOfFindingsAlone) {
  TimeToDetect detected;
  detected.note({slow(FindingKind::counter_saturated, 3, Severity::info)}, 4);
  std::vector<Finding> findings = {slow(FindingKind::counter_saturated, 3, Severity::info)};
  detected.tell(findings, 6);
  EXPECT_EQ(findings[0].proven_after, 0);
  EXPECT_TRUE(findings[0].evidence.empty());
}

}  // namespace
}  // namespace ringtrue::diagnosis
