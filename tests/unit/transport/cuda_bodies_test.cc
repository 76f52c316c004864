// Kernels' bodies on host threads, held against the engine's own arithmetic.
#include "transport/cuda/bodies.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "engine/kernels/nonzero.h"
#include "engine/kernels/reduce.h"
#include "tests/support/fake_cuda_world.h"

namespace ringtrue::transport::cuda {
namespace {

using collective::Operation;
using collective::Type;
using test::HostWorld;

// Values of a type: small integers, zeros of both signs, infinities, NaNs, and any bits at all.
template <class T>
void put(std::mt19937_64& random, std::byte* at) {
  T value = T(double(random() % 17) - 8);
  if constexpr (std::is_floating_point_v<T>) {
    const T special[] = {T(0.0),
                         T(-0.0),
                         std::numeric_limits<T>::infinity(),
                         -std::numeric_limits<T>::infinity(),
                         std::numeric_limits<T>::quiet_NaN(),
                         std::numeric_limits<T>::denorm_min()};
    if (random() % 3 == 0) value = special[random() % 6];
  } else if (random() % 3 == 0) {
    value = T(random());
  }
  std::memcpy(at, &value, sizeof value);
}

std::vector<std::byte> values(Type type, std::uint64_t elements, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::uint64_t size = size_of(type);
  std::vector<std::byte> data(elements * size);
  for (std::uint64_t i = 0; i < elements; ++i) {
    std::byte* const at = data.data() + i * size;
    switch (type) {
      case Type::float32:
        put<float>(random, at);
        break;
      case Type::float64:
        put<double>(random, at);
        break;
      case Type::int32:
        put<std::int32_t>(random, at);
        break;
      case Type::int64:
        put<std::int64_t>(random, at);
        break;
      default: {
        const std::uint16_t bits = std::uint16_t(random());
        std::memcpy(at, &bits, 2);
      }
    }
  }
  return data;
}

// The same bits, or a NaN on either side.
bool same(Type type, const std::byte* a, const std::byte* b) {
  const std::uint64_t size = size_of(type);
  if (std::memcmp(a, b, size) == 0) return true;
  const auto is_nan = [&](const std::byte* at) {
    std::uint16_t bits;
    float single;
    double twice;
    std::memcpy(&bits, at, 2);
    switch (type) {
      case Type::float16:
        return (bits & 0x7fff) > 0x7c00;
      case Type::bfloat16:
        return (bits & 0x7fff) > 0x7f80;
      case Type::float32:
        std::memcpy(&single, at, 4);
        return std::isnan(single);
      case Type::float64:
        std::memcpy(&twice, at, 8);
        return std::isnan(twice);
      default:
        return false;
    }
  };
  return is_nan(a) && is_nan(b);
}

struct PairWorld : HostWorld {
  static constexpr int packs = 2;  // as the interpreter has on a GPU
};

TEST(CudaBodies, ReduceAsTheEngineDoes) {
  for (const Type type : collective::all_types) {
    const std::uint64_t size = size_of(type);
    for (const Operation operation : collective::all_operations) {
      for (const std::uint64_t elements : {1, 3, 64, 517, 518}) {
        for (const std::uint64_t skew : {0, 1}) {   // elements away from 16 bytes, all alike
          for (const bool alike : {true, false}) {  // or the last source otherwise
            const int sources = 1 + int(elements % 4);
            std::vector<std::vector<std::byte>> input;
            for (int s = 0; s <= sources; ++s)
              input.push_back(values(type, elements + 2, elements + std::uint64_t(s) * 77));
            Reduction job;
            job.with = input[0].data() + skew * size;
            std::vector<const void*> from;
            for (int s = 0; s < sources; ++s) {
              job.source[s] = input[std::size_t(s) + 1].data() + (s == 0 && !alike ? 1 - skew : skew) * size;
              from.push_back(job.source[s]);
            }
            std::vector<std::byte> got((elements + 2) * size), right = got;
            job.into = got.data() + skew * size;
            job.elements = elements;
            job.sources = std::uint32_t(sources);
            job.ranks = 5;
            job.move = Move::reduce_last;
            job.type = std::uint8_t(type);
            job.operation = std::uint8_t(operation);
            const auto play = [&](auto world) {
              for (world.block = 0, world.blocks = 3; world.block < world.blocks; ++world.block)
                for_number(job.type, job.operation,
                           [&](auto number, auto op) { reduce<decltype(number), decltype(op)>(world, job); });
            };
            elements % 2 == 0 ? play(PairWorld()) : play(HostWorld());
            std::byte* const into = right.data() + skew * size;
            engine::reduce_many(type, operation, into, job.with, from.data(), sources, elements);
            engine::finish(type, operation, into, elements, 5);
            for (std::uint64_t i = 0; i < elements; ++i)
              ASSERT_TRUE(same(type, job.into + i * size, into + i * size))
                  << key_of(type) << ' ' << key_of(operation) << ", element " << i << " of " << elements;
          }
        }
      }
    }
  }
}

TEST(CudaBodies, EveryHalfBecomesAFloatAndComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = std::uint16_t(bits);
    if ((half & 0x7fff) <= 0x7c00) {
      ASSERT_EQ(narrow_float16(widen_float16(half)), half);
    }
    if ((half & 0x7fff) <= 0x7f80) {
      ASSERT_EQ(narrow_bfloat16(widen_bfloat16(half)), half);
    }
  }
  EXPECT_TRUE(std::isnan(widen_float16(narrow_float16(std::nanf("")))));
  EXPECT_EQ(narrow_float16(65520.0f), 0x7c00);  // half way to what would be the next value
  EXPECT_EQ(narrow_float16(65519.0f), 0x7bff);
  EXPECT_EQ(narrow_float16(0x1p-25f), 0);  // half of the least denormal, to even
  EXPECT_EQ(narrow_float16(0x1.8p-25f), 1);
}

TEST(CudaBodies, CopiesKeepEveryBit) {
  for (const std::uint16_t bits : {0xffff, 0x7c01, 0x8000, 0xfc05}) {
    std::vector<std::uint16_t> from(37, bits), into(37);
    HostWorld world;
    const auto* source = reinterpret_cast<const std::byte*>(from.data());
    move<Float16, Sum>(world, Move::store, reinterpret_cast<std::byte*>(into.data()), nullptr, &source, 1, 74,
                       true, 7);
    EXPECT_EQ(into, from);
  }
}

TEST(CudaBodies, FindBlocksThatAreNotZero) {
  for (const Type type : collective::all_types) {
    const std::uint64_t size = size_of(type);
    for (const std::uint32_t block : {1u, 3u, 64u, 256u}) {
      for (const std::uint64_t elements : {1u, 255u, 2048u, 10'000u}) {
        std::vector<Pack> room((elements * size + 15) / 16);
        auto* const data = reinterpret_cast<std::byte*>(room.data());
        std::memset(data, 0, room.size() * 16);
        std::mt19937 random(block + unsigned(elements));
        for (int i = 0; i < 20; ++i) {
          data[(random() % elements + 1) * size - 1] = std::byte{0x80};  // -0, or the least integer
          if (i % 4 == 0) data[(random() % elements) * size] = std::byte{1};
        }
        const std::uint64_t blocks = (elements + block - 1) / block;
        std::vector<std::uint64_t> right((blocks + 63) / 64);
        engine::find_non_zero(type, data, elements, block, 0, blocks, right.data());
        std::vector<std::uint32_t> got((blocks + 31) / 32, 0xdeadbeef);
        HostWorld world;
        const Bitmap job{data, got.data(), elements, block, std::uint8_t(type)};
        size == 2   ? bitmap<std::uint16_t>(world, job)
        : size == 4 ? bitmap<std::uint32_t>(world, job)
                    : bitmap<std::uint64_t>(world, job);
        for (std::uint64_t k = 0; k < blocks; ++k)
          ASSERT_EQ(got[k / 32] >> k % 32 & 1, right[k / 64] >> k % 64 & 1)
              << key_of(type) << ", block " << k;
      }
    }
  }
}

}  // namespace
}  // namespace ringtrue::transport::cuda
