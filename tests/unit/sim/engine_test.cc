// The engine on shared memory and TCP, and the simulator: the same data, the same packets; and, of fixed
// schedules, the same trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "collective/sparse.h"
#include "engine/session/session.h"
#include "run/job.h"
#include "run/report.h"
#include "sim/simulate.h"

namespace ringtrue::sim {
namespace {

using collective::Rank;

run::Job drawn_job(std::mt19937_64& random) {
  const auto pick = [&](int low, int high) { return low + int(random() % std::uint64_t(high - low + 1)); };
  run::Job job;
  job.algorithm = collective::AlgorithmId::omnireduce;
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
  job.transport = pick(0, 1) == 1 ? run::Transport::tcp : run::Transport::shm;
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

SimReport simulated(const run::Job& job) {
  const collective::Omni& omni = job.call.omni;
  const collective::SparsePattern pattern(job.sparsity, job.call.elements, job.seed);
  SimOptions options;
  options.events = job.events;
  options.has_block = [&](Rank worker, std::uint64_t k) {
    return pattern.any(worker, k * omni.block, std::min(job.call.elements, (k + 1) * omni.block));
  };
  Fabric fabric;
  fabric.node_of_rank.assign(std::size_t(job.ranks()), 0);
  const auto report = simulate(collective::algorithm_of(job.algorithm), job.call, fabric, options);
  EXPECT_TRUE(report && !report->error);
  return *report;
}

TEST(EngineAndSimulator, CountTheSameOnTheSameData) {
  std::mt19937_64 random(20);
  for (int i = 0; i < 60; ++i) {
    const run::Job job = drawn_job(random);
    SCOPED_TRACE(i);
    const auto played = engine::run_locally(job, Deadline::in(Seconds(30)));
    ASSERT_TRUE(played) << played.error().text();
    const SimReport model = simulated(job);
    ASSERT_EQ(played->ranks.size(), model.counts.size());
    for (const run::RankReport& rank : played->ranks) {
      EXPECT_EQ(rank.wrong, 0u);
      const collective::PacketCounts& expected = model.counts[std::size_t(rank.rank)];
      EXPECT_EQ(rank.counts.packets, expected.packets) << "rank " << rank.rank;
      EXPECT_EQ(rank.counts.blocks, expected.blocks) << "rank " << rank.rank;
      EXPECT_EQ(rank.counts.multicasts, expected.multicasts) << "rank " << rank.rank;
    }
  }
}

// ---- ten fixed schedules, event by event ----

struct Schedule {
  const char *algorithm, *transport;
  int ranks;
  std::uint64_t elements;
  collective::Type type = collective::Type::float32;
  std::uint64_t slice = 0;  // bytes; 0: the usual
  int lanes = 1;
  int shift = 1;
};

const Schedule schedules[] = {
    {"ring", "shm", 4, 65536},
    {"ring", "tcp", 5, 100'003, collective::Type::int64, 4096, 3},
    {"double-tree", "shm", 7, 50'001, collective::Type::float16, 8192},
    {"recursive-doubling", "tcp", 6, 1'001},
    {"halving-doubling", "shm", 8, 99'991, collective::Type::float64, 16384, 2},
    {"hierarchical", "shm", 6, 40'007, collective::Type::float32, 8192},
    {"two-shot", "tcp", 4, 30'001, collective::Type::bfloat16, 4096, 2},
    {"naive", "shm", 3, 12'345, collective::Type::int32, 1024},
    {"pairwise", "tcp", 8, 77'777, collective::Type::float32, 32768, 2, 3},
    {"omnireduce", "tcp", 3, 79 * 64},
};

run::Job job_of(const Schedule& s) {
  run::Job job;
  job.algorithm = *parse_key<collective::AlgorithmId>(s.algorithm);
  job.transport = *parse_key<run::Transport>(s.transport);
  job.nodes = {"local"};
  job.call.elements = s.elements;
  job.call.type = s.type;
  job.call.lanes = s.lanes;
  job.call.shift = s.shift;
  if (s.slice > 0) job.call.slice_bytes = s.slice;
  int ranks = s.ranks;
  if (job.algorithm == collective::AlgorithmId::omnireduce) {
    job.call.omni = {s.ranks, 2, 64, 2, 3, false};  // a stream an aggregator
    job.sparsity.density = 0.3;
    job.sparsity.overlap = collective::Overlap::random;
    job.sparsity.block = 64;
    ranks += 2;
  }
  for (Rank rank = 0; rank < ranks; ++rank) job.seats.push_back({0, 0, rank});
  job.iterations = 1;
  job.warmup = 0;
  job.events = true;
  return job;
}

// Who sent whom on which lane what: the trace by sender and connection, each in order. Which of two
// connections is done first is the world's business.
using Sent = std::tuple<Rank, Rank, std::uint16_t, std::uint32_t, std::uint64_t>;
using Log = std::vector<Sent>;

Sent sent(const run::Event& e) {
  return {e.source, e.destination, e.lane, e.sequence, e.bytes};
}

// Both ends of a connection keep an event; barriers around the call are none of it.
Log engine_log(const run::Trace& trace) {
  std::map<Sent, int> seen;
  for (const run::Event& e : trace.events) {
    if (e.lane != collective::barrier_lane) ++seen[sent(e)];
  }
  Log out;
  for (const auto& [event, ends] : seen) {
    EXPECT_EQ(ends, 2);
    out.push_back(event);
  }
  return out;
}

// On a channel a packet is a message of its header and of its parts' lengths, 16 + 4 (columns + parts) + 2
// bytes, and one a part; together they hold a block of 256 bytes a column. In the model it is one message.
Log packets(const Log& messages) {
  Log out;
  for (std::size_t i = 0; i < messages.size();) {
    auto [from, to, lane, sequence, bytes] = messages[i++];
    const std::uint64_t words = (bytes - 18) / 4;
    std::uint64_t parts = 0, payload = 0;
    while (i < messages.size() && parts < words && payload != (words - parts) * 256) {
      payload += std::get<4>(messages[i++]);
      ++parts;
    }
    const bool same = !out.empty() && std::get<0>(out.back()) == from && std::get<1>(out.back()) == to;
    out.emplace_back(from, to, lane, same ? std::get<3>(out.back()) + 1 : 0, bytes - 2 - 4 * parts + payload);
  }
  return out;
}

// A small call is repeated in one sample.
Log model_log(const run::Trace& trace, int repeated) {
  std::map<std::tuple<Rank, Rank, std::uint16_t>, std::uint32_t> messages;
  for (const run::Event& e : trace.events) ++messages[{e.source, e.destination, e.lane}];
  Log out;
  for (int i = 0; i < repeated; ++i) {
    for (run::Event e : trace.events) {
      e.sequence += std::uint32_t(i) * messages[{e.source, e.destination, e.lane}];
      out.push_back(sent(e));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(EngineAndSimulator, LeaveTheSameTraceOfTenSchedules) {
  for (const Schedule& s : schedules) {
    SCOPED_TRACE(s.algorithm);
    const run::Job job = job_of(s);
    const auto played = engine::run_locally(job, Deadline::in(Seconds(30)));
    ASSERT_TRUE(played) << played.error().text();
    Log live = engine_log(played->trace);
    if (job.call.omni.workers > 0) live = packets(live);
    const Log model = model_log(simulated(job).trace, played->ranks[0].batch);
    EXPECT_GE(model.size(), std::size_t(2 * s.ranks - 2));
    ASSERT_EQ(live.size(), model.size());
    for (std::size_t i = 0; i < live.size(); ++i) ASSERT_EQ(live[i], model[i]) << "event " << i;
  }
}

}  // namespace
}  // namespace ringtrue::sim
