// Whole runs on a real GPU; skipped where there is none.
#include <gtest/gtest.h>

#include "run/gpu.h"
#include "run/job.h"
#include "tests/support/local_job.h"
#include "transport/cuda/load.h"

namespace ringtrue::engine {
namespace {

class CudaGpuSession : public testing::Test {
 protected:
  void SetUp() override {
    const auto driver = transport::cuda::system_driver();
    if (!driver) GTEST_SKIP() << driver.error().text();
  }

  static run::Job job_of(const char* algorithm, int ranks, std::uint64_t elements) {
    run::Job job = test::local_job(algorithm, ranks, elements);
    job.memory = run::Memory::device;
    job.gpus = {0};
    job.share_gpus = true;  // with whatever else tests run there
    job.iterations = 2;
    job.warmup = 1;
    return job;
  }

  static void expect_right(const run::Job& job, const char* play) {
    const auto report = run_locally(job, Deadline::in(Seconds(60)));
    ASSERT_TRUE(report) << key_of(job.algorithm) << ": " << report.error().text();
    EXPECT_EQ(test::wrong(*report), 0u) << key_of(job.algorithm);
    ASSERT_EQ(report->gpus.size(), 1u);
    EXPECT_EQ(key_of(report->gpus[0].play), std::string_view(play));
    EXPECT_EQ(report->gpus[0].uuid.substr(0, 3), "GPU");
  }
};

TEST_F(CudaGpuSession, KernelsPlay) {
  for (const std::uint64_t elements : {0ul, 256ul, 1'000'003ul})
    expect_right(job_of("ring", 4, elements), "kernel");
}

TEST_F(CudaGpuSession, TheHostPlaysOnMirrors) {
  for (const char* transport : {"shm", "tcp"}) {
    run::Job job = job_of("ring", 3, 1'000'003);
    job.transport = *parse_key<run::Transport>(transport);
    expect_right(job, "mirror");
  }
}

TEST_F(CudaGpuSession, TheGpuFindsTheBlocksOfAnOmnireduce) {
  run::Job job = job_of("omnireduce", 5, 1 << 20);
  job.call.omni.workers = 4;
  job.call.omni.aggregators = 1;
  job.sparsity.density = 0.1;
  expect_right(job, "mirror");
}

TEST_F(CudaGpuSession, MeasuresWhatTheGpuCarries) {
  run::Job job = job_of("ring", 1, 16 << 20);
  job.gpu_limits = true;
  const auto report = run_locally(job, Deadline::in(Seconds(60)));
  ASSERT_TRUE(report) << report.error().text();
  bool copies = false;
  for (const run::GpuLimit& limit : report->gpu_limits) {
    EXPECT_TRUE(limit.rate || !limit.why_not.empty()) << key_of(limit.kind);
    copies |= limit.kind == run::GpuLimit::Kind::device_copy && limit.rate;
  }
  EXPECT_TRUE(copies);
}

}  // namespace
}  // namespace ringtrue::engine
