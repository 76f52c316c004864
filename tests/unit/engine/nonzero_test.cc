#include "engine/kernels/nonzero.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "engine/kernels/simd.h"

namespace ringtrue::engine {
namespace {

using collective::Type;

// Bit patterns of a type's values that are not zero, the least of them among them, and of those that are.
struct Patterns {
  std::vector<std::uint64_t> something, nothing;
};

Patterns patterns(Type type) {
  switch (type) {
    case Type::float32:  // 1, denormals of both signs, infinity, -infinity, quiet and signalling NaN
      return {{0x3f800000, 1, 0x80000001, 0x7f800000, 0xff800000, 0x7fc00000, 0xff800001}, {0, 0x80000000}};
    case Type::float64:
      return {{0x3ff0000000000000, 1, 0x8000000000000001, 0x7ff0000000000000, 0xfff0000000000001},
              {0, 0x8000000000000000}};
    case Type::float16:
      return {{0x3c00, 1, 0x8001, 0x7c00, 0x7e00, 0xfc01}, {0, 0x8000}};
    case Type::bfloat16:
      return {{0x3f80, 1, 0x8001, 0x7f80, 0x7fc0, 0xff81}, {0, 0x8000}};
    case Type::int32:
      return {{1, 0x80000000, 0xffffffff}, {0}};
    default:
      return {{1, 0x8000000000000000, 0xffffffffffffffff}, {0}};
  }
}

class ScanOfEvery : public testing::TestWithParam<Type> {};

TEST_P(ScanOfEvery, TellsZeroByValue) {
  const Type type = GetParam();
  const std::uint64_t size = size_of(type);
  const Patterns known = patterns(type);
  for (const std::uint64_t elements : {1, 3, 16, 37, 300}) {
    for (std::uint64_t offset = 0; offset < 3; ++offset) {
      std::vector<std::byte> bytes(elements * size + offset);
      std::byte* data = bytes.data() + offset;
      for (const std::uint64_t zero : known.nothing) {
        for (std::uint64_t i = 0; i < elements; ++i) std::memcpy(data + i * size, &zero, size);
        EXPECT_FALSE(any_non_zero(type, data, elements));
        for (const std::uint64_t value : known.something) {
          for (std::uint64_t i = 0; i < elements; i += 1 + elements / 40) {
            std::memcpy(data + i * size, &value, size);
            EXPECT_TRUE(any_non_zero(type, data, elements)) << i << " of " << elements << ": " << value;
            std::memcpy(data + i * size, &zero, size);
          }
        }
      }
    }
  }
}

// Every instruction set, any block, any range of blocks; neighbours' bits and bytes past the end are let be.
TEST_P(ScanOfEvery, FindsBlocksOnEveryInstructionSet) {
  const Type type = GetParam();
  const std::uint64_t size = size_of(type);
  const Patterns known = patterns(type);
  std::mt19937_64 random(7);
  for (const std::uint32_t block : {1u, 2u, 3u, 7u, 16u, 31u, 64u, 88u, 256u, 1000u, 5000u}) {
    for (int round = 0; round < 6; ++round) {
      const std::uint64_t elements = 1 + random() % (block * 150);
      const std::uint64_t offset = random() % 9;
      // Past the end nothing is zero.
      std::vector<std::byte> bytes((elements + 64) * size + offset, std::byte(0xff));
      std::byte* data = bytes.data() + offset;
      const std::uint64_t blocks = (elements + block - 1) / block;
      std::vector<bool> expected(blocks);
      for (std::uint64_t i = 0; i < elements; ++i)
        std::memcpy(data + i * size, &known.nothing[random() % known.nothing.size()], size);
      for (std::uint64_t k = 0; k < blocks / 2; ++k) {
        const std::uint64_t at = random() % elements;
        std::memcpy(data + at * size, &known.something[random() % known.something.size()], size);
        expected[at / block] = true;
      }
      const std::uint64_t first = random() % blocks, count = 1 + random() % (blocks - first);
      for (const kernels::Kernels* kernel : kernels::supported()) {
        std::vector<std::uint64_t> bitmap(blocks / 64 + 2), before;
        for (std::uint64_t& word : bitmap) word = random();
        before = bitmap;
        std::uint64_t mask = ~std::uint64_t(0);
        if (type == Type::float64) mask = 0x7fffffffffffffff;
        if (type == Type::float32) mask = 0x7fffffff7fffffff;
        if (size == 2) mask = 0x7fff7fff7fff7fff;
        kernel->find_non_zero(reinterpret_cast<const char*>(data) + first * block * size,
                              (elements - first * block) * size, block * size, first, count, mask,
                              bitmap.data());
        for (std::uint64_t k = 0; k < bitmap.size() * 64; ++k) {
          const bool is = bitmap[k / 64] >> (k % 64) & 1, was = before[k / 64] >> (k % 64) & 1;
          const bool inside = k >= first && k < first + count;
          ASSERT_EQ(is, inside ? bool(expected[k]) : was)
              << kernel->name << ", block " << k << " of " << block;
        }
      }
    }
  }
}

TEST_P(ScanOfEvery, ScannerLooksAtAllPieceByPiece) {
  const Type type = GetParam();
  const std::uint64_t size = size_of(type);
  std::mt19937_64 random(3);
  NonZeroScanner scanner;
  for (const std::uint32_t block : {1u, 88u, 256u, 30'000u, 200'000u, 700'000u}) {
    const std::uint64_t elements = 1'100'003;
    std::vector<std::byte> data(elements * size);
    std::vector<bool> expected((elements + block - 1) / block);
    for (std::uint64_t k = 0; k < expected.size(); k += 1 + random() % 3) {
      const std::uint64_t at = std::min<std::uint64_t>(k * block + random() % block, elements - 1);
      data[at * size] = std::byte(1);
      expected[at / block] = true;
    }
    data[(elements - 1) * size] = std::byte(1);  // the last value of the short last block
    expected.back() = true;
    scanner.start(type, data.data(), elements, block);
    ASSERT_EQ(scanner.blocks(), expected.size());
    ASSERT_EQ(scanner.known(), 0u);
    std::uint64_t looks = 0;
    while (scanner.known() < scanner.blocks()) scanner.look_further(), ++looks;
    EXPECT_LE(looks, elements * size / (128 * 1024) + 1);
    EXPECT_GE(looks, block <= 30'000 ? elements * size / (256 * 1024) : 2);
    scanner.look_further();  // nothing more to do
    for (std::uint64_t k = 0; k < expected.size(); ++k) ASSERT_EQ(scanner[k], expected[k]) << k;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ScanOfEvery, testing::ValuesIn(collective::all_types));

TEST(NonZero, OfNothingThereIsNothing) {
  NonZeroScanner scanner;
  scanner.start(Type::float32, nullptr, 0, 256);
  EXPECT_EQ(scanner.blocks(), 0u);
  scanner.look_further();
  EXPECT_EQ(scanner.known(), 0u);
  EXPECT_FALSE(any_non_zero(Type::int64, nullptr, 0));
}

}  // namespace
}  // namespace ringtrue::engine
