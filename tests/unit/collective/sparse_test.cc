#include "collective/sparse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace ringtrue::collective {
namespace {

using Blocks = std::set<std::uint64_t>;

Blocks blocks_of(const SparsePattern& pattern, Rank worker) {
  Blocks blocks;
  for (std::uint64_t k = 0; k < pattern.blocks(); ++k) {
    if (pattern.has(worker, k)) blocks.insert(k);
  }
  return blocks;
}

TEST(Sparse, ChoosesExactlyItsShareOnEveryWorker) {
  for (const Overlap overlap : {Overlap::same, Overlap::random, Overlap::disjoint}) {
    for (const std::uint64_t blocks : {0u, 1u, 2u, 3u, 7u, 64u, 65u, 1000u, 4097u}) {
      for (const double density : {0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.999, 1.0}) {
        const SparsePattern pattern({.density = density, .overlap = overlap, .block = 4}, blocks * 4, 11);
        ASSERT_EQ(pattern.blocks(), blocks);
        for (Rank w = 0; w < 4; ++w) {
          ASSERT_EQ(blocks_of(pattern, w).size(), std::uint64_t(std::llround(density * double(blocks))))
              << key_of(overlap) << " " << blocks << " " << density;
        }
      }
    }
  }
}

TEST(Sparse, OverlapsAsAsked) {
  const std::uint64_t blocks = 20'000;
  const auto pattern = [&](Overlap overlap, double density) {
    return SparsePattern({.density = density, .overlap = overlap, .block = 16}, blocks * 16, 3);
  };
  const SparsePattern same = pattern(Overlap::same, 0.1);
  const SparsePattern random = pattern(Overlap::random, 0.1), disjoint = pattern(Overlap::disjoint, 0.1);
  Blocks of_all;
  for (Rank w = 0; w < 8; ++w) {
    EXPECT_EQ(blocks_of(same, w), blocks_of(same, 0));
    of_all.merge(blocks_of(disjoint, w));
  }
  EXPECT_EQ(of_all.size(), 8u * 2000);
  // 1 - 0.9^8 of the blocks, with the scatter of so many draws.
  EXPECT_NEAR(densities(random, blocks * 16, 8, 16).united, 1 - std::pow(0.9, 8), 0.01);
  EXPECT_EQ(densities(random, blocks * 16, 8, 16).worker, 0.1);
  EXPECT_EQ(densities(same, blocks * 16, 8, 16).united, 0.1);
  EXPECT_DOUBLE_EQ(densities(disjoint, blocks * 16, 8, 16).united, 0.8);
  // No room for all of them apart: they go round.
  EXPECT_EQ(densities(pattern(Overlap::disjoint, 0.3), blocks * 16, 8, 16).united, 1);
  EXPECT_EQ(densities(pattern(Overlap::disjoint, 0.3), blocks * 16, 8, 16).worker, 0.3);
}

TEST(Sparse, ScattersItsBlocksAndFollowsItsSeed) {
  const Sparsity tenth{.density = 0.1, .block = 1};
  const Blocks one = blocks_of(SparsePattern(tenth, 100'000, 1), 0);
  const Blocks other = blocks_of(SparsePattern(tenth, 100'000, 2), 0);
  EXPECT_EQ(one, blocks_of(SparsePattern(tenth, 100'000, 1), 0));
  std::uint64_t common = 0, in_tenths[10] = {}, neighbours = 0;
  for (const std::uint64_t k : one) {
    common += other.contains(k);
    ++in_tenths[k / 10'000];
    neighbours += one.contains(k + 1);
  }
  EXPECT_NEAR(double(common), 1000, 200);
  EXPECT_NEAR(double(neighbours), 1000, 200);
  for (const std::uint64_t count : in_tenths) EXPECT_NEAR(double(count), 1000, 200);
}

TEST(Sparse, DrawsValuesInsideBlocks) {
  const std::uint64_t elements = 100'000;
  for (const Overlap overlap : {Overlap::same, Overlap::random, Overlap::disjoint}) {
    const SparsePattern pattern({.density = 0.5, .value_density = 0.1, .overlap = overlap, .block = 8},
                                elements, 5);
    std::uint64_t values = 0, both = 0;
    for (std::uint64_t i = 0; i < elements; ++i) {
      values += pattern.value(0, i);
      both += pattern.value(0, i) && pattern.value(1, i);
    }
    EXPECT_NEAR(double(values), 10'000, 600);
    EXPECT_NEAR(double(both), overlap == Overlap::same ? 10'000 : 1000, overlap == Overlap::same ? 600 : 200);
  }
  const SparsePattern none({.value_density = 0}, 1000, 1), all({}, 1000, 1);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_FALSE(none.value(0, i));
    EXPECT_TRUE(all.value(0, i));
  }
}

TEST(Sparse, KnowsWhetherAnythingIsInARange) {
  const std::uint64_t elements = 3001;
  for (const double share : {1.0, 0.3, 0.0}) {
    const SparsePattern pattern(
        {.density = 0.2, .value_density = share, .overlap = Overlap::random, .block = 7}, elements, 9);
    for (std::uint64_t begin = 0; begin < elements; begin += 13) {
      for (const std::uint64_t length : {0u, 1u, 5u, 7u, 20u, 64u}) {
        bool any = false;
        for (std::uint64_t i = begin; i < std::min(begin + length, elements); ++i) {
          any = any || (pattern.has(1, i / 7) && pattern.value(1, i));
        }
        ASSERT_EQ(pattern.any(1, begin, begin + length), any) << begin << " " << length << " " << share;
      }
    }
  }
}

// At 1 % of the values, nearly all blocks of 256 hold something.
TEST(Sparse, CountsBlocksOfAnotherSize) {
  const std::uint64_t elements = 256 * 2000;
  const SparsePattern values({.value_density = 0.01}, elements, 1);
  EXPECT_NEAR(densities(values, elements, 4, 256).worker, 1 - std::pow(0.99, 256), 0.03);
  const SparsePattern blocks({.density = 0.05, .block = 256}, elements, 1);
  EXPECT_DOUBLE_EQ(densities(blocks, elements, 4, 64).worker, 0.05);
  EXPECT_DOUBLE_EQ(densities(blocks, elements, 4, 256).united, 0.05);
  EXPECT_EQ(densities(blocks, 0, 4, 256).worker, 0);
}

TEST(Sparse, NamesOverlaps) {
  for (const Overlap overlap : {Overlap::same, Overlap::random, Overlap::disjoint}) {
    const auto parsed = parse_overlap(key_of(overlap));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, overlap);
  }
  const auto unknown = parse_overlap("none");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().cause, Cause::bad_input);
  EXPECT_NE(unknown.error().next.find("disjoint"), std::string::npos);
}

}  // namespace
}  // namespace ringtrue::collective
