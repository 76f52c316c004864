// Whole runs in one process, over each transport: every algorithm, type and operation gives the right result.
#include "engine/session.h"

#include <gtest/gtest.h>

#include "collective/algorithm.h"

namespace ringtrue::engine {
namespace {

Job job_of(const char* algorithm, int ranks, std::uint64_t elements, const char* transport) {
  Job job;
  job.algorithm = algorithm;
  job.nodes = {"local"};
  for (int r = 0; r < ranks; ++r) job.seats.push_back({0, 0, r});
  job.call.elements = elements;
  job.call.slice_bytes = 4096;
  job.transport = transport;
  job.iterations = 2;
  job.warmup = 0;
  return job;
}

std::uint64_t wrong(const RunReport& report) {
  std::uint64_t sum = 0;
  for (const RankReport& rank : report.ranks) sum += rank.wrong;
  return sum;
}

class Local : public testing::TestWithParam<const char*> {};

TEST_P(Local, EveryAlgorithmIsRight) {
  for (const collective::Algorithm& algorithm : collective::algorithms()) {
    if (algorithm.uses_packets()) continue;
    if (algorithm.uses_packets()) continue;  // below
    for (const int ranks : {1, 2, 3, 5, 8}) {
      for (const std::uint64_t elements : {0ul, 1ul, 3ul, 1000ul, 50'001ul}) {
        const Job job = job_of(std::string(algorithm.name).c_str(), ranks, elements, GetParam());
        const auto report = run_locally(job, Deadline::in(Seconds(20)));
        ASSERT_TRUE(report) << algorithm.name << " " << ranks << " " << elements << ": "
                            << report.error().text();
        EXPECT_EQ(report->ranks.size(), std::size_t(ranks));
        EXPECT_EQ(wrong(*report), 0u) << algorithm.name << " " << ranks << " " << elements;
      }
    }
  }
}

TEST_P(Local, EveryTypeAndOperationIsRight) {
  for (const collective::Type type : collective::all_types)
    for (const collective::Operation operation : collective::all_operations)
      for (const char* algorithm : {"ring", "double-tree", "recursive-doubling"}) {
        Job job = job_of(algorithm, 5, 3001, GetParam());
        job.call.type = type;
        job.call.operation = operation;
        const auto report = run_locally(job, Deadline::in(Seconds(20)));
        ASSERT_TRUE(report) << report.error().text();
        EXPECT_EQ(wrong(*report), 0u) << algorithm << " " << name(type) << " " << name(operation);
      }
}

TEST_P(Local, ABrokenValueIsCounted) {
  Job job = job_of("ring", 4, 10'000, GetParam());
  job.fault = "corrupt-value@1>2:nth=3";
  const auto report = run_locally(job, Deadline::in(Seconds(20)));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_GT(wrong(*report), 0u);
}

TEST_P(Local, ABrokenFrameEndsTheRunAndNamesTheHop) {
  Job job = job_of("ring", 4, 10'000, GetParam());
  job.fault = "corrupt-frame@1>2:nth=2";
  const auto report = run_locally(job, Deadline::in(Seconds(20)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::corrupted);
  EXPECT_NE(report.error().what.find("rank 1"), std::string::npos) << report.error().what;
  EXPECT_NE(report.error().what.find("rank 2"), std::string::npos) << report.error().what;
}

TEST_P(Local, ALostMessageIsNoticed) {
  Job job = job_of("ring", 3, 50'000, GetParam());
  job.fault = "drop@0>1:nth=2";
  const auto report = run_locally(job, Deadline::in(Seconds(5)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::corrupted);
}

TEST_P(Local, ACutEndsTheRun) {
  Job job = job_of("ring", 3, 50'000, GetParam());
  job.fault = "cut@0>1:after=16K";
  const auto report = run_locally(job, Deadline::in(Seconds(5)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::peer_lost);
}

TEST_P(Local, AStallMeetsTheDeadlineAndNamesWhoIsWaitedFor) {
  Job job = job_of("ring", 3, 50'000, GetParam());
  job.fault = "stall@0>1";
  const std::int64_t began = now_ns();
  const auto report = run_locally(job, Deadline::in(Seconds(0.3)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::deadline);
  EXPECT_NE(report.error().what.find("waited for rank"), std::string::npos) << report.error().what;
  EXPECT_LT(seconds_since(began).value, 2.0);
}

TEST_P(Local, ThrottledHopShowsInTheTrace) {
  Job job = job_of("ring", 4, 250'000, GetParam());
  job.fault = "throttle@1>2:rate=20MB/s";
  job.iterations = 1;
  const auto report = run_locally(job, Deadline::in(Seconds(20)));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(wrong(*report), 0u);
  // 1.5 MB over the throttled hop at 20 MB/s.
  EXPECT_GT(slowest(*report)[0], 0.05);
}

INSTANTIATE_TEST_SUITE_P(Transports, Local, testing::Values("shm", "tcp"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Session, ThirtyThreeRanksConnectAtOnce) {
  const auto report = run_locally(job_of("recursive-doubling", 33, 1000, "tcp"), Deadline::in(Seconds(20)));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(wrong(*report), 0u);
  const auto other = run_locally(job_of("halving-doubling", 33, 1000, "tcp"), Deadline::in(Seconds(20)));
  ASSERT_TRUE(other) << other.error().text();
}

TEST(Session, SharedMemoryDoesNotReachOtherNodes) {
  Job job = job_of("ring", 2, 10, "shm");
  job.nodes.push_back("elsewhere");
  job.seats[1] = {1, 0, 0};
  const auto report = run_locally(job, Deadline::in(Seconds(5)));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::bad_input);
}

}  // namespace
}  // namespace ringtrue::engine
