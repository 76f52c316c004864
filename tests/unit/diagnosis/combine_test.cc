#include "diagnosis/findings/combine.h"

#include <gtest/gtest.h>

namespace ringtrue::diagnosis {
namespace {

Finding finding(Severity severity, FindingKind kind, const std::string& node) {
  Finding f;
  f.severity = severity;
  f.kind = kind;
  f.scope.type = ScopeType::gpu;
  f.scope.node = 7;
  f.scope.subject.node = node;
  return f;
}

Verdict combined(Verdict measured, std::optional<Severity> seen) {
  Diagnosis d;
  d.verdict = measured;
  Inspection inspection;
  if (seen) inspection.findings = {finding(*seen, FindingKind::gpu_lost, "a")};
  combine(d, std::move(inspection));
  return d.verdict;
}

TEST(Combine, TakesTheWorseVerdict) {
  using enum Verdict;
  EXPECT_EQ(combined(healthy, {}), healthy);
  EXPECT_EQ(combined(healthy, Severity::info), healthy);
  EXPECT_EQ(combined(healthy, Severity::warning), degraded);
  EXPECT_EQ(combined(healthy, Severity::critical), faulty);
  EXPECT_EQ(combined(degraded, Severity::info), degraded);
  EXPECT_EQ(combined(degraded, Severity::critical), faulty);
  EXPECT_EQ(combined(faulty, Severity::warning), faulty);
  EXPECT_EQ(combined(unknown, {}), unknown);
  EXPECT_EQ(combined(unknown, Severity::warning), unknown);
  EXPECT_EQ(combined(unknown, Severity::critical), faulty);
}

TEST(Combine, PutsTheWorstFirstAndMeasuredOnesBeforeOthers) {
  Diagnosis d;
  d.nodes = {"b", "a"};
  d.findings = {finding(Severity::warning, FindingKind::slow_node, "a")};
  d.not_checked = {StatementKind::no_wire};
  Inspection inspection;
  inspection.findings = {finding(Severity::critical, FindingKind::gpu_lost, "a"),
                         finding(Severity::warning, FindingKind::gpu_lost, "elsewhere")};
  inspection.not_checked = {StatementKind::alike_directions};
  combine(d, std::move(inspection));
  ASSERT_EQ(d.findings.size(), 3u);
  EXPECT_EQ(d.findings[0].severity, Severity::critical);
  EXPECT_EQ(d.findings[0].scope.node, 1);  // as this diagnosis counts its nodes
  EXPECT_EQ(d.findings[1].kind, FindingKind::slow_node);
  EXPECT_EQ(d.findings[2].scope.node, -1);
  EXPECT_EQ(d.not_checked.size(), 2u);
}

}  // namespace
}  // namespace ringtrue::diagnosis
