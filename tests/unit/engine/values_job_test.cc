#include "engine/values/job.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "collective/sparse.h"
#include "engine/kernels/half.h"
#include "engine/kernels/reduce.h"
#include "run/job.h"

namespace ringtrue::engine {
namespace {

using collective::Operation;
using collective::Overlap;
using collective::Rank;
using collective::Sparsity;
using collective::Type;
using Bytes = std::vector<std::byte>;

run::Job job_of(Type type, Operation operation, int workers, std::uint64_t elements,
                const Sparsity& sparsity) {
  run::Job job;
  job.algorithm = collective::AlgorithmId::omnireduce;
  job.seats.resize(std::size_t(workers) + 1);
  job.call.type = type;
  job.call.operation = operation;
  job.call.elements = elements;
  job.call.omni = {workers, 1, 24, 2, 3, false};
  job.sparsity = sparsity;
  job.seed = 11;
  return job;
}

std::vector<Bytes> inputs_of(const run::Job& job, const JobValues& values) {
  std::vector<Bytes> all;
  for (Rank worker = 0; worker < job.workers(); ++worker) {
    all.emplace_back(job.call.bytes(), std::byte(0x5a));
    values.fill(worker, all.back().data(), true);
  }
  return all;
}

// A dense allreduce of exactly these arrays.
Bytes reduced(const run::Job& job, const std::vector<Bytes>& inputs) {
  const auto& call = job.call;
  Bytes result = inputs[0];
  for (std::size_t w = 1; w < inputs.size(); ++w)
    reduce(call.type, call.operation, result.data(), result.data(), inputs[w].data(), call.elements);
  finish(call.type, call.operation, result.data(), call.elements, int(inputs.size()));
  return result;
}

class SparseData : public testing::TestWithParam<std::tuple<Type, Operation>> {};

TEST_P(SparseData, ExpectsWhatADenseAllreduceOfItGives) {
  const auto [type, operation] = GetParam();
  for (const Overlap overlap : {Overlap::same, Overlap::random, Overlap::disjoint})
    for (const double density : {0.0, 0.1, 0.5, 1.0})
      for (const double share : {1.0, 0.3})
        for (const int workers : {1, 2, 5}) {
          if (density == 1 && share == 1) continue;  // dense
          const run::Job job = job_of(type, operation, workers, 9001, {density, share, overlap, 64});
          const auto values = values_of(job, true);
          const std::vector<Bytes> inputs = inputs_of(job, *values);
          const Bytes right = reduced(job, inputs);
          const std::uint64_t size = size_of(type);
          for (const bool everything : {false, true}) {
            Bytes got = right;
            const Mismatch none = values->check(0, got.data(), everything);
            ASSERT_EQ(none.count, 0u) << key_of(overlap) << ' ' << density << ' ' << share << ' ' << workers
                                      << " workers, element " << none.first;
            // What was checked is wrong now, and filled again it is as it was.
            if (density > 0) {
              EXPECT_GT(values->check(0, got.data(), everything).count, 0u);
            }
            values->fill(0, got.data(), false);
            EXPECT_EQ(got, inputs[0]);
          }
          const collective::SparsePattern pattern(job.sparsity, 9001, job.seed);
          const Values dense(type, operation, workers, job.seed);
          Bytes all(job.call.bytes());
          for (Rank w = 0; w < workers; ++w) {
            dense.fill(w, all.data(), 9001);
            for (std::uint64_t i = 0; i < 9001; ++i) {
              if (!pattern.has(w, i / 64) || !pattern.value(w, i)) std::memset(&all[i * size], 0, size);
            }
            ASSERT_EQ(inputs[std::size_t(w)], all) << w;
          }
        }
}

TEST_P(SparseData, CountsWhatIsWrongWhereverItIs) {
  const auto [type, operation] = GetParam();
  const std::uint64_t size = size_of(type), elements = 50'000;
  const run::Job job = job_of(type, operation, 3, elements, {0.02, 1, Overlap::random, 64});
  const auto values = values_of(job, true);
  const Bytes right = reduced(job, inputs_of(job, *values));
  const collective::SparsePattern pattern(job.sparsity, elements, job.seed);
  std::uint64_t inside = elements, outside = elements;  // blocks of somebody, and far from any
  const auto any = [&](std::uint64_t k) {
    return pattern.has(0, k) || pattern.has(1, k) || pattern.has(2, k);
  };
  for (std::uint64_t k = 10; k + 1 < pattern.blocks(); ++k) {
    if (any(k)) inside = k;
    if (!any(k - 1) && !any(k) && !any(k + 1)) outside = k;
  }
  ASSERT_TRUE(inside < elements && outside < elements);
  Bytes got = right;
  got[(inside * 64 + 3) * size] ^= std::byte(4);
  Mismatch found = values->check(2, got.data(), false);
  EXPECT_EQ(found.count, 1u);
  EXPECT_EQ(found.first, inside * 64 + 3);

  got = right;
  for (const std::uint64_t element : {outside * 64 + 63, outside * 64 + 5})
    got[element * size + size / 2] = std::byte(0x21);
  EXPECT_EQ(values->check(2, got.data(), false).count, 0u);  // left out, until the last
  values->fill(2, got.data(), false);
  got = right;
  for (const std::uint64_t element : {outside * 64 + 63, outside * 64 + 5})
    got[element * size + size / 2] = std::byte(0x21);
  found = values->check(2, got.data(), true);
  EXPECT_EQ(found.count, 2u);
  EXPECT_EQ(found.first, outside * 64 + 5);
}

// Columns' first blocks are sent whatever they hold: 2 streams x 3 columns x 24 elements.
TEST_P(SparseData, ChecksTheFirstRowEachTime) {
  const auto [type, operation] = GetParam();
  const run::Job job = job_of(type, operation, 2, 2000, {0, 1, Overlap::same, 16});
  const auto values = values_of(job, true);
  Bytes got(job.call.bytes());
  EXPECT_EQ(values->check(0, got.data(), true).count, 0u);
  values->fill(0, got.data(), false);
  got[143 * size_of(type)] = std::byte(1);
  const Mismatch found = values->check(0, got.data(), false);
  EXPECT_EQ(found.count, 1u);
  EXPECT_EQ(found.first, 143u);
}

TEST_P(SparseData, OtherAlgorithmsAreCheckedAndFilledWhole) {
  const auto [type, operation] = GetParam();
  run::Job job = job_of(type, operation, 3, 7000, {0.1, 1, Overlap::disjoint, 64});
  job.call.omni = {};
  job.seats.resize(3);
  job.algorithm = collective::AlgorithmId::ring;
  const auto values = values_of(job, true);
  const std::vector<Bytes> inputs = inputs_of(job, *values);
  Bytes got = reduced(job, inputs);
  EXPECT_EQ(values->check(1, got.data(), false).count, 0u);
  EXPECT_GT(values->check(1, got.data(), false).count, 6900u);  // all of it is poisoned
  values->fill(1, got.data(), false);
  EXPECT_EQ(got, inputs[1]);
  const auto neighbours = values_of(job, false);
  got = inputs[0];
  EXPECT_EQ(neighbours->check(1, got.data(), true).count, 0u);
  got = inputs[1];
  EXPECT_GT(neighbours->check(1, got.data(), true).count, 500u);
}

INSTANTIATE_TEST_SUITE_P(All, SparseData,
                         testing::Combine(testing::ValuesIn(collective::all_types),
                                          testing::ValuesIn(collective::all_operations)));

TEST(JobValues, MissingBlocksAreZeros) {
  const auto at = [](const Bytes& bytes, std::uint64_t i) {
    float value;
    std::memcpy(&value, &bytes[i * 4], 4);
    return value;
  };
  for (const Operation operation : {Operation::min, Operation::max, Operation::prod}) {
    const run::Job job = job_of(Type::float32, operation, 2, 640, {0.5, 1, Overlap::disjoint, 64});
    const auto values = values_of(job, true);
    const std::vector<Bytes> inputs = inputs_of(job, *values);
    Bytes by_hand(640 * 4);
    bool negative = false, positive = false;
    for (std::uint64_t i = 0; i < 640; ++i) {
      const float a = at(inputs[0], i), b = at(inputs[1], i);
      negative |= a < 0 || b < 0;
      positive |= a > 0 || b > 0;
      const float right = operation == Operation::min   ? std::fmin(a, b)
                          : operation == Operation::max ? std::fmax(a, b)
                                                        : -0.0f;  // a zero like any other
      std::memcpy(&by_hand[i * 4], &right, 4);
    }
    EXPECT_TRUE(negative && positive);
    EXPECT_EQ(values->check(0, by_hand.data(), true).count, 0u) << key_of(operation);
  }
}

TEST(JobValues, AggregatorsHoldNothing) {
  for (const double density : {0.1, 1.0}) {
    const run::Job job = job_of(Type::float32, Operation::sum, 2, 100, {density, 1, Overlap::same, 16});
    const auto values = values_of(job, true);
    values->fill(2, nullptr, true);
    EXPECT_EQ(values->check(2, nullptr, true).count, 0u);
  }
}

TEST(JobValues, OfNoElementsNothingIsWrong) {
  const run::Job job = job_of(Type::float32, Operation::avg, 2, 0, {0.1, 0.5, Overlap::random, 16});
  const auto values = values_of(job, true);
  values->fill(0, nullptr, true);
  EXPECT_EQ(values->check(0, nullptr, true).count, 0u);
}

TEST(JobValues, DenseDataIsWhatItAlwaysWas) {
  const run::Job job = job_of(Type::float16, Operation::avg, 4, 9001, {});
  const auto values = values_of(job, true);
  const std::vector<Bytes> inputs = inputs_of(job, *values);
  const Values dense(Type::float16, Operation::avg, 4, job.seed);
  Bytes same(job.call.bytes());
  dense.fill(3, same.data(), 9001);
  EXPECT_EQ(inputs[3], same);
  Bytes got = reduced(job, inputs);
  got[5000 * 2] ^= std::byte(1);
  EXPECT_EQ(values->check(0, got.data(), false).first, 5000u);
}

}  // namespace
}  // namespace ringtrue::engine
