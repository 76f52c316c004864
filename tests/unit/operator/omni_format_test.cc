// Blocks or pairs: as asked for, or by what the data at hand costs, with the reason.
#include "operator/omni_format.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ringtrue::ops {
namespace {

run::Job job_of(std::uint64_t elements) {
  run::Job job;
  job.algorithm = collective::AlgorithmId::omnireduce;
  job.call.elements = elements;
  job.call.omni.workers = 3;
  job.call.omni.aggregators = 1;
  return job;
}

OmniRequest asked(FormatRequest format) {
  OmniRequest flags;
  flags.format = format;
  return flags;
}

TEST(OmniFormat, IsBlocksUnlessAskedFor) {
  const auto choice = format_of({}, job_of(1000), Placement::dedicated);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->key_bytes, 0u);
  EXPECT_TRUE(choice->why.empty());
  EXPECT_FALSE(choice->held);
}

TEST(OmniFormat, FollowsTheDataWhereItMay) {
  run::Job job = job_of(1 << 16);
  job.sparsity.value_density = 0.1;
  const auto sparse = format_of(asked(FormatRequest::automatic), job, Placement::dedicated);
  ASSERT_TRUE(sparse);
  EXPECT_EQ(sparse->key_bytes, 4u);
  EXPECT_NE(sparse->why.find("10% of the values in a worker's blocks"), std::string::npos) << sparse->why;
  // The same share, but where each worker draws its own many meet in the result.
  job.call.omni.workers = 16;
  job.sparsity.overlap = collective::Overlap::random;
  const auto united = format_of(asked(FormatRequest::automatic), job, Placement::dedicated);
  ASSERT_TRUE(united);
  EXPECT_EQ(united->key_bytes, 0u) << united->why;
  job.sparsity = {0.1, 1, collective::Overlap::same, 256};
  const auto clustered = format_of(asked(FormatRequest::automatic), job, Placement::colocated);
  ASSERT_TRUE(clustered);
  EXPECT_EQ(clustered->key_bytes, 0u) << clustered->why;
  const auto told = format_of(asked(FormatRequest::pairs), job, Placement::colocated);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->key_bytes, 4u);
  EXPECT_TRUE(told->why.empty());
  EXPECT_DOUBLE_EQ(told->held->values.worker, told->held->blocks.worker);
}

TEST(OmniFormat, CountsTheOperatorsOwnValues) {
  run::Job job = job_of(512);
  auto input = std::make_shared<run::Input>();
  input->elements = 512;
  for (int w = 0; w < 3; ++w) {
    std::vector<float> row(512, -0.0f);  // which is zero
    row[std::size_t(w)] = 1;
    const auto* bytes = reinterpret_cast<const std::byte*>(row.data());
    input->rows.emplace_back(bytes, bytes + row.size() * sizeof(float));
  }
  job.input = input;
  const auto choice = format_of(asked(FormatRequest::automatic), job, Placement::dedicated);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->key_bytes, 4u);
  EXPECT_DOUBLE_EQ(choice->held->values.worker, 1.0 / 512);
  EXPECT_DOUBLE_EQ(choice->held->values.united, 3.0 / 512);
  EXPECT_DOUBLE_EQ(choice->held->blocks.united, 0.5);
}

TEST(OmniFormat, IsBlocksWherePairsCannotBe) {
  run::Job job = job_of(1000);
  job.sparsity.value_density = 0.01;
  job.memory = run::Memory::device;
  const auto automatic = format_of(asked(FormatRequest::automatic), job, Placement::dedicated);
  ASSERT_TRUE(automatic);
  EXPECT_EQ(automatic->key_bytes, 0u);
  EXPECT_EQ(automatic->why, "data on GPUs goes in blocks");
  const auto refused = format_of(asked(FormatRequest::pairs), job, Placement::dedicated);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().cause, Cause::bad_input);
}

TEST(OmniFormat, TakesKeysThatNumberAllElements) {
  OmniRequest flags = asked(FormatRequest::pairs);
  flags.key_bytes = 4;
  EXPECT_FALSE(format_of(flags, job_of(std::uint64_t(1) << 33), Placement::dedicated));
  flags.key_bytes = 8;
  const auto wide = format_of(flags, job_of(1000), Placement::dedicated);
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->key_bytes, 8u);
}

}  // namespace
}  // namespace ringtrue::ops
