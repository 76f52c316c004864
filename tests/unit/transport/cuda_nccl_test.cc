#include "transport/cuda/nccl.h"

#include <gtest/gtest.h>

namespace ringtrue::transport::cuda {
namespace {

TEST(CudaNccl, ItsLogTellsWhichAlgorithmRanLast) {
  EXPECT_EQ(
      told_by("n:1:1 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..1}\n"
              "n:1:1 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..1}\n"),
      "RING, LL128");
  EXPECT_EQ(told_by("n:1:1 [0] NCCL INFO 262144 Bytes -> Algo 0 proto 1 time 54.707825\n"), "TREE, LL128");
  EXPECT_EQ(told_by("n:1:1 [0] NCCL INFO 805306368 Bytes -> Algo 1 proto 2 time 3970.683594"),
            "RING, SIMPLE");
  EXPECT_EQ(told_by("Bytes -> Algo 9 proto 0 time 1"), "9, LL") << "one that came later";
  EXPECT_EQ(told_by("Bytes -> Algo 1\nproto 2"), "RING") << "of another line";
  EXPECT_EQ(told_by("Bytes -> Algo \x1b[2J proto 2"), "") << "nothing that a terminal would obey";
  EXPECT_EQ(told_by("NCCL INFO nothing of the kind"), "");
}

}  // namespace
}  // namespace ringtrue::transport::cuda
