#include "operator/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scripted.h"

namespace ringtrue::ops {
namespace {

using testing::HasSubstr;

RunRequest request_of(Scene& scene, AlgorithmRequest algorithm) {
  RunRequest request;
  request.setup = scene.setup();
  request.call.algorithm = algorithm;
  request.call.size = Bytes(1 << 20);
  return request;
}

TEST(Run, RatesEverySizeAndItsHops) {
  Scene scene;
  RunRequest request = request_of(scene, collective::AlgorithmId::ring);
  request.call.size.reset();
  request.call.from = Bytes(1 << 20);
  request.call.to = Bytes(4 << 20);
  request.setup.config.link_rate.value = BytesPerSecond(125e6);
  const auto document = run(request, scene.control);
  ASSERT_TRUE(document) << document.error().error.text();
  EXPECT_FALSE(document->error);
  EXPECT_FALSE(document->wrong());
  EXPECT_EQ(document->where, "a script");
  ASSERT_EQ(document->results.size(), 3u);
  for (const RunResult& result : document->results) {
    EXPECT_NEAR(result.busbw_Bps.value(), 100e6, 1e4) << result.bytes;
    EXPECT_NEAR(result.ratio.value(), 0.8, 0.01);
    EXPECT_EQ(result.wrong, 0u);
    EXPECT_EQ(result.ideal_origin, "declared");
  }
  ASSERT_EQ(document->hops.size(), 4u);
  const auto calls = scene.told<progress::Call>();
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[1].number, 2u);
  EXPECT_EQ(calls[1].of, 3u);
}

TEST(Run, KeepsTheSizesBeforeAnError) {
  Scene scene;
  scene.fleet.ends_at_play = 1;
  RunRequest request = request_of(scene, collective::AlgorithmId::ring);
  request.call.size.reset();
  request.call.from = Bytes(1 << 20);
  request.call.to = Bytes(4 << 20);
  const auto document = run(request, scene.control);
  ASSERT_TRUE(document);
  ASSERT_TRUE(document->error);
  EXPECT_EQ(document->error->error.what, "the script's error");
  EXPECT_EQ(document->results.size(), 1u);
  EXPECT_THAT(document->notes, testing::Contains("partial: 1 of 3 sizes are complete"));
}

TEST(Run, NamesTheNodeThatIsDead) {
  Scene scene;
  scene.fleet.dead = 2;
  const auto document = run(request_of(scene, collective::AlgorithmId::ring), scene.control);
  ASSERT_TRUE(document);
  ASSERT_TRUE(document->error);
  ASSERT_EQ(document->error->failures.size(), 1u);
  EXPECT_EQ(document->error->failures[0].node, "node2");
  EXPECT_THAT(document->error->error.text(), HasSubstr("node2"));
}

TEST(Run, TellsWrongResults) {
  Scene scene;
  scene.fleet.wrong = 3;
  const auto document = run(request_of(scene, collective::AlgorithmId::ring), scene.control);
  ASSERT_TRUE(document);
  EXPECT_TRUE(document->wrong());
  EXPECT_EQ(document->results[0].wrong_by_rank, (std::vector<std::uint64_t>{3, 0, 0, 0}));
}

TEST(Run, ChoosesAnAlgorithmFromTwoShortRuns) {
  Scene scene;
  const auto document = run(request_of(scene, std::nullopt), scene.control);
  ASSERT_TRUE(document);
  ASSERT_EQ(document->choices.size(), 1u);
  EXPECT_EQ(document->results[0].algorithm, document->choices[0].made.algorithm->id);
  ASSERT_GE(scene.fleet.played.size(), 3u);
  EXPECT_EQ(scene.fleet.played[0].algorithm, collective::AlgorithmId::pairwise);
  EXPECT_EQ(scene.fleet.played[1].algorithm, collective::AlgorithmId::pairwise);
  EXPECT_LT(scene.fleet.played[0].call.bytes(), scene.fleet.played[1].call.bytes());
}

TEST(Run, RejectsWhatDoesNotGoTogetherBeforeItTakesNodes) {
  Scene scene;
  EXPECT_THAT(parse_algorithm("rnig").error().next, HasSubstr("did you mean ring?"));
  RunRequest request = request_of(scene, collective::AlgorithmId::ring);
  request.omni.block = 64;
  EXPECT_THAT(run(request, scene.control).error().error.what, HasSubstr("--block"));
  request = request_of(scene, collective::AlgorithmId::ring);
  request.reference = "nccl";
  EXPECT_THAT(run(request, scene.control).error().error.what, HasSubstr("--reference"));
  EXPECT_EQ(scene.fleet.runners, 0);
}

TEST(Run, TellsEachSizeWhenItIsMeasured) {
  Scene scene;
  RunRequest request = request_of(scene, collective::AlgorithmId::ring);
  request.call.size.reset();
  request.call.from = Bytes(1 << 20);
  request.call.to = Bytes(4 << 20);
  std::vector<std::pair<std::size_t, std::size_t>> told;  // rows, and runs until then
  request.on_row = [&](const RunDocument& document) {
    told.emplace_back(document.results.size(), scene.fleet.played.size());
  };
  ASSERT_TRUE(run(request, scene.control));
  EXPECT_THAT(told, testing::ElementsAre(testing::Pair(1, 1), testing::Pair(2, 2), testing::Pair(3, 3)));
}

// All nodes were at work when the time for a run was over.
Trouble too_late(const RunRequest& request, Scene& scene, int nodes, bool culprits) {
  scene.fleet.error = {Cause::deadline, "the worker did not answer", Subject("node0", Phase::run), "see it"};
  scene.fleet.failures.clear();
  for (int node = 0; node < nodes; ++node)
    scene.fleet.failures.push_back({"node" + std::to_string(node), Phase::run, scene.fleet.error, culprits});
  const auto document = run(request, scene.control);
  EXPECT_TRUE(document && document->error);
  return document->error.value_or(Trouble{});
}

TEST(Run, TooLittleTimeForASizeIsNobodysFault) {
  for (const bool culprits : {false, true}) {
    Scene scene;
    scene.fleet.ends_at_play = 1;
    RunRequest request = request_of(scene, collective::AlgorithmId::ring);
    request.call.size.reset();
    request.call.from = Bytes(1 << 20);
    request.call.to = Bytes(4 << 20);
    request.call.factor = 4;
    request.setup.config.run_deadline.value = Seconds(0.1);
    const Trouble trouble = too_late(request, scene, 4, culprits);
    EXPECT_EQ(trouble.error.cause, Cause::deadline);
    // 6 calls of 6 MB a hop at 100 MB/s.
    EXPECT_EQ(
        trouble.error.what,
        "5 samples and 1 warm-up of 4194304 bytes did not fit into the 100 ms that one run may take; by "
        "the size before it takes about 377 ms");
    EXPECT_THAT(trouble.error.next, HasSubstr("--deadline"));
    EXPECT_TRUE(trouble.error.where.node.empty());
    EXPECT_TRUE(trouble.failures.empty());
  }
}

TEST(Run, OneThatHangsAmongFourIsNamed) {
  Scene scene;
  scene.fleet.ends_at_play = 0;
  const RunRequest request = request_of(scene, collective::AlgorithmId::ring);
  EXPECT_EQ(too_late(request, scene, 1, true).error.what, "the worker did not answer");
}

}  // namespace
}  // namespace ringtrue::ops
