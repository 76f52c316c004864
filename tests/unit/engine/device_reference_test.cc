// NCCL's allreduce as a reference, played by a library with its functions; and the limits of GPUs as a job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/session/session.h"
#include "paths.h"
#include "run/job.h"
#include "run/member.h"
#include "run/report.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/local_job.h"

namespace ringtrue::engine {
namespace {

using test::FakeGpu;
using test::FakeMachine;
using testing::HasSubstr;

run::Job job_of(const char* algorithm, int ranks, std::uint64_t elements) {
  run::Job job = test::local_job(algorithm, ranks, elements);
  job.memory = run::Memory::device;
  job.iterations = 2;
  return job;
}

Result<run::RunReport> played(FakeMachine& machine, const run::Job& job,
                              const std::string& nccl = RINGTRUE_FAKE_NCCL) {
  const auto driver = machine.process();
  run::Member member;
  member.cuda = driver.get();
  member.data_address = "127.0.0.1";
  member.nccl = nccl;
  auto session = std::move(*Session::open(member));
  const Deadline soon = Deadline::in(Seconds(20));
  const auto port = session->prepare(job);
  if (!port) return tl::unexpected(port.error());
  Result<void> done = session->connect({{{"127.0.0.1", *port}}}, soon);
  if (done) done = session->barrier(soon);
  if (done) done = session->run(soon);
  if (!done) return tl::unexpected(done.error());
  return session->collect();
}

TEST(DeviceReference, NcclRunsOnTheSameBuffers) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  for (const std::uint64_t elements : {1000ul, 200'000ul}) {
    run::Job job = job_of("ring", 2, elements);
    job.reference = "nccl";
    const auto report = played(machine, job);
    ASSERT_TRUE(report) << report.error().text();
    ASSERT_TRUE(report->reference);
    EXPECT_EQ(report->reference->why_not, "");
    EXPECT_EQ(report->reference->library, "NCCL 2.28.9");
    EXPECT_EQ(report->reference->how, "RING, LL128");
    EXPECT_EQ(report->reference->wrong, 0u);
    ASSERT_EQ(report->reference->time_s.size(), 2u);
    EXPECT_GT(report->reference->time_s[0], 0);
  }
}

std::string why_not(const run::Job& job, const std::string& nccl = RINGTRUE_FAKE_NCCL) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  const auto report = played(machine, job, nccl);
  return report && report->reference ? report->reference->why_not : "no report";
}

TEST(DeviceReference, SaysWhyItDidNotRun) {
  run::Job job = job_of("ring", 2, 1000);
  job.reference = "nccl";
  EXPECT_THAT(why_not(job, "libnccl-of-nobody.so"), HasSubstr("libnccl-of-nobody.so cannot be opened"));
  EXPECT_THAT(why_not(job, "libc.so.6"), HasSubstr("libc.so.6 has no ncclGetVersion"));
  job.call.operation = collective::Operation::max;
  EXPECT_EQ(why_not(job), "NCCL cannot start an allreduce: invalid argument; see NCCL_DEBUG=INFO");
  job.reference = "mpi";
  EXPECT_EQ(why_not(job), "no library 'mpi' is known");
}

TEST(DeviceReference, OneRankAGpu) {
  run::Job job = job_of("ring", 3, 1000);
  job.reference = "nccl";
  EXPECT_EQ(why_not(job), "NCCL takes one rank a GPU, and here ranks share one");
  job = job_of("pairwise", 2, 1000);
  job.reference = "nccl";
  EXPECT_EQ(why_not(job), "NCCL has nothing like pairwise");
  job = job_of("ring", 2, 100'000);
  job.transport = run::Transport::shm;
  job.reference = "nccl";
  EXPECT_THAT(why_not(job), HasSubstr("shm was asked for"));
}

TEST(DeviceLimits, AreAJobLikeAnyOther) {
  FakeMachine machine({FakeGpu{}, FakeGpu{}});
  run::Job job = job_of("ring", 1, 16'384);
  job.gpu_limits = true;
  const auto report = played(machine, job);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_TRUE(report->ranks.empty());
  using Kind = run::GpuLimit::Kind;
  std::set<Kind> kinds;
  for (const run::GpuLimit& limit : report->gpu_limits) {
    kinds.insert(limit.kind);
    EXPECT_EQ(limit.node, "local");
    EXPECT_EQ(limit.gpu.uuid, "GPU-" + std::to_string(limit.gpu.index));
    EXPECT_EQ(limit.host == run::GpuLimit::Host::none, limit.kind >= Kind::device_copy);
  }
  EXPECT_EQ(kinds.size(), 8u);
  job.gpus = {1};
  const auto one = played(machine, job);
  ASSERT_TRUE(one) << one.error().text();
  for (const run::GpuLimit& limit : one->gpu_limits) EXPECT_EQ(limit.gpu.index, 1);
  machine.gpu_processes[1] = {{1, "python3", 0}};
  EXPECT_THAT(played(machine, job).error().what, HasSubstr("is used by python3"));
}

}  // namespace
}  // namespace ringtrue::engine
