// Blocks or pairs: what data holds, counted, and which form takes fewer bytes.
#include "collective/omnireduce/weigh.h"

#include <gtest/gtest.h>

#include "collective/omnireduce/tune.h"

namespace ringtrue::collective {
namespace {

// Two workers, blocks of 4, of 12 elements: 0 holds 1, 2 and 9; 1 holds 2 and 3.
TEST(Weigh, CountsBlocksAndValuesOfTheDensestWorkerAndOfAll) {
  const ValuesIn values = [](Rank worker, std::uint64_t begin, std::uint64_t end,
                             std::vector<std::uint64_t>& elements) {
    for (std::uint64_t i = begin; i < end; ++i)
      if (worker == 0 ? i == 1 || i == 2 || i == 9 : i == 2 || i == 3) elements.push_back(i);
  };
  const Held found = held(values, 12, 2, 4);
  EXPECT_DOUBLE_EQ(found.blocks.worker, 2.0 / 3);
  EXPECT_DOUBLE_EQ(found.blocks.united, 2.0 / 3);
  EXPECT_DOUBLE_EQ(found.values.worker, 3.0 / 12);
  EXPECT_DOUBLE_EQ(found.values.united, 4.0 / 12);
  const Held nothing = held(values, 0, 2, 4);
  EXPECT_EQ(nothing.values.united, 0);
}

TEST(Weigh, CountsGeneratedDataAsItIsDrawn) {
  const Sparsity sparsity{0.5, 0.1, Overlap::random, 64};
  const std::uint64_t elements = 64 * 4000;
  const SparsePattern pattern(sparsity, elements, 3);
  const Held found = held(values_in(pattern, 64), elements, 4, 64);
  EXPECT_DOUBLE_EQ(found.blocks.worker, densities(pattern, elements, 4, 64).worker);
  EXPECT_DOUBLE_EQ(found.blocks.united, densities(pattern, elements, 4, 64).united);
  EXPECT_NEAR(found.values.worker, 0.05, 0.002);
  EXPECT_NEAR(found.values.united, 1 - 0.95 * 0.95 * 0.95 * 0.95, 0.005);
}

TEST(Weigh, LooksAtAPartOfMuchData) {
  const Sparsity sparsity{1, 0.3, Overlap::same, 256};
  const std::uint64_t elements = std::uint64_t(1) << 40;
  std::uint64_t looked = 0;
  const Held found = held(
      [&](Rank, std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& into) {
        looked += end - begin;
        for (std::uint64_t i = begin; i < end; i += 4) into.push_back(i);
      },
      elements, 1, 1 << 16);
  EXPECT_LE(looked, std::uint64_t(1) << 25);
  EXPECT_GT(looked, std::uint64_t(1) << 24);
  EXPECT_DOUBLE_EQ(found.values.worker, 0.25);
}

// Just below and above s / (s + k), less the 4 bytes that a block takes beside its values.
TEST(Weigh, TakesPairsBelowAHalfToTwoThirdsOfTheValues) {
  const auto pairs = [](Type type, std::uint32_t key_bytes, double share, double united, bool colocated) {
    Call call;
    call.elements = 1 << 20;
    call.type = type;
    call.omni.block = 256;
    const Weighed weighed = weigh({{0.4, 0.4}, {0.4 * share, 0.4 * united}}, call, key_bytes, colocated);
    EXPECT_FALSE(weighed.why.empty());
    return weighed.pairs;
  };
  EXPECT_TRUE(pairs(Type::float32, 4, 0.5, 0.5, false));
  EXPECT_FALSE(pairs(Type::float32, 4, 0.51, 0.51, false));
  EXPECT_TRUE(pairs(Type::float64, 4, 0.66, 0.66, false));
  EXPECT_FALSE(pairs(Type::float64, 4, 0.68, 0.68, false));
  EXPECT_TRUE(pairs(Type::float32, 8, 0.33, 0.33, false));
  EXPECT_FALSE(pairs(Type::float32, 8, 0.34, 0.34, false));
  // Results that hold much more than any worker: they decide where they are the busier way, and count half
  // where both ways go through one port.
  EXPECT_FALSE(pairs(Type::float32, 4, 0.2, 0.6, false));
  EXPECT_TRUE(pairs(Type::float32, 4, 0.2, 0.6, true));
}

TEST(Weigh, SaysWhatItTakes) {
  Call call;
  call.elements = 1'000'000;
  call.omni.block = 250;
  const Weighed weighed = weigh({{1, 1}, {0.001, 0.25}}, call, 4, false);
  EXPECT_EQ(weighed.why,
            "0.1% of the values in a worker's blocks and 25% of those in all workers' together are not zero: "
            "2 MB as pairs, 4.02 MB as blocks one way through a worker's port");
  EXPECT_EQ(key_bytes_for(0xffffffff), 4u);
  EXPECT_EQ(key_bytes_for(0x100000000), 8u);
}

TEST(TunePairs, FillsPacketsAndDatagramsWithThem) {
  Tuning tuning;
  tuning.workers = 8;
  tuning.elements = 16 << 20;
  tuning.key_bytes = 4;
  const auto stream = tune(tuning);
  ASSERT_TRUE(stream) << stream.error().text();
  EXPECT_EQ(stream->omni.pairs, (16384 - 12) / 8u);
  EXPECT_EQ(stream->omni.fusion, 1u);
  EXPECT_GE(stream->omni.streams, 16u);
  tuning.type = Type::float64;
  tuning.key_bytes = 8;
  tuning.datagram = 1400;
  const auto datagram = tune(tuning);
  ASSERT_TRUE(datagram) << datagram.error().text();
  EXPECT_EQ(datagram->omni.pairs, (1400 - 16) / 16u);
  EXPECT_EQ(datagram->omni.key_bytes, 8u);
  tuning.datagram = 20;
  EXPECT_FALSE(tune(tuning));
}

}  // namespace
}  // namespace ringtrue::collective
