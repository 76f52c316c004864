// Use cases that run nothing: what they find out, and what they reject.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/evaluate.h"
#include "operator/facts.h"
#include "operator/ideal.h"
#include "operator/simulate.h"
#include "paths.h"
#include "scripted.h"

namespace ringtrue::ops {
namespace {

using testing::HasSubstr;

TEST(Nodes, NeedHosts) {
  Scene scene;
  EXPECT_THAT(nodes(scene.setup(), scene.control).error().error.what, HasSubstr("no hosts"));
}

TEST(Ideal, IsComputedFromRatesAlone) {
  Scene scene;
  IdealRequest request;
  request.nodes = 2;
  request.gpus = 8;
  request.inter = BytesPerSecond(100e9);
  request.intra = BytesPerSecond(450e9);
  const auto document = ideal(request, scene.control);
  ASSERT_TRUE(document) << document.error().error.text();
  EXPECT_FALSE(document->facts);
  ASSERT_TRUE(document->ideal.bound);
  EXPECT_GT(document->ideal.bound->value, 100e9);
  request.nics = {"mlx5_0"};
  EXPECT_THAT(ideal(request, scene.control).error().error.what, HasSubstr("--nic"));
}

TEST(Simulate, RatesASlowHop) {
  Scene scene;
  SimulateRequest request;
  request.call.algorithm = collective::AlgorithmId::ring;
  request.call.size = Bytes(1 << 20);
  request.fabric.given = {{"nodes", "4"}, {"inter", "1GB/s"}};
  const auto healthy = simulate(request, scene.control);
  ASSERT_TRUE(healthy) << healthy.error().error.text();
  ASSERT_EQ(healthy->results.size(), 1u);
  EXPECT_TRUE(healthy->simulated);
  EXPECT_EQ(healthy->hops.size(), 4u);
  EXPECT_EQ(healthy->rank_nodes[3], "node3");

  request.faults = *parse_script("throttle@1>2:rate=100MB/s");
  const auto slow = simulate(request, scene.control);
  ASSERT_TRUE(slow);
  EXPECT_GT(slow->results[0].time_s->median, 2 * healthy->results[0].time_s->median);
  EXPECT_EQ(slow->model.faults.size(), 1u);
  EXPECT_EQ(scene.told<progress::Call>().size(), 2u);
}

TEST(Evaluate, TellsHowFarItIsAndEndsWhenItIsStopped) {
  Scene scene;
  campaign::Campaign campaign;
  campaign.cases = 4;
  campaign.limits.max_nodes = 8;
  campaign.threads = 1;
  EXPECT_FALSE(evaluate(campaign, scene.control).error);
  EXPECT_EQ(scene.told<progress::Part>().size(), 4u);
  scene.stop.request();
  EXPECT_TRUE(evaluate(campaign, scene.control).error);
}

TEST(Evaluate, PlaysOneCaseInFull) {
  campaign::Campaign campaign;
  campaign.limits.kinds = {*campaign::find_kind("slow-in")};
  campaign.limits.min_nodes = 4, campaign.limits.max_nodes = 16;
  const CaseDocument document = play_case(campaign, 7);
  EXPECT_EQ(document.drawn.number, 7u);
  EXPECT_EQ(document.faults.size(), 1u);
  EXPECT_EQ(document.check.diagnosis.verdict, diagnosis::Verdict::faulty);
  EXPECT_EQ(document.score.found, 1);
  EXPECT_EQ(document.score.wrong, 0);
}

TEST(Grid, GoesThroughWhatIsGiven) {
  Scene scene;
  SimulateRequest request;
  request.grid = true;
  request.call.algorithm = collective::AlgorithmId::omnireduce;
  request.call.size = Bytes(1 << 20);
  request.fabric.given = {{"inter", "10Gbit"}};
  request.omni.density = 0.1;
  const auto document = simulate_grid(request, scene.control);
  ASSERT_TRUE(document) << document.error().error.text();
  ASSERT_EQ(document->cells.size(), 3u);  // 2, 4 and 8 workers
  for (const GridCell& cell : document->cells) {
    EXPECT_EQ(cell.density, 0.1);
    EXPECT_EQ(cell.rate_Bps, 1.25e9);
    EXPECT_GT(cell.even.time_s, 0);
    EXPECT_GT(cell.ring_s, 0);
  }
}

TEST(Topo, IsOfTheFilesThatAreGiven) {
  Scene scene;
  FactRequest request;
  request.from = {RINGTRUE_SOURCE_DIR "/tests/fixtures/topology/nccl-h100.xml"};
  const auto document = topo(scene.setup(), request, false, scene.control);
  ASSERT_TRUE(document) << document.error().error.text();
  ASSERT_EQ(document->cluster.nodes.size(), 1u);
  EXPECT_EQ(document->cluster.nodes[0].gpus.size(), 2u);
}

TEST(Topo, NeedsFilesThatThereAre) {
  Scene scene;
  FactRequest request;
  request.from = {RINGTRUE_SOURCE_DIR "/nowhere.xml"};
  EXPECT_FALSE(topo(scene.setup(), request, false, scene.control));
}

}  // namespace
}  // namespace ringtrue::ops
