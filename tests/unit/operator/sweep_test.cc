#include "operator/sweep.h"

#include <gtest/gtest.h>

#include "scripted.h"

namespace ringtrue::ops {
namespace {

SweepRequest request_of(Scene& scene) {
  SweepRequest request;
  request.setup = scene.setup();
  request.size = Bytes(1 << 20);
  return request;
}

TEST(Sweep, RatesEveryPairAgainstTheMedian) {
  Scene scene;
  scene.fleet.sends[1] = 0.5;
  const auto document = sweep(request_of(scene), scene.control);
  ASSERT_TRUE(document) << document.error().error.text();
  EXPECT_FALSE(document->error);
  EXPECT_EQ(document->expected_origin, "median of all pairs");
  EXPECT_NEAR(document->expected_Bps.value(), 100e6, 1e3);
  ASSERT_EQ(document->pairs.size(), 12u);
  for (const SweepPair& pair : document->pairs)
    EXPECT_NEAR(pair.ratio.value(), pair.source.node == "node1" ? 0.5 : 1, 1e-6);
  EXPECT_FALSE(document->rate_Bps[2][2]);
  EXPECT_NEAR(document->rate_Bps[1][3].value(), 50e6, 1e3);
  const auto parts = scene.told<progress::Part>();
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[2].number, 3u);
}

TEST(Sweep, KeepsWhatItHasWhenARunFails) {
  Scene scene;
  scene.fleet.ends_at_play = 2;  // the transport's and one shift
  const auto document = sweep(request_of(scene), scene.control);
  ASSERT_TRUE(document);
  ASSERT_TRUE(document->error);
  EXPECT_EQ(document->error->error.what, "the script's error");
  EXPECT_EQ(document->pairs.size(), 4u);
}

TEST(Sweep, EndsWhenItIsStopped) {
  Scene scene;
  scene.stop_at(1);
  const auto document = sweep(request_of(scene), scene.control);
  ASSERT_TRUE(document);
  ASSERT_TRUE(document->error);
  EXPECT_EQ(document->error->error.cause, Cause::cancelled);
  EXPECT_EQ(scene.fleet.played.size(), 2u);
}

TEST(Sweep, NeedsTwoNodesAndBytes) {
  Scene scene;
  scene.fleet.nodes = 1;
  EXPECT_TRUE(sweep(request_of(scene), scene.control)->error);
  SweepRequest request = request_of(scene);
  request.size = Bytes(2);
  EXPECT_FALSE(sweep(request, scene.control));
}

}  // namespace
}  // namespace ringtrue::ops
