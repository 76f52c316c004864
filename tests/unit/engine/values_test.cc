#include "engine/values/values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "engine/kernels/half.h"
#include "engine/kernels/reduce.h"

namespace ringtrue::engine {
namespace {

using collective::Operation;
using collective::Type;
using Bytes = std::vector<unsigned char>;

Bytes filled(const Values& values, Type type, int rank, std::uint64_t elements) {
  Bytes bytes(elements * size_of(type));
  values.fill(rank, bytes.data(), elements);
  return bytes;
}

double element(Type type, const Bytes& bytes, std::uint64_t index) {
  const unsigned char* at = bytes.data() + index * size_of(type);
  switch (type) {
    case Type::float32:
      return double(__builtin_bit_cast(float, *reinterpret_cast<const std::uint32_t*>(at)));
    case Type::float64:
      return __builtin_bit_cast(double, *reinterpret_cast<const std::uint64_t*>(at));
    case Type::float16:
      return float16_to_float(*reinterpret_cast<const std::uint16_t*>(at));
    case Type::bfloat16:
      return bfloat16_to_float(*reinterpret_cast<const std::uint16_t*>(at));
    case Type::int32:
      return *reinterpret_cast<const std::int32_t*>(at);
    default:
      return double(*reinterpret_cast<const std::int64_t*>(at));
  }
}

class EveryValue : public testing::TestWithParam<std::tuple<Type, Operation>> {};

// In several orders and groupings, each rounding in the type at every step: the expected bits in all of them.
TEST_P(EveryValue, GivesTheExpectedBitsInAnyOrder) {
  const auto [type, operation] = GetParam();
  std::mt19937 random(1);
  for (int ranks : {1, 2, 3, 8, 33, 86, 400}) {
    const std::uint64_t elements = 600;
    const Values values(type, operation, ranks, 42, elements);
    std::vector<Bytes> inputs;
    for (int rank = 0; rank < ranks; ++rank) inputs.push_back(filled(values, type, rank, elements));
    for (bool chain : {true, false}) {
      std::shuffle(inputs.begin(), inputs.end(), random);
      std::vector<Bytes> parts = inputs;
      while (parts.size() > 1) {  // the last into the one before it, or any into any
        const std::size_t target = chain ? parts.size() - 2 : random() % (parts.size() - 1);
        Bytes& into = parts[target];
        reduce(type, operation, into.data(), into.data(), parts.back().data(), elements);
        parts.pop_back();
      }
      finish(type, operation, parts[0].data(), elements, ranks);
      const Mismatch mismatch = values.check(parts[0].data(), elements, false);
      ASSERT_EQ(mismatch.count, 0u) << ranks << " ranks, chain " << chain << ", element " << mismatch.first;
    }
  }
}

TEST_P(EveryValue, IsNeverConstantAndDiffersByRankAndSeed) {
  const auto [type, operation] = GetParam();
  for (int ranks : {1, 8, 33, 4096}) {
    // Of the expected results one element is enough here.
    const Values values(type, operation, ranks, 1, 1), others(type, operation, ranks, 2, 1);
    const Bytes mine = filled(values, type, 0, Values::period);
    std::set<double> distinct;
    for (std::uint64_t i = 0; i < Values::period; ++i) distinct.insert(element(type, mine, i));
    EXPECT_GE(distinct.size(), 3u) << ranks;
    if (ranks > 1) {
      EXPECT_NE(mine, filled(values, type, 1, Values::period)) << ranks;
      EXPECT_NE(filled(values, type, ranks - 1, Values::period),
                filled(values, type, ranks / 2 - 1, Values::period));
    }
    EXPECT_NE(mine, filled(others, type, 0, Values::period)) << ranks;
  }
}

TEST_P(EveryValue, ExpectsOfAnotherSeedSomethingElse) {
  const auto [type, operation] = GetParam();
  for (int ranks : {1, 2, 8, 33}) {
    const Values first(type, operation, ranks, 1), second(type, operation, ranks, 2);
    Bytes result = filled(first, type, 0, Values::period);
    for (int rank = 1; rank < ranks; ++rank) {
      const Bytes input = filled(first, type, rank, Values::period);
      reduce(type, operation, result.data(), result.data(), input.data(), Values::period);
    }
    finish(type, operation, result.data(), Values::period, ranks);
    ASSERT_EQ(first.check(result.data(), Values::period, false).count, 0u);
    EXPECT_GT(second.check(result.data(), Values::period, false).count, Values::period / 2) << ranks;
  }
}

TEST_P(EveryValue, CountsWhatIsWrongAndPoisonsWhatItRead) {
  const auto [type, operation] = GetParam();
  const std::uint64_t elements = 2 * Values::period + 77;
  const Values values(type, operation, 1, 9);  // of one rank: the input is the result
  Bytes data = filled(values, type, 0, elements);
  if (operation == Operation::avg) finish(type, operation, data.data(), elements, 1);
  ASSERT_EQ(values.check(data.data(), elements, false).count, 0u);
  for (std::uint64_t index : {Values::period + 5, elements - 1}) data[index * size_of(type)] ^= 1;
  Mismatch mismatch = values.check(data.data(), elements, false);
  EXPECT_EQ(mismatch.count, 2u);
  EXPECT_EQ(mismatch.first, Values::period + 5);
  mismatch = values.check(data.data(), elements, true);
  EXPECT_EQ(mismatch.count, 2u);
  EXPECT_EQ(values.check(data.data(), elements, false).count, elements);  // all poison now
}

TEST_P(EveryValue, PoisonIsRightForNobody) {
  const auto [type, operation] = GetParam();
  for (int ranks : {1, 2, 3, 4}) {
    for (std::uint64_t seed = 1; seed < 6; ++seed) {
      const Values values(type, operation, ranks, seed), next(type, operation, ranks, seed + 1);
      Bytes data(Values::period * size_of(type));
      values.poison(data.data(), Values::period);
      ASSERT_EQ(values.check(data.data(), Values::period, false).count, Values::period);
      ASSERT_EQ(next.check(data.data(), Values::period, false).count, Values::period);
      for (int rank = 0; rank < ranks; ++rank) {
        ASSERT_EQ(values.check_neighbour(rank, data.data(), Values::period, false).count, Values::period);
      }
    }
  }
}

TEST_P(EveryValue, KnowsTheNeighboursInput) {
  const auto [type, operation] = GetParam();
  const std::uint64_t elements = Values::period + 100;
  const Values values(type, operation, 4, 3);
  Bytes data = filled(values, type, 2, elements);
  EXPECT_EQ(values.check_neighbour(2, data.data(), elements, false).count, 0u);
  EXPECT_GT(values.check_neighbour(1, data.data(), elements, false).count, elements / 5);
  data[7 * size_of(type)] ^= 4;
  const Mismatch mismatch = values.check_neighbour(2, data.data(), elements, true);
  EXPECT_EQ(mismatch.count, 1u);
  EXPECT_EQ(mismatch.first, 7u);
  EXPECT_EQ(values.check_neighbour(2, data.data(), elements, false).count, elements);
}

INSTANTIATE_TEST_SUITE_P(All, EveryValue,
                         testing::Combine(testing::ValuesIn(collective::all_types),
                                          testing::ValuesIn(collective::all_operations)));

TEST(Values, BrainFloatsOf33RanksGoUpToSeven) {
  const Values values(Type::bfloat16, Operation::sum, 33, 1);
  const Bytes mine = filled(values, Type::bfloat16, 5, Values::period);
  std::set<double> magnitudes;
  for (std::uint64_t i = 0; i < Values::period; ++i) {
    magnitudes.insert(std::fabs(element(Type::bfloat16, mine, i)));
  }
  EXPECT_EQ(magnitudes, (std::set<double>{1, 2, 3, 4, 5, 6, 7}));
}

TEST(Values, RepeatsByItsPeriodPastTheCacheToo) {
  const std::uint64_t elements = (6 << 20) / 4 + 3;
  const Values values(Type::float32, Operation::sum, 3, 8);
  Bytes data(elements * 4 + 1);
  values.fill(1, data.data() + 1, elements);  // unaligned
  EXPECT_EQ(values.check_neighbour(1, data.data() + 1, elements, false).count, 0u);
  EXPECT_EQ(std::memcmp(&data[1], &data[1 + 4 * Values::period], 4 * Values::period), 0);
}

TEST(Values, AveragesTruncateAndRound) {
  // Two ranks, one element each side of zero: the expected average is the division, nothing else.
  const Values values(Type::int32, Operation::avg, 2, 4);
  const Bytes a = filled(values, Type::int32, 0, Values::period),
              b = filled(values, Type::int32, 1, Values::period);
  std::vector<std::int32_t> average(Values::period);
  bool odd_below_zero = false;
  for (std::uint64_t i = 0; i < Values::period; ++i) {
    const auto sum = std::int64_t(element(Type::int32, a, i)) + std::int64_t(element(Type::int32, b, i));
    odd_below_zero |= sum < 0 && sum % 2 != 0;
    average[i] = std::int32_t(sum / 2);
  }
  EXPECT_TRUE(odd_below_zero);
  EXPECT_EQ(values.check(average.data(), Values::period, false).count, 0u);
}

TEST(Values, ASignOfZeroCountsWhereAsked) {
  const float right[] = {0.0f, 1.0f, -2.0f}, got[] = {-0.0f, 1.0f, 2.0f};
  const auto differing = [&](Zeros zeros) {
    Mismatch found;
    compare_values(Type::float32, reinterpret_cast<const std::byte*>(got),
                   reinterpret_cast<const std::byte*>(right), 3, 100, zeros, found);
    return std::pair(found.count, found.first);
  };
  EXPECT_EQ(differing(Zeros::signed_apart), std::pair(std::uint64_t(2), std::uint64_t(100)));
  EXPECT_EQ(differing(Zeros::equal), std::pair(std::uint64_t(1), std::uint64_t(102)));
}

TEST(Values, NothingIsRight) {
  const Values values(Type::float64, Operation::sum, 2, 1, 0);
  EXPECT_EQ(values.check(nullptr, 0, true).count, 0u);
  EXPECT_EQ(values.check_neighbour(1, nullptr, 0, true).count, 0u);
  values.fill(0, nullptr, 0);
  values.poison(nullptr, 0);
}

}  // namespace
}  // namespace ringtrue::engine
