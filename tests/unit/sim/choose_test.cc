// The predictor of `auto`, held against the simulator.
#include "collective/choose.h"

#include <gtest/gtest.h>

#include "sim/simulate.h"

namespace ringtrue::sim {
namespace {

using collective::Call;
using collective::Choice;
using collective::Costs;

Fabric cluster(int nodes, int ranks_per_node) {
  Fabric fabric;
  fabric.nodes = nodes;
  fabric.ranks_per_node = ranks_per_node;
  fabric.inter = {Seconds(30e-6), BytesPerSecond(125e6), Seconds(1e-6)};
  fabric.intra = {Seconds(1e-6), BytesPerSecond(5e9), Seconds(1e-7)};
  return fabric;
}

Call call_of(std::uint64_t bytes) {
  Call call;
  call.elements = bytes / 4;
  return call;
}

Choice choice(const Fabric& fabric, std::uint64_t bytes, bool shared = false) {
  return collective::choose(fabric.layout(), call_of(bytes), Costs{fabric.intra, fabric.inter, shared});
}

TEST(Choose, PredictsWhatTheSimulatorPlays) {
  for (const auto& [nodes, ranks] : {std::pair{8, 1}, {5, 1}, {4, 4}, {2, 8}}) {
    const Fabric fabric = cluster(nodes, ranks);
    for (const std::uint64_t bytes : {1ull << 10, 1ull << 16, 1ull << 20, 1ull << 24}) {
      const Choice made = choice(fabric, bytes);
      double best = 1e9, chosen = 0;
      for (const collective::Prediction& p : made.predictions) {
        const auto report = simulate(collective::algorithm_of(p.algorithm), call_of(bytes), fabric);
        ASSERT_TRUE(report && !report->error);
        const double ratio = p.time.value / report->time.value;
        EXPECT_GT(ratio, 0.5) << key_of(p.algorithm) << " " << nodes << "x" << ranks << " " << bytes;
        EXPECT_LT(ratio, 2.0) << key_of(p.algorithm) << " " << nodes << "x" << ranks << " " << bytes;
        best = std::min(best, report->time.value);
        if (p.algorithm == made.algorithm->id) chosen = report->time.value;
      }
      EXPECT_LE(chosen, 1.3 * best) << made.reason;
    }
  }
}

TEST(Choose, TakesFewRoundsForShortAndFullPortsForLongCalls) {
  EXPECT_EQ(choice(cluster(8, 1), 1024).algorithm->name, "recursive-doubling");
  const std::string_view large = choice(cluster(7, 1), 256 << 20).algorithm->name;
  EXPECT_EQ(large, "ring");
  EXPECT_EQ(choice(cluster(1, 8), 256 << 20, true).algorithm->name, "two-shot");
  EXPECT_NE(choice(cluster(1, 8), 256 << 20, false).algorithm->name, "two-shot");
}

TEST(Choose, SaysWhy) {
  const Choice made = choice(cluster(8, 1), 1024);
  EXPECT_NE(made.reason.find("recursive-doubling: 1K over 8 ranks on 8 nodes"), std::string::npos)
      << made.reason;
  EXPECT_NE(made.reason.find("latency decides"), std::string::npos) << made.reason;
  EXPECT_TRUE(std::is_sorted(made.predictions.begin(), made.predictions.end(),
                             [](const auto& a, const auto& b) { return a.time < b.time; }));
}

TEST(Choose, HoldsForAnyLayoutAndSize) {
  for (int n = 1; n < 20; ++n) {
    for (const std::uint64_t bytes : {0, 4, 1000, 5'000'000}) {
      Fabric fabric = cluster(n, 1);
      for (int r = 0; r < n; ++r) fabric.node_of_rank.push_back(r % 3);
      const Choice made = choice(fabric, bytes);
      ASSERT_NE(made.algorithm, nullptr);
      EXPECT_EQ(made.algorithm->id, made.predictions[0].algorithm);
      for (const auto& p : made.predictions) EXPECT_GE(p.time.value, 0);
    }
  }
}

}  // namespace
}  // namespace ringtrue::sim
