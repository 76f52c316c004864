#include "operator/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringtrue::ops {
namespace {

using collective::AlgorithmId;
using testing::HasSubstr;

TEST(Schedule, OfARingHasEachRanksSteps) {
  ScheduleRequest request;
  request.algorithm = AlgorithmId::ring;
  request.ranks = 4;
  request.size = Bytes(4096);
  const auto made = schedule(request);
  ASSERT_TRUE(made) << made.error().text();
  const auto& document = std::get<ScheduleDocument>(*made);
  EXPECT_EQ(document.ranks, 4);
  EXPECT_TRUE(document.trees.empty());
  std::uint64_t sent = 0;
  document.each_step([&](const collective::Step& step) {
    if (step.kind == collective::Step::Kind::send) sent += step.slice.length;
  });
  EXPECT_EQ(sent, 4u * 4096 * 3 / 4 * 2);  // 2 (n - 1) / n of the data, from each rank
}

TEST(Schedule, OfADoubleTreeHasTwoTreesOfAllRanks) {
  ScheduleRequest request;
  request.algorithm = AlgorithmId::double_tree;
  request.ranks = 7;
  const auto made = schedule(request);
  ASSERT_TRUE(made);
  const auto& document = std::get<ScheduleDocument>(*made);
  ASSERT_EQ(document.trees.size(), 2u);
  EXPECT_EQ(document.trees[0].size(), 7u);
}

TEST(Schedule, OfManyRanksLeavesStepsOutUnlessTheyAreAskedFor) {
  ScheduleRequest request;
  request.algorithm = AlgorithmId::ring;
  request.ranks = max_with_steps + 1;
  EXPECT_TRUE(std::get<ScheduleDocument>(*schedule(request)).steps_omitted);
  request.steps = true;
  EXPECT_FALSE(std::get<ScheduleDocument>(*schedule(request)).steps_omitted);
}

TEST(Schedule, OfAnOmnireduceIsExplained) {
  ScheduleRequest request;
  request.algorithm = AlgorithmId::omnireduce;
  const auto made = schedule(request);
  ASSERT_TRUE(made) << made.error().text();
  const auto& document = std::get<ExplainDocument>(*made);
  EXPECT_FALSE(document.steps.empty());
  EXPECT_EQ(document.steps.back().kind, ExplainStep::Kind::multicast);
  request.ranks = 1000;
  EXPECT_THAT(schedule(request).error().text(), HasSubstr("too many to explain"));
}

}  // namespace
}  // namespace ringtrue::ops
