#include "campaign/sim_measurer.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ringtrue::campaign {
namespace {

World world_of(int nodes, const char* faults = "") {
  World world;
  world.fabric.nodes = nodes;
  world.fabric.inter = {Seconds(10e-6), BytesPerSecond(1e9), Seconds(0)};
  world.fabric.faults = *sim::parse_fabric_faults(faults);
  return world;
}

using collective::AlgorithmId;

diagnosis::Experiment over_all(AlgorithmId algorithm, int nodes) {
  diagnosis::Experiment e;
  e.algorithm = algorithm;
  e.order.resize(std::size_t(nodes));
  std::iota(e.order.begin(), e.order.end(), 0);
  e.bytes = Bytes(100'000'000);
  return e;
}

TEST(SimMeasurer, PlaysARingAsLongAsItsSlowestHop) {
  SimMeasurer measurer(world_of(4, "slow-link@node2>:share=50%"));
  const auto seen = measurer.measure(over_all(AlgorithmId::ring, 4));
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->hops.size(), 4u);
  for (const auto& hop : seen->hops) {
    EXPECT_EQ(hop.bytes.value, 150'000'000u);
    EXPECT_NEAR((hop.bytes / hop.busy).value, hop.source == 2 ? 0.5e9 : 1e9, 1);
  }
  EXPECT_NEAR(seen->time.value, 0.3 + 6 * 10e-6, 1e-9);
  EXPECT_NEAR(measurer.now().value, 0.05 + 1.3 * seen->time.value, 1e-9);
}

TEST(SimMeasurer, UsesOneDirectionAfterTheOtherInADuet) {
  SimMeasurer measurer(world_of(5));
  auto duet = over_all(AlgorithmId::naive, 2);
  duet.order = {3, 1};
  duet.iterations = 3;
  const auto seen = measurer.measure(duet);
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->hops.size(), 2u);
  EXPECT_EQ(seen->hops[0].source, 3);
  EXPECT_EQ(seen->hops[1].source, 1);
  EXPECT_NEAR(seen->time.value, 0.2 + 2 * 10e-6, 1e-9);
}

TEST(SimMeasurer, NamesANodeThatIsDeadWhereARunNeedsIt) {
  SimMeasurer measurer(world_of(4, "dead@node2"));
  const auto seen = measurer.measure(over_all(AlgorithmId::pairwise, 4));
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().cause, Cause::unreachable);
  EXPECT_EQ(seen.error().where, "node2");
  EXPECT_LT(measurer.now().value, 1);
  auto rest = over_all(AlgorithmId::pairwise, 3);
  rest.order = {0, 1, 3};
  EXPECT_TRUE(measurer.measure(rest));
}

TEST(SimMeasurer, MeasuresNoMoreOnceItIsStopped) {
  SimMeasurer measurer(world_of(4));
  bool stopped = false;
  measurer.stop_when([&] { return stopped; });
  EXPECT_TRUE(measurer.measure(over_all(AlgorithmId::pairwise, 4)));
  stopped = true;
  const auto seen = measurer.measure(over_all(AlgorithmId::pairwise, 4));
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().cause, Cause::cancelled);
}

TEST(SimMeasurer, DrawsAnewInEveryRunAndTheSameFromTheSameSeed) {
  World world = world_of(8);
  world.noise = {0.05, 0.05};
  world.disturbed = 0.5;
  SimMeasurer one(world), other(world);
  const auto busy = [](SimMeasurer& m) {
    std::vector<double> out;
    const auto seen = m.measure(over_all(AlgorithmId::pairwise, 8));
    for (const auto& hop : seen->hops) out.push_back(hop.busy.value);
    return out;
  };
  const auto first = busy(one);
  EXPECT_EQ(first, busy(other));
  EXPECT_NE(first, busy(one));
  EXPECT_GT(*std::max_element(first.begin(), first.end()), 0.11);  // somebody shared a port
  for (const double seconds : first) EXPECT_GT(seconds, 0.1);
}

TEST(SimMeasurer, TellsHowItsNodesHangTogether) {
  World world = world_of(8);
  EXPECT_EQ(SimMeasurer(world).structure().leaf, std::vector<int>(8, 0));
  EXPECT_EQ(SimMeasurer(world).structure().spines, 0);
  world.fabric.leaf = 4;
  world.fabric.oversubscription = 2;
  const auto structure = SimMeasurer(world).structure();
  EXPECT_EQ(structure.leaf, (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(structure.spines, 2);
  EXPECT_EQ(structure.oversubscription, 2);
}

TEST(SimMeasurer, RefusesWhatItDoesNotModel) {
  SimMeasurer measurer(world_of(4));
  for (const AlgorithmId algorithm : {AlgorithmId::omnireduce, AlgorithmId::naive, AlgorithmId::double_tree})
    EXPECT_EQ(measurer.measure(over_all(algorithm, 4)).error().cause, Cause::bad_input) << key_of(algorithm);
  EXPECT_FALSE(measurer.measure(over_all(AlgorithmId::ring, 1)));
}

TEST(SimMeasurer, TellsOfTheFabricWhatItIsToTell) {
  World world = world_of(8);
  world.fabric.leaf = 4;
  world.fabric.oversubscription = 2;
  world.fabric.slots = {0, 4, 1, 5, 2, 6, 3, 7};
  world.told = Told::nothing;
  EXPECT_TRUE(SimMeasurer(world).structure().leaf.empty());
  world.told = Told::leaves;
  const auto leaves = SimMeasurer(world).structure();
  EXPECT_EQ(leaves.leaf, (std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(leaves.spines, 0);
  world.told = Told::fabric;
  EXPECT_EQ(SimMeasurer(world).structure().spines, 2);
}

double rate_of(SimMeasurer& measurer) {
  const auto seen = measurer.measure(over_all(AlgorithmId::pairwise, 2));
  return seen ? (seen->hops[0].bytes / seen->hops[0].busy).value : 0;
}

TEST(SimMeasurer, LetsFaultsComeAndGo) {
  World world = world_of(2, "slow-link@node0>:share=50%");
  world.away = 0.5;
  world.period = Seconds(2);
  SimMeasurer measurer(world);
  int slow = 0, changes = 0;
  bool before = false;
  for (int run = 0; run < 100; ++run) {
    const bool now = rate_of(measurer) < 0.6e9;
    slow += now, changes += run > 0 && now != before, before = now;
  }
  EXPECT_GT(slow, 30);
  EXPECT_LT(slow, 70);
  EXPECT_GT(changes, 5);  // some 20 s in turns of 1 s
  EXPECT_LT(changes, 40);
}

TEST(SimMeasurer, LetsTheSameNodesSendForOthersThroughout) {
  World world = world_of(40);
  world.lasting = 0.2;
  SimMeasurer measurer(world);
  std::vector<int> low(40);
  for (int run = 0; run < 6; ++run) {
    auto e = over_all(AlgorithmId::pairwise, 40);
    e.shift = 1 + run;
    const auto seen = measurer.measure(e);
    ASSERT_TRUE(seen);
    for (const auto& hop : seen->hops) low[std::size_t(hop.source)] += *hop.rate() < 0.99e9;
  }
  int always = 0;
  for (const int runs : low) always += runs == 6;
  EXPECT_GT(always, 3);
  EXPECT_LT(always, 20);
}

}  // namespace
}  // namespace ringtrue::campaign
