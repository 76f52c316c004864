#include "engine/kernels/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/kernels/half.h"
#include "engine/kernels/simd.h"

namespace ringtrue::engine {
namespace {

using collective::Operation;
using collective::Type;

using Bytes = std::vector<unsigned char>;

const kernels::Many& many(const kernels::Kernels& set, Type type, Operation operation) {
  return set.many[int(type)][operation == Operation::avg ? 0 : int(operation)];
}

template <class T>
T get(const Bytes& from, std::uint64_t index) {
  T value;
  std::memcpy(&value, from.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// The plainest statement of what one element's reduction is, in the type that accumulates.
template <class T>
T plain(Operation operation, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (operation == Operation::min) return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b);
    if (operation == Operation::max) return a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b);
    return operation == Operation::prod ? a * b : a + b;
  } else {
    if (operation == Operation::min) return std::min(a, b);
    if (operation == Operation::max) return std::max(a, b);
    return operation == Operation::prod ? T(std::uint64_t(a) * std::uint64_t(b))
                                        : T(std::uint64_t(a) + std::uint64_t(b));
  }
}

double widen(Type type, std::uint16_t bits) {
  return type == Type::float16 ? float16_to_float(bits) : bfloat16_to_float(bits);
}

// True where element `index` of `result` is right for `sources`, reduced from left to right.
bool right(Type type, Operation operation, const Bytes& result, const std::vector<Bytes>& sources,
           std::uint64_t index) {
  const auto fold = [&]<class T>(T (*read)(Type, const Bytes&, std::uint64_t)) {
    T sum = read(type, sources[0], index);
    for (std::size_t s = 1; s < sources.size(); ++s)
      sum = plain<T>(operation, sum, read(type, sources[s], index));
    return sum;
  };
  const auto same = [&]<class T>(T expected, T found) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(expected)) return std::isnan(found);
    }
    return std::memcmp(&expected, &found, sizeof(T)) == 0;
  };
  switch (type) {
    case Type::float32:
      return same(fold(+[](Type, const Bytes& b, std::uint64_t i) { return get<float>(b, i); }),
                  get<float>(result, index));
    case Type::float64:
      return same(fold(+[](Type, const Bytes& b, std::uint64_t i) { return get<double>(b, i); }),
                  get<double>(result, index));
    case Type::int32:
      return same(fold(+[](Type, const Bytes& b, std::uint64_t i) { return get<std::int32_t>(b, i); }),
                  get<std::int32_t>(result, index));
    case Type::int64:
      return same(fold(+[](Type, const Bytes& b, std::uint64_t i) { return get<std::int64_t>(b, i); }),
                  get<std::int64_t>(result, index));
    default: {
      const float sum = fold(
          +[](Type t, const Bytes& b, std::uint64_t i) { return float(widen(t, get<std::uint16_t>(b, i))); });
      const std::uint16_t expected = type == Type::float16 ? float_to_float16(sum) : float_to_bfloat16(sum);
      const auto found = get<std::uint16_t>(result, index);
      if (std::isnan(sum)) return std::isnan(widen(type, found));
      return expected == found;
    }
  }
}

// Random bits, so that NaNs, infinities, denormals and zeros of both signs are among the halves, and now and
// then a special value on purpose.
Bytes random_source(Type type, std::uint64_t elements, std::mt19937_64& random) {
  Bytes bytes(elements * size_of(type));
  for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
  for (std::uint64_t i = 0; i < elements; ++i) {
    if (random() % 4) continue;
    static constexpr double specials[] = {0.0, -0.0, 1.0, -1.0, 65504.0, 1e-40, INFINITY, -INFINITY, NAN};
    const double special = specials[random() % std::size(specials)];
    unsigned char* at = &bytes[i * size_of(type)];
    const float narrow = float(special);
    const std::uint16_t f16 = float_to_float16(narrow), bf16 = float_to_bfloat16(narrow);
    switch (type) {
      case Type::float32:
        std::memcpy(at, &narrow, 4);
        break;
      case Type::float64:
        std::memcpy(at, &special, 8);
        break;
      case Type::float16:
        std::memcpy(at, &f16, 2);
        break;
      case Type::bfloat16:
        std::memcpy(at, &bf16, 2);
        break;
      default:
        std::memset(at, random() % 2 ? 0xff : 0x80, size_of(type));
        break;
    }
  }
  return bytes;
}

class EveryKernel : public testing::TestWithParam<std::tuple<Type, Operation>> {};

TEST_P(EveryKernel, ReducesAnyNumberOfSourcesOfAnyLengthAndAlignment) {
  const auto [type, operation] = GetParam();
  std::mt19937_64 random(7);
  for (const kernels::Kernels* set : kernels::supported()) {
    for (int count : {1, 2, 7, 33}) {
      for (std::uint64_t elements : {0, 1, 3, 15, 17, 64, 255, 300, 1031}) {
        std::vector<Bytes> sources;
        for (int s = 0; s <= count; ++s) sources.push_back(random_source(type, elements, random));
        // Each at an odd address of its own, with guards behind the result.
        std::vector<Bytes> shifted;
        std::vector<const void*> incoming;
        for (int s = 0; s <= count; ++s) {
          shifted.emplace_back(sources[s].size() + 64);
          if (elements) std::memcpy(&shifted.back()[1 + s % 7], sources[s].data(), sources[s].size());
        }
        for (int s = 1; s <= count; ++s) incoming.push_back(&shifted[s][1 + s % 7]);
        Bytes into(sources[0].size() + 64, 0xa5);
        many(*set, type, operation)(&into[3], &shifted[0][1], incoming.data(), count, elements);
        const Bytes result(into.begin() + 3, into.begin() + 3 + std::ptrdiff_t(sources[0].size()));
        for (std::uint64_t i = 0; i < elements; ++i) {
          ASSERT_TRUE(right(type, operation, result, sources, i))
              << set->name << ' ' << count << " sources, element " << i << " of " << elements;
        }
        for (std::size_t i = 3 + result.size(); i < into.size(); ++i) ASSERT_EQ(into[i], 0xa5) << set->name;
        ASSERT_EQ(into[2], 0xa5) << set->name;
      }
    }
  }
}

TEST_P(EveryKernel, MayWriteOverItsOwnSources) {
  const auto [type, operation] = GetParam();
  std::mt19937_64 random(11);
  const std::uint64_t elements = 517;
  const std::vector<Bytes> sources{random_source(type, elements, random),
                                   random_source(type, elements, random)};
  Bytes first = sources[0], second = sources[1];
  reduce(type, operation, first.data(), first.data(), second.data(), elements);
  Bytes other = sources[0];
  reduce(type, operation, second.data(), other.data(), second.data(), elements);
  const void* again = sources[1].data();
  Bytes third = sources[0];
  reduce_many(type, operation, third.data(), &again, 1, elements);
  for (std::uint64_t i = 0; i < elements; ++i) {
    ASSERT_TRUE(right(type, operation, first, sources, i)) << i;
    ASSERT_TRUE(right(type, operation, second, sources, i)) << i;
    ASSERT_TRUE(right(type, operation, third, sources, i)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryKernel,
                         testing::Combine(testing::ValuesIn(collective::all_types),
                                          testing::Values(Operation::sum, Operation::prod, Operation::min,
                                                          Operation::max)));

TEST(Reduce, ManyOfNoSourceIsACopy) {
  const std::vector<float> from{1, 2, 3};
  std::vector<float> into(3);
  reduce_many(Type::float32, Operation::sum, into.data(), from.data(), nullptr, 0, 3);
  EXPECT_EQ(into, from);
}

TEST(Reduce, HalvesAccumulateInFloat32AndRoundOnce) {
  // 2048 + 1 + 1: rounded each time it stays 2048, in float32 it is 2050.
  const std::uint16_t big = float_to_float16(2048), one = float_to_float16(1);
  for (const kernels::Kernels* set : kernels::supported()) {
    std::uint16_t into = big;
    const void* incoming[] = {&one, &one};
    set->many[int(Type::float16)][0](&into, &into, incoming, 2, 1);
    EXPECT_EQ(float16_to_float(into), 2050) << set->name;
  }
}

TEST(Reduce, NotANumberWinsMinAndMaxOnEitherSide) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a{nan, 1, nan, -0.0f, 0.0f}, b{1, nan, nan, 0.0f, -0.0f};
  for (const kernels::Kernels* set : kernels::supported()) {
    for (Operation operation : {Operation::min, Operation::max}) {
      std::vector<float> into(5);
      const void* incoming[] = {b.data()};
      set->many[int(Type::float32)][int(operation)](into.data(), a.data(), incoming, 1, 5);
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(into[std::size_t(i)])) << set->name << ' ' << i;
      for (int i = 3; i < 5; ++i) {
        EXPECT_EQ(std::signbit(into[std::size_t(i)]), operation == Operation::min) << set->name << ' ' << i;
      }
    }
  }
}

TEST(Finish, LeavesAllButAveragesAlone) {
  std::vector<std::int32_t> data{6, 7};
  for (Operation operation : {Operation::sum, Operation::prod, Operation::min, Operation::max}) {
    finish(Type::int32, operation, data.data(), 2, 3);
  }
  EXPECT_EQ(data, (std::vector<std::int32_t>{6, 7}));
}

TEST(Finish, DividesFloatsWithOneRounding) {
  for (const kernels::Kernels* set : kernels::supported()) {
    for (int ranks : {1, 2, 3, 7, 33, 4096}) {
      std::vector<float> singles;
      std::vector<double> doubles;
      std::vector<std::uint16_t> halves, brains;
      for (int i = 0; i < 131; ++i) {
        singles.push_back(float(i * 1001 - 65536));
        doubles.push_back(double(i * 1001 - 65536));
        halves.push_back(float_to_float16(float(i - 64)));
        brains.push_back(float_to_bfloat16(float(i - 64)));
      }
      auto f32 = singles;
      auto f64 = doubles;
      auto f16 = halves, bf16 = brains;
      set->divide[int(Type::float32)](f32.data(), f32.size(), ranks);
      set->divide[int(Type::float64)](f64.data(), f64.size(), ranks);
      set->divide[int(Type::float16)](f16.data(), f16.size(), ranks);
      set->divide[int(Type::bfloat16)](bf16.data(), bf16.size(), ranks);
      for (std::size_t i = 0; i < f32.size(); ++i) {
        ASSERT_EQ(f32[i], singles[i] / float(ranks)) << set->name;
        ASSERT_EQ(f64[i], doubles[i] / double(ranks)) << set->name;
        ASSERT_EQ(f16[i], float_to_float16((float(i) - 64) / float(ranks))) << set->name;
        ASSERT_EQ(bf16[i], float_to_bfloat16((float(i) - 64) / float(ranks))) << set->name;
      }
    }
  }
}

TEST(Finish, DividesIntegersTowardsZero) {
  std::mt19937_64 random(3);
  std::vector<std::int64_t> wide{0, 1, -1, 6, -6, 7, -7, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1};
  for (int i = 0; i < 2000; ++i) wide.push_back(std::int64_t(random()) >> (i % 64));
  std::vector<std::int32_t> narrow{
      0, 1, -1, 6, -6, 7, -7, INT32_MAX, INT32_MIN, INT32_MAX - 1, INT32_MIN + 1};
  for (int i = 0; i < 2000; ++i) narrow.push_back(std::int32_t(random()) >> (i % 32));
  for (int ranks : {1, 2, 3, 5, 7, 8, 33, 64, 100, 4096, 4097, 1 << 30, INT32_MAX}) {
    // Multiples and their neighbours are where a reciprocal goes wrong first.
    auto values = wide;
    for (std::int64_t k : {1, 2, 3, 1000003}) {
      for (std::int64_t d : {-1, 0, 1}) {
        values.push_back(k * ranks + d);
        values.push_back(-(k * ranks + d));
        values.push_back(INT64_MAX / ranks * ranks + (d < 0 ? -1 : 0));
      }
    }
    auto a = values;
    finish(Type::int64, Operation::avg, a.data(), a.size(), ranks);
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(a[i], values[i] / ranks) << values[i] << " / " << ranks;
    auto b = narrow;
    finish(Type::int32, Operation::avg, b.data(), b.size(), ranks);
    for (std::size_t i = 0; i < b.size(); ++i)
      ASSERT_EQ(b[i], narrow[i] / ranks) << narrow[i] << " / " << ranks;
  }
}

TEST(Half, EveryFloat16SurvivesTheWayThroughFloat32) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = std::uint16_t(bits);
    const float value = float16_to_float(half);
    if ((half & 0x7fff) > 0x7c00) {
      ASSERT_TRUE(std::isnan(value));
      ASSERT_TRUE(std::isnan(float16_to_float(float_to_float16(value))));
      continue;
    }
    // By definition: exponent and fraction.
    const int exponent = (half >> 10) & 31, fraction = half & 1023;
    const double magnitude = exponent == 31 ? INFINITY
                             : exponent     ? std::ldexp(1024 + fraction, exponent - 25)
                                            : std::ldexp(fraction, -24);
    ASSERT_EQ(double(value), half & 0x8000 ? -magnitude : magnitude) << bits;
    ASSERT_EQ(float_to_float16(value), half);
  }
}

TEST(Half, RoundsToNearestEven) {
  const auto between = [](std::uint16_t low, double part) {  // `part` of the way from one half to the next
    const double a = float16_to_float(low);
    const double b = low == 0x7bff ? 65536.0 : double(float16_to_float(std::uint16_t(low + 1)));
    return float(a + (b - a) * part);
  };
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto low = std::uint16_t(bits), high = std::uint16_t(bits + 1);
    ASSERT_EQ(float_to_float16(between(low, 0.25)), low) << bits;
    ASSERT_EQ(float_to_float16(between(low, 0.75)), high) << bits;
    ASSERT_EQ(float_to_float16(between(low, 0.5)), bits & 1 ? high : low) << bits;
    ASSERT_EQ(float_to_float16(-between(low, 0.5)), (bits & 1 ? high : low) | 0x8000) << bits;
  }
  EXPECT_EQ(float_to_float16(1e30f), 0x7c00);
  EXPECT_EQ(float_to_float16(1e-30f), 0);

  EXPECT_EQ(float_to_bfloat16(1.0f + 0x1p-8f), 0x3f80);     // tie: to the even one below
  EXPECT_EQ(float_to_bfloat16(1.0f + 0x3p-8f), 0x3f82);     // tie: to the even one above
  EXPECT_EQ(float_to_bfloat16(1.0f + 0x1.01p-8f), 0x3f81);  // above the tie
  EXPECT_EQ(float_to_bfloat16(0x1p-133f), 0x0001);          // the least denormal stays
  EXPECT_EQ(float_to_bfloat16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(__builtin_bit_cast(float, 0x7f800001u)))));
}

TEST(Copy, EveryWayCopiesEveryByteAndNoMore) {
  std::mt19937 random(5);
  for (const std::size_t length : {0, 1, 63, 64, 65, 127, 200, 4096, 40000}) {
    for (const std::size_t shift : {0, 1, 13, 63}) {
      Bytes from(length + 64);
      for (auto& byte : from) byte = static_cast<unsigned char>(random());
      const auto verify = [&](const Bytes& into, const char* what) {
        for (std::size_t i = 0; i < into.size(); ++i) {
          const bool inside = i >= shift && i < shift + length;
          ASSERT_EQ(into[i], inside ? from[i - shift + 5] : 0xa5) << what << ' ' << length << ' ' << shift;
        }
      };
      Bytes b(length + 128, 0xa5);
      copy_stream(&b[shift], &from[5], length);
      verify(b, "copy_stream");
      for (const kernels::Kernels* set : kernels::supported()) {
        Bytes e(length + 128, 0xa5);
        set->stream(&e[shift], &from[5], length);
        verify(e, set->name);
      }
    }
  }
}

}  // namespace
}  // namespace ringtrue::engine
