// Whole runs in one process, over each transport: every algorithm, type and operation gives the right result.
#include "engine/session/session.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collective/algorithm.h"
#include "engine/session/plan.h"
#include "run/job.h"
#include "run/report.h"
#include "tests/support/fake_verbs.h"
#include "tests/support/local_job.h"
#include "tests/support/sample.h"

namespace ringtrue::engine {
namespace {

using test::wrong;

run::Job job_of(const char* algorithm, int ranks, std::uint64_t elements, const char* transport) {
  run::Job job = test::local_job(algorithm, ranks, elements);
  job.call.slice_bytes = 4096;
  job.transport = *parse_key<run::Transport>(transport);
  job.iterations = 2;
  job.warmup = 0;
  return job;
}

class Local : public testing::TestWithParam<const char*> {
 protected:
  void TearDown() override {
    EXPECT_EQ(fabric_.complaints(), std::vector<std::string>());
    EXPECT_EQ(fabric_.live(), transport::verbs::FakeFabric::Live());
  }
  Result<run::RunReport> played(const run::Job& job, Deadline deadline) {
    const auto report = run_locally(job, deadline, &library_);
    // One rank has no hops.
    if (report && job.ranks() > 1) {
      EXPECT_EQ(run::to_text(report->transports), GetParam());
    }
    return report;
  }

  transport::verbs::FakeFabric fabric_;
  transport::verbs::FakeLibrary& library_ = fabric_.add_node(
      {transport::verbs::fake_roce("mlx5_0", "10.1.0.1"), transport::verbs::fake_roce("mlx5_1", "10.2.0.1")});
};

TEST_P(Local, EveryAlgorithmIsRight) {
  for (const collective::Algorithm& algorithm : collective::algorithms()) {
    if (algorithm.uses_packets()) continue;  // below
    for (const int ranks : test::sample({1, 2, 3, 5, 8})) {
      for (const std::uint64_t elements : test::sample({0ul, 1ul, 3ul, 1000ul, 50'001ul})) {
        const run::Job job = job_of(std::string(algorithm.name).c_str(), ranks, elements, GetParam());
        const auto report = played(job, Deadline::in(Seconds(20)));
        ASSERT_TRUE(report) << algorithm.name << " " << ranks << " " << elements << ": "
                            << report.error().text();
        EXPECT_EQ(report->ranks.size(), std::size_t(ranks));
        EXPECT_EQ(wrong(*report), 0u) << algorithm.name << " " << ranks << " " << elements;
      }
    }
  }
}

TEST_P(Local, EveryTypeAndOperationIsRight) {
  for (const collective::Type type : test::sample(collective::all_types))
    for (const collective::Operation operation : test::sample(collective::all_operations))
      for (const char* algorithm : {"ring", "double-tree", "recursive-doubling"}) {
        run::Job job = job_of(algorithm, 5, 3001, GetParam());
        job.call.type = type;
        job.call.operation = operation;
        const auto report = played(job, Deadline::in(Seconds(20)));
        ASSERT_TRUE(report) << report.error().text();
        EXPECT_EQ(wrong(*report), 0u) << algorithm << " " << key_of(type) << " " << key_of(operation);
      }
}

TEST_P(Local, ABrokenValueIsCounted) {
  run::Job job = job_of("ring", 4, 10'000, GetParam());
  job.fault = "corrupt-value@1>2:nth=3";
  const auto report = played(job, Deadline::in(Seconds(20)));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_GT(wrong(*report), 0u);
}

TEST_P(Local, ABrokenFrameEndsTheRunAndNamesTheHop) {
  run::Job job = job_of("ring", 4, 10'000, GetParam());
  job.fault = "corrupt-frame@1>2:nth=2";
  const auto report = played(job, Deadline::in(Seconds(20)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::corrupted);
  EXPECT_NE(report.error().what.find("rank 1"), std::string::npos) << report.error().what;
  EXPECT_NE(report.error().what.find("rank 2"), std::string::npos) << report.error().what;
}

TEST_P(Local, ALostMessageIsNoticed) {
  run::Job job = job_of("ring", 3, 50'000, GetParam());
  job.fault = "drop@0>1:nth=2";
  const auto report = played(job, Deadline::in(Seconds(5)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::corrupted);
}

TEST_P(Local, ACutEndsTheRun) {
  run::Job job = job_of("ring", 3, 50'000, GetParam());
  job.fault = "cut@0>1:after=16K";
  const auto report = played(job, Deadline::in(Seconds(5)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::peer_lost);
}

TEST_P(Local, AStallMeetsTheDeadlineAndNamesWhoIsWaitedFor) {
  run::Job job = job_of("ring", 3, 50'000, GetParam());
  job.fault = "stall@0>1";
  const std::int64_t began = now_ns();
  const auto report = played(job, Deadline::in(Seconds(0.3)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::deadline);
  EXPECT_NE(report.error().what.find("waited for rank"), std::string::npos) << report.error().what;
  EXPECT_LT(seconds_since(began).value, 2.0);
}

TEST_P(Local, ThrottledHopShowsInTheTrace) {
  run::Job job = job_of("ring", 4, 250'000, GetParam());
  job.fault = "throttle@1>2:rate=20MB/s";
  job.iterations = 1;
  const auto report = played(job, Deadline::in(Seconds(20)));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(wrong(*report), 0u);
  // 1.5 MB over the throttled hop at 20 MB/s.
  EXPECT_GT(slowest(*report)[0], 0.05);
}

// Workers first, then aggregators, all on this node.
run::Job omni_job(int workers, int aggregators, std::uint64_t elements, const char* transport) {
  run::Job job = job_of("omnireduce", workers + aggregators, elements, transport);
  job.call.omni.workers = workers;
  job.call.omni.aggregators = aggregators;
  job.call.omni.block = 64;
  job.call.omni.streams = std::uint32_t(2 * aggregators);
  job.call.omni.fusion = 4;
  return job;
}

TEST_P(Local, OmnireduceIsRightForAnyNumberOfWorkersAndAggregators) {
  for (const int workers : test::sample({1, 2, 3, 8, 16}))
    for (const int aggregators : test::sample({1, 2, 3, 8}))
      for (const std::uint64_t elements : test::sample({0ul, 1ul, 64ul, 65ul, 50'001ul})) {
        const run::Job job = omni_job(workers, aggregators, elements, GetParam());
        const auto report = played(job, Deadline::in(Seconds(20)));
        const auto where = fmt::format("{} workers, {} aggregators, {}", workers, aggregators, elements);
        ASSERT_TRUE(report) << where << ": " << report.error().text();
        ASSERT_EQ(report->ranks.size(), std::size_t(workers + aggregators));
        EXPECT_EQ(wrong(*report), 0u) << where;
        std::uint64_t packets = 0, multicasts = 0;
        for (const run::RankReport& rank : report->ranks) {
          EXPECT_EQ(rank.batch, 1);
          EXPECT_EQ(rank.counts.dropped, 0u);
          packets += rank.counts.packets;
          multicasts += rank.counts.multicasts;
        }
        // Dense data: every worker answers every round.
        EXPECT_EQ(packets, multicasts * std::uint64_t(workers)) << where;
        EXPECT_EQ(multicasts > 0, elements > 0) << where;
      }
}

TEST_P(Local, OmnireduceIsRightForEveryTypeAndOperation) {
  for (const collective::Type type : test::sample(collective::all_types))
    for (const collective::Operation operation : test::sample(collective::all_operations))
      for (const bool acked : {false, true}) {
        run::Job job = omni_job(3, 2, 3001, GetParam());
        job.call.type = type;
        job.call.operation = operation;
        job.call.omni.acked = acked;
        const auto report = played(job, Deadline::in(Seconds(20)));
        ASSERT_TRUE(report) << report.error().text();
        EXPECT_EQ(wrong(*report), 0u) << key_of(type) << " " << key_of(operation) << " " << acked;
      }
}

TEST_P(Local, OmnireduceIsRightAtEveryDensity) {
  for (const double density : test::sample({0.0, 0.01, 0.1, 0.5, 0.9, 1.0}))
    for (const collective::Overlap overlap : test::sample(
             {collective::Overlap::same, collective::Overlap::random, collective::Overlap::disjoint}))
      for (const collective::Operation operation :
           test::sample({collective::Operation::sum, collective::Operation::max, collective::Operation::prod,
                         collective::Operation::avg})) {
        if (overlap == collective::Overlap::disjoint && density * 4 > 1) continue;
        run::Job job = omni_job(4, 2, 40'001, GetParam());
        job.call.operation = operation;
        job.sparsity.density = density;
        job.sparsity.overlap = overlap;
        job.sparsity.block = 64;
        const auto report = played(job, Deadline::in(Seconds(20)));
        ASSERT_TRUE(report) << report.error().text();
        EXPECT_EQ(wrong(*report), 0u) << density << " " << key_of(overlap) << " " << key_of(operation);
      }
}

TEST_P(Local, OmnireduceOnOneThreadAndOnSeveral) {
  for (const std::uint64_t elements : {2000ul, 300'000ul}) {  // the shorter one is played by one thread
    run::Job job = omni_job(8, 8, elements, GetParam());
    job.call.omni.fusion = 16;
    const auto report = played(job, Deadline::in(Seconds(20)));
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(wrong(*report), 0u);
    std::uint64_t received = 0;
    for (const run::Hop& hop : report->trace.hops)
      if (hop.receiver) {
        EXPECT_GE(hop.destination, 8);
        EXPECT_LT(hop.source, 8);
        received += hop.bytes.value;
      }
    // All workers' data, in each of the two timed calls.
    EXPECT_EQ(received, 2 * 8 * elements * 4);
  }
}

TEST_P(Local, ASilentAggregatorIsNamedWhenTimeIsUp) {
  run::Job job = omni_job(4, 2, 100'000, GetParam());
  job.fault = "stall@5>*:after=16K";
  const std::int64_t began = now_ns();
  const auto report = played(job, Deadline::in(Seconds(2)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::deadline) << report.error().text();
  EXPECT_NE(report.error().what.find("aggregator 1 on local (rank 5)"), std::string::npos)
      << report.error().what;
  EXPECT_EQ(report.error().where, "local");
  EXPECT_LT(seconds_since(began).value, 4.5);
}

TEST_P(Local, ALostAggregatorEndsTheRun) {
  run::Job job = omni_job(4, 2, 100'000, GetParam());
  job.fault = "cut@2>4:after=16K";
  const auto report = played(job, Deadline::in(Seconds(5)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::peer_lost) << report.error().text();
  // Over tcp both ends see it; the first one speaks.
  const std::string& what = report.error().what;
  EXPECT_TRUE(what.find("aggregator 0 on local (rank 4)") != std::string::npos ||
              what.find("worker 2 on local") != std::string::npos)
      << what;
}

TEST_P(Local, ABrokenValueOfAPacketIsCounted) {
  run::Job job = omni_job(4, 2, 100'000, GetParam());
  job.fault = "corrupt-value@1>4:nth=6";  // of header, part, header, part, ...
  const auto report = played(job, Deadline::in(Seconds(20)));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_GT(wrong(*report), 0u);
}

INSTANTIATE_TEST_SUITE_P(Transports, Local, testing::Values("shm", "tcp", "verbs"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Session, ThirtyThreeRanksConnectAtOnce) {
  const auto report = run_locally(job_of("recursive-doubling", 33, 1000, "tcp"), Deadline::in(Seconds(20)));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(wrong(*report), 0u);
  const auto other = run_locally(job_of("halving-doubling", 33, 1000, "tcp"), Deadline::in(Seconds(20)));
  ASSERT_TRUE(other) << other.error().text();
}

TEST(Session, RolesMustFitTheAlgorithm) {
  run::Job none = omni_job(2, 1, 100, "shm");
  none.call.omni = {};
  run::Job ring = omni_job(2, 1, 100, "shm");
  ring.algorithm = collective::AlgorithmId::ring;
  run::Job more = omni_job(2, 1, 100, "shm");
  more.call.omni.aggregators = 2;
  for (const run::Job& job : {none, ring, more}) {
    const auto report = run_locally(job, Deadline::in(Seconds(5)));
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().cause, Cause::bad_input) << report.error().text();
  }
}

TEST(Session, EveryThreadPlaysAsManyWorkersAndAggregators) {
  const auto algorithm = collective::find_algorithm("omnireduce");
  ASSERT_TRUE(algorithm);
  for (const auto& [workers, aggregators] :
       {std::pair(8, 8), std::pair(8, 4), std::pair(4, 8), std::pair(1, 1)}) {
    const run::Job job = omni_job(workers, aggregators, 1000, "auto");
    const auto plan = plan_of(job, **algorithm, 0, edges_on_node(job, **algorithm, 0), 2);
    std::vector<std::pair<int, int>> on_thread(2);
    for (std::size_t r = 0; r < plan.ranks.size(); ++r)
      ++(int(r) < workers ? on_thread[std::size_t(plan.thread_of[r])].first
                          : on_thread[std::size_t(plan.thread_of[r])].second);
    if (workers == 1) {
      EXPECT_EQ(on_thread, (std::vector{std::pair(1, 0), std::pair(0, 1)})) << "apart, where they can be";
    } else {
      EXPECT_EQ(on_thread, std::vector(2, std::pair(workers / 2, aggregators / 2)));
    }
    EXPECT_EQ(plan.data_bytes.back(), 0u) << "an aggregator holds no data";
  }
}

TEST(Session, SharedMemoryDoesNotReachOtherNodes) {
  run::Job job = job_of("ring", 2, 10, "shm");
  job.nodes.push_back("elsewhere");
  job.seats[1] = {1, 0, 0};
  const auto report = run_locally(job, Deadline::in(Seconds(5)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::bad_input);
}

// Records of messages count as what a node has to hold, and a process keeps no more of them than that.
TEST(Events, CountAndAreBounded) {
  run::Job job = job_of("ring", 2, 2, "shm");
  const std::uint64_t without = bytes_on_node(job, 0);
  job.events = true;
  EXPECT_EQ(bytes_on_node(job, 0), without + max_events * event_bytes);
  const auto few = run_locally(job, Deadline::in(Seconds(20)));
  ASSERT_TRUE(few) << few.error().text();
  EXPECT_GE(few->trace.events.size(), 8u);
  job.call.elements = 1 << 16;
  job.call.slice_bytes = 8;
  job.iterations = 20;
  const auto many = run_locally(job, Deadline::in(Seconds(60)));
  ASSERT_FALSE(many) << many->trace.events.size();
  EXPECT_EQ(many.error().cause, Cause::bad_input);
  EXPECT_NE(many.error().what.find("262144"), std::string::npos) << many.error().what;
}

}  // namespace
}  // namespace ringtrue::engine
