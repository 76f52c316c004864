#include "worker/local_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "run/job.h"
#include "worker/group.h"

namespace ringtrue::worker {
namespace {

run::Job job_of(int ranks) {
  run::Job job;
  job.nodes = {"localhost"};
  for (int r = 0; r < ranks; ++r) job.seats.push_back({0, 0, r});
  job.call.elements = 1000;
  job.iterations = 2;
  return job;
}

int children() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    for (int pid; list >> pid;) ++count;
  }
  return count;
}

TEST(LocalProcesses, RefuseWhatCannotBe) {
  EXPECT_EQ(run_in_processes(job_of(2), 3, Deadline::in(Seconds(1))).error().cause, Cause::bad_input);
  EXPECT_EQ(run_in_processes(job_of(2), 0, Deadline::in(Seconds(1))).error().cause, Cause::bad_input);
  run::Job two = job_of(2);
  two.nodes = {"a", "b"};
  EXPECT_EQ(run_in_processes(two, 1, Deadline::in(Seconds(1))).error().cause, Cause::bad_input);
}

class WithWorker : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!worker::find_worker()) GTEST_SKIP() << "ringtrue-worker is not built beside this test";
  }
};

TEST_P(WithWorker, PlaysARunAndLeavesNothing) {
  run::Job job = job_of(5);
  job.transport = *parse_key<run::Transport>(GetParam());
  for (const int processes : {1, 2, 5}) {
    const auto report = run_in_processes(job, processes, Deadline::in(Seconds(10)));
    ASSERT_TRUE(report) << report.error().text();
    ASSERT_EQ(report->ranks.size(), 5u);
    for (int r = 0; r < 5; ++r) {
      EXPECT_EQ(report->ranks[std::size_t(r)].rank, r);
      EXPECT_EQ(report->ranks[std::size_t(r)].wrong, 0u);
    }
    EXPECT_EQ(run::to_text(report->transports), GetParam());
    EXPECT_EQ(children(), 0);
  }
}

TEST_P(WithWorker, KeepsTheDeadline) {
  run::Job job = job_of(4);
  job.transport = *parse_key<run::Transport>(GetParam());
  job.fault = "stall@1>2";
  const std::int64_t begun = now_ns();
  const auto report = run_in_processes(job, 2, Deadline::in(Seconds(0.5)));
  EXPECT_LT(seconds_since(begun).value, 3.0);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().cause, Cause::deadline);
  EXPECT_EQ(children(), 0);
}

INSTANTIATE_TEST_SUITE_P(Transports, WithWorker, testing::Values("shm", "tcp"));

}  // namespace
}  // namespace ringtrue::worker
