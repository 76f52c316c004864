#include "engine/values/job.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "engine/kernels/half.h"
#include "engine/kernels/reduce.h"
#include "run/job.h"

namespace ringtrue::engine {
namespace {

using collective::Operation;
using collective::Rank;
using collective::Type;
using Bytes = std::vector<std::byte>;

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan_value = std::nan("");

void put(Type type, Bytes& into, std::uint64_t at, double value) {
  std::byte* to = into.data() + at * size_of(type);
  const auto store = [&](auto narrow) { std::memcpy(to, &narrow, sizeof narrow); };
  switch (type) {
    case Type::float16:
      return store(float_to_float16(float(value)));
    case Type::bfloat16:
      return store(float_to_bfloat16(float(value)));
    case Type::float32:
      return store(float(value));
    case Type::float64:
      return store(value);
    case Type::int32:
      return store(std::int32_t(value));
    default:
      return store(std::int64_t(value));
  }
}

run::Job job_of(Type type, Operation operation, int workers, std::vector<Bytes> rows) {
  run::Job job;
  job.seats.resize(std::size_t(workers));
  job.call.type = type;
  job.call.operation = operation;
  job.call.elements = rows[0].size() / size_of(type);
  auto input = std::make_shared<run::Input>();
  input->type = type;
  input->elements = job.call.elements;
  input->rows = std::move(rows);
  job.input = input;
  return job;
}

// One element a worker.
run::Job job_of_one(Type type, Operation operation, const std::vector<double>& values) {
  std::vector<Bytes> rows;
  for (const double value : values) put(type, rows.emplace_back(size_of(type)), 0, value);
  return job_of(type, operation, int(values.size()), rows);
}

bool right(const run::Job& job, double value) {
  Bytes got(size_of(job.call.type));
  put(job.call.type, got, 0, value);
  return values_of(job, true)->check(0, got.data(), true).count == 0;
}

constexpr Type floats[] = {Type::float32, Type::float64, Type::float16, Type::bfloat16};

class OwnData : public testing::TestWithParam<std::tuple<Type, Operation>> {};

TEST_P(OwnData, AcceptsEveryOrderAndFindsWhatIsWrong) {
  const auto [type, operation] = GetParam();
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0, 2);
  const std::uint64_t elements = 3001, size = size_of(type);
  // Products of 16 of them must not overflow.
  const auto value = [&, operation = operation] {
    const double x = std::round(normal(random) * 64) / 16;
    return operation == Operation::prod ? std::copysign(1 + std::fabs(x) / 64, x) : x;
  };
  for (const int workers : {1, 2, 7, 16}) {
    std::vector<Bytes> rows;
    for (int w = 0; w < workers; ++w) {
      Bytes& row = rows.emplace_back(elements * size);
      for (std::uint64_t i = 0; i < elements; ++i) put(type, row, i, value());
    }
    const run::Job job = job_of(type, operation, workers, rows);
    const auto values = values_of(job, true);
    for (int order = 0; order < 3; ++order) {
      std::shuffle(rows.begin(), rows.end(), random);
      Bytes got = rows[0];
      for (int w = 1; w < workers; ++w)
        reduce(type, operation, got.data(), got.data(), rows[std::size_t(w)].data(), elements);
      finish(type, operation, got.data(), elements, workers);
      ASSERT_EQ(values->check(0, got.data(), true).count, 0u) << workers;
      for (const std::uint64_t at : {17u, 2999u}) put(type, got, at, 30'000);
      const Mismatch found = values->check(0, got.data(), false);
      ASSERT_EQ(found.count, 2u) << workers;
      ASSERT_EQ(found.first, 17u);
    }
  }
}

TEST_P(OwnData, OneRowServesAllWorkers) {
  const auto [type, operation] = GetParam();
  const std::uint64_t elements = 1500;
  Bytes row(elements * size_of(type));
  for (std::uint64_t i = 0; i < elements; ++i) put(type, row, i, double(i % 5) - 2);
  const run::Job job = job_of(type, operation, 4, {row});
  const auto values = values_of(job, true);
  Bytes got(row.size());
  values->fill(3, got.data(), false);
  ASSERT_EQ(got, row);
  for (int w = 1; w < 4; ++w) reduce(type, operation, got.data(), got.data(), row.data(), elements);
  finish(type, operation, got.data(), elements, 4);
  EXPECT_EQ(values->check(2, got.data(), true).count, 0u);
  got = row;
  EXPECT_EQ(values_of(job, false)->check(2, got.data(), true).count, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, OwnData,
                         testing::Combine(testing::ValuesIn(collective::all_types),
                                          testing::ValuesIn(collective::all_operations)));

class OwnFloats : public testing::TestWithParam<Type> {};

TEST_P(OwnFloats, NotANumberIsExpectedWhereItMustBe) {
  const Type type = GetParam();
  for (const Operation operation : collective::all_operations) {
    const run::Job job = job_of_one(type, operation, {1, nan_value, 2});
    EXPECT_TRUE(right(job, nan_value));
    for (const double wrong : {0.0, 1.0, 3.0, infinity}) EXPECT_FALSE(right(job, wrong)) << key_of(operation);
    const run::Job clean = job_of_one(type, operation, {1, 2, 2});
    EXPECT_FALSE(right(clean, nan_value)) << key_of(operation);
    EXPECT_FALSE(right(clean, infinity)) << key_of(operation);
  }
  EXPECT_TRUE(right(job_of_one(type, Operation::sum, {infinity, -infinity}), nan_value));
  EXPECT_FALSE(right(job_of_one(type, Operation::sum, {infinity, -infinity}), infinity));
  EXPECT_TRUE(right(job_of_one(type, Operation::prod, {infinity, 0}), nan_value));
  EXPECT_FALSE(right(job_of_one(type, Operation::prod, {infinity, 0}), 0));
}

TEST_P(OwnFloats, InfinitiesKeepTheirSign) {
  const Type type = GetParam();
  for (const Operation operation : {Operation::sum, Operation::avg, Operation::min, Operation::prod}) {
    const run::Job job = job_of_one(type, operation, {2, -infinity, 3});
    EXPECT_TRUE(right(job, -infinity)) << key_of(operation);
    for (const double wrong : {infinity, nan_value, 5.0})
      EXPECT_FALSE(right(job, wrong)) << key_of(operation);
  }
}

TEST_P(OwnFloats, OverflowMayDependOnTheOrder) {
  const Type type = GetParam();
  const double most = type == Type::float16    ? 65504
                      : type == Type::bfloat16 ? 0x1.fep127
                      : type == Type::float32  ? double(std::numeric_limits<float>::max())
                                               : std::numeric_limits<double>::max();
  const run::Job job = job_of_one(type, Operation::sum, {most, most, -most});
  for (const double good : {most, infinity}) EXPECT_TRUE(right(job, good)) << good;
  EXPECT_FALSE(right(job, -most));
  EXPECT_FALSE(right(job_of_one(type, Operation::sum, {most / 2, -most / 2, most / 4}), infinity));
  EXPECT_TRUE(right(job_of_one(type, Operation::prod, {most, most, 0.0}), 0));
}

TEST_P(OwnFloats, ToleratesRoundingAndNoMore) {
  const Type type = GetParam();
  const double eps = type == Type::float16    ? 0x1p-10
                     : type == Type::bfloat16 ? 0x1p-7
                     : type == Type::float32  ? 0x1p-23
                                              : 0x1p-52;
  const run::Job sum = job_of_one(type, Operation::sum, {1, -1, 1, 1});
  EXPECT_TRUE(right(sum, 2 + 2 * 4 * eps * 3));
  EXPECT_FALSE(right(sum, 2 + 2 * 4 * eps * 6));
  const run::Job product = job_of_one(type, Operation::prod, {1, 2});
  EXPECT_TRUE(right(product, 2 * (1 + 2 * eps)));
  EXPECT_FALSE(right(product, 2 * (1 + 6 * eps)));
  EXPECT_FALSE(right(job_of_one(type, Operation::max, {1, 2}), 2 * (1 + eps)));
  EXPECT_TRUE(right(job_of_one(type, Operation::min, {0.0, 1}), -0.0));
}

INSTANTIATE_TEST_SUITE_P(All, OwnFloats, testing::ValuesIn(floats));

TEST(OwnIntegers, WrapAndTruncate) {
  const double most = std::numeric_limits<std::int32_t>::max();
  EXPECT_TRUE(right(job_of_one(Type::int32, Operation::sum, {most, 1}), -most - 1));
  EXPECT_TRUE(right(job_of_one(Type::int32, Operation::avg, {-3, -4}), -3));
  EXPECT_FALSE(right(job_of_one(Type::int32, Operation::avg, {-3, -4}), -4));
}

TEST(OwnRows, MustFitTheCall) {
  const run::Job good = job_of(Type::float32, Operation::sum, 3, {Bytes(40)});
  EXPECT_TRUE(check_values(good));
  const auto refused = [&](auto spoil) {
    run::Job job = good;
    auto input = std::make_shared<run::Input>(*good.input);
    spoil(*input);
    job.input = input;
    const auto checked = check_values(job);
    return !checked && checked.error().cause == Cause::bad_input;
  };
  EXPECT_TRUE(refused([](run::Input& input) { input.type = Type::int32; }));
  EXPECT_TRUE(refused([](run::Input& input) { input.elements = 9; }));
  EXPECT_TRUE(refused([](run::Input& input) { input.rows.clear(); }));
  EXPECT_TRUE(refused([](run::Input& input) { input.rows.emplace_back(40); }));
  EXPECT_TRUE(refused([](run::Input& input) { input.rows[0].resize(39); }));
  EXPECT_TRUE(check_values(run::Job{}));
}

}  // namespace
}  // namespace ringtrue::engine
