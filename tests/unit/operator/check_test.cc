#include "operator/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scripted.h"

namespace ringtrue::ops {
namespace {

using testing::HasSubstr;

CheckRequest request_of(Scene& scene) {
  CheckRequest request;
  request.setup = scene.setup();
  request.setup.config.link_rate.value = BytesPerSecond(105e6);  // 95.6 % of which are 100.4 MB/s
  return request;
}

TEST(Check, FindsNothingInAHealthyFleet) {
  Scene scene;
  const auto document = check(request_of(scene), scene.control);
  ASSERT_TRUE(document) << document.error().error.text();
  EXPECT_FALSE(document->error);
  EXPECT_EQ(document->diagnosis.verdict, diagnosis::Verdict::healthy);
  EXPECT_EQ(document->transport, "tcp");
  EXPECT_EQ(document->diagnosis.nodes.size(), 4u);
  for (const auto& told : scene.told<progress::Suspects>()) EXPECT_TRUE(told.suspects.empty());
  // The exchange that settles the transport is no run of the check's.
  EXPECT_EQ(scene.told<progress::Reading>().size(), scene.fleet.played.size());
  EXPECT_EQ(scene.told<progress::Experiment>().size() + 1, scene.fleet.played.size());
}

TEST(Check, NamesASlowSenderAndTellsItsSuspectsMeanwhile) {
  Scene scene;
  scene.fleet.nodes = 6;
  scene.fleet.sends[2] = 0.5;
  const auto document = check(request_of(scene), scene.control);
  ASSERT_TRUE(document);
  ASSERT_EQ(document->diagnosis.findings.size(), 1u);
  const diagnosis::Finding& finding = document->diagnosis.findings[0];
  EXPECT_EQ(finding.kind, diagnosis::FindingKind::slow_sender);
  EXPECT_EQ(finding.scope.subject.node, "node2");
  EXPECT_EQ(document->diagnosis.verdict, diagnosis::Verdict::faulty);

  const auto told = scene.told<progress::Suspects>();
  ASSERT_FALSE(told.empty());
  ASSERT_FALSE(told.front().suspects.empty());
  EXPECT_FALSE(told.front().suspects[0].confirmed);
  ASSERT_EQ(told.back().suspects.size(), 1u);
  EXPECT_EQ(told.back().suspects[0].scope.text(), finding.scope.text());
  EXPECT_EQ(told.back().suspects[0].confidence, finding.confidence);
  EXPECT_TRUE(told.back().suspects[0].confirmed);
}

TEST(Check, TellsHowFarItIs) {
  Scene scene;
  ASSERT_TRUE(check(request_of(scene), scene.control));
  double used = 0;
  for (const auto& experiment : scene.told<progress::Experiment>()) {
    EXPECT_FALSE(experiment.what.empty());
    EXPECT_GE(experiment.budget_used, used);
    used = experiment.budget_used;
  }
  std::uint64_t runs = 0, bytes = 0;
  for (const auto& reading : scene.told<progress::Reading>()) {
    EXPECT_EQ(reading.runs, ++runs);
    EXPECT_GT(reading.bytes, bytes);
    bytes = reading.bytes;
  }
}

TEST(Check, CannotTellWhenItIsStopped) {
  Scene scene;
  scene.stop_at(3);
  const auto document = check(request_of(scene), scene.control);
  ASSERT_TRUE(document);
  ASSERT_TRUE(document->error);
  EXPECT_EQ(document->error->error.cause, Cause::cancelled);
  EXPECT_EQ(document->diagnosis.verdict, diagnosis::Verdict::unknown);
  EXPECT_EQ(scene.fleet.played.size(), 4u);
}

TEST(Check, KeepsTheErrorOfARunAndWhoCausedIt) {
  Scene scene;
  scene.fleet.dead = 1;
  const auto document = check(request_of(scene), scene.control);
  ASSERT_TRUE(document);
  ASSERT_TRUE(document->error);
  ASSERT_EQ(document->error->failures.size(), 1u);
  EXPECT_EQ(document->error->failures[0].node, "node1");
  EXPECT_EQ(document->diagnosis.verdict, diagnosis::Verdict::unknown);
}

TEST(Check, GoesOnWithoutADeadNodeAndNamesASlowOneBesideIt) {
  // Before the exchange that settles the transport, with it, and later.
  for (const int from : {0, 1, 2, 4, 7}) {
    Scene scene;
    scene.fleet.nodes = 8;
    scene.fleet.sends[2] = 0.5;
    scene.fleet.dead = 5;
    scene.fleet.dead_from = from;
    scene.fleet.outlives = true;
    const auto document = check(request_of(scene), scene.control);
    ASSERT_TRUE(document);
    EXPECT_FALSE(document->error) << from;
    EXPECT_EQ(document->diagnosis.verdict, diagnosis::Verdict::faulty);
    std::vector<std::string> found;
    for (const diagnosis::Finding& f : document->diagnosis.findings)
      found.push_back(std::string(key_of(f.kind)) + " " + f.scope.subject.node);
    EXPECT_THAT(found, testing::UnorderedElementsAre("dead-node node5", "slow-sender node2")) << from;
  }
}

TEST(Check, CannotTellWithOneNodeLeft) {
  Scene scene;
  scene.fleet.nodes = 2;
  scene.fleet.dead = 1;
  scene.fleet.outlives = true;
  const auto document = check(request_of(scene), scene.control);
  ASSERT_TRUE(document);
  ASSERT_TRUE(document->error);
  EXPECT_EQ(document->error->error.where.node, "node1");
  EXPECT_EQ(document->diagnosis.verdict, diagnosis::Verdict::unknown);
  EXPECT_TRUE(document->diagnosis.findings.empty());
}

TEST(Check, RejectsAggregatorsWithoutOmnireduce) {
  Scene scene;
  CheckRequest request = request_of(scene);
  request.aggregator_hosts = "node9";
  EXPECT_THAT(check(request, scene.control).error().error.what, HasSubstr("--aggregator-hosts"));
  EXPECT_EQ(scene.fleet.runners, 0);
}

}  // namespace
}  // namespace ringtrue::ops
