#include "transport/cuda/nccl.h"

#include <gtest/gtest.h>

#include "paths.h"
#include "tests/support/fake_cuda.h"

namespace ringtrue::transport::cuda {
namespace {

TEST(CudaNccl, ItsLogTellsWhichAlgorithmRanLast) {
  EXPECT_EQ(
      algorithm_in_log(
          "n:1:1 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..1}\n"
          "n:1:1 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..1}\n"),
      "RING, LL128");
  EXPECT_EQ(algorithm_in_log("n:1:1 [0] NCCL INFO 262144 Bytes -> Algo 0 proto 1 time 54.707825\n"),
            "TREE, LL128");
  EXPECT_EQ(algorithm_in_log("n:1:1 [0] NCCL INFO 805306368 Bytes -> Algo 1 proto 2 time 3970.683594"),
            "RING, SIMPLE");
  EXPECT_EQ(algorithm_in_log("Bytes -> Algo 9 proto 0 time 1"), "9, LL") << "one that came later";
  EXPECT_EQ(algorithm_in_log("Bytes -> Algo 1\nproto 2"), "RING") << "of another line";
  EXPECT_EQ(algorithm_in_log("Bytes -> Algo \x1b[2J proto 2"), "") << "nothing that a terminal would obey";
  EXPECT_EQ(algorithm_in_log("NCCL INFO nothing of the kind"), "");
}

TEST(CudaNccl, IsGivenUpWhereItDoesNotConnect) {
  const auto soon = [] { return Deadline::in(Seconds(0.05)); };
  const int gpus[] = {0, 1, 2, 3};
  const auto three = Nccl::open(std::span(gpus, 3), soon(), RINGTRUE_FAKE_NCCL);
  ASSERT_FALSE(three);
  EXPECT_EQ(three.error().cause, Cause::deadline);
  EXPECT_EQ(three.error().text(), "NCCL did not connect these GPUs in time; see NCCL_DEBUG=INFO");

  const auto four = Nccl::open(gpus, Deadline::in(Seconds(20)), RINGTRUE_FAKE_NCCL);
  ASSERT_TRUE(four) << four.error().text();
  test::FakeMachine machine;
  const auto driver = machine.process();
  const auto device = std::move(*driver->open(0));
  const auto stream = std::move(*device->make_stream());
  const std::vector<Nccl::Part> parts(4, {stream->native(), nullptr});
  const auto called =
      (*four)->allreduce(parts, 1, collective::Type::float32, collective::Operation::sum, soon());
  ASSERT_FALSE(called);
  EXPECT_EQ(called.error().text(), "NCCL did not start an allreduce in time; see NCCL_DEBUG=INFO");
  (*four)->abort();
}

}  // namespace
}  // namespace ringtrue::transport::cuda
