// The engine on shared memory and TCP, and the simulator: the same data, the same packets.
#include <gtest/gtest.h>

#include <random>

#include "collective/sparse.h"
#include "engine/session.h"
#include "sim/simulate.h"

namespace ringtrue::sim {
namespace {

using collective::Rank;

engine::Job drawn_job(std::mt19937_64& random) {
  const auto pick = [&](int low, int high) { return low + int(random() % std::uint64_t(high - low + 1)); };
  engine::Job job;
  job.algorithm = "omnireduce";
  job.nodes = {"local"};
  collective::Omni& omni = job.call.omni;
  omni.workers = pick(1, 8);
  omni.aggregators = pick(1, 4);
  omni.block = std::uint32_t(pick(1, 64));
  omni.streams = std::uint32_t(pick(1, 8));
  omni.fusion = std::uint32_t(pick(1, 8));
  omni.acked = pick(0, 1) == 1;
  job.call.elements = std::uint64_t(pick(0, 5000));
  for (Rank rank = 0; rank < omni.workers + omni.aggregators; ++rank) job.seats.push_back({0, 0, rank});
  job.transport = pick(0, 1) == 1 ? "tcp" : "shm";
  job.iterations = 1;
  job.warmup = 0;
  job.seed = random();
  const double densities[] = {0, 0.01, 0.2, 0.7, 1};
  job.sparsity.density = densities[pick(0, 4)];
  job.sparsity.value_density = pick(0, 2) == 0 ? 0.05 : 1;
  job.sparsity.overlap = collective::Overlap(pick(0, 2));
  job.sparsity.block = std::uint32_t(pick(1, 64));
  return job;
}

SimReport simulated(const engine::Job& job) {
  const collective::Omni& omni = job.call.omni;
  const collective::SparsePattern pattern(job.sparsity, job.call.elements, omni.workers, job.seed);
  SimOptions options;
  options.has_block = [&](Rank worker, std::uint64_t k) {
    return pattern.any(worker, k * omni.block, std::min(job.call.elements, (k + 1) * omni.block));
  };
  Fabric fabric;
  fabric.node_of_rank.assign(std::size_t(job.ranks()), 0);
  const auto report = simulate(**collective::find_algorithm("omnireduce"), job.call, fabric, options);
  EXPECT_TRUE(report && !report->error);
  return *report;
}

TEST(EngineAndSimulator, CountTheSameOnTheSameData) {
  std::mt19937_64 random(20);
  for (int i = 0; i < 60; ++i) {
    const engine::Job job = drawn_job(random);
    SCOPED_TRACE(i);
    const auto played = engine::run_locally(job, Deadline::in(Seconds(30)));
    ASSERT_TRUE(played) << played.error().text();
    const SimReport model = simulated(job);
    ASSERT_EQ(played->ranks.size(), model.counts.size());
    for (const engine::RankReport& rank : played->ranks) {
      EXPECT_EQ(rank.wrong, 0u);
      const collective::PacketCounts& expected = model.counts[std::size_t(rank.rank)];
      EXPECT_EQ(rank.counts.packets, expected.packets) << "rank " << rank.rank;
      EXPECT_EQ(rank.counts.blocks, expected.blocks) << "rank " << rank.rank;
      EXPECT_EQ(rank.counts.multicasts, expected.multicasts) << "rank " << rank.rank;
    }
  }
}

}  // namespace
}  // namespace ringtrue::sim
