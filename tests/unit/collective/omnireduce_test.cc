// The protocol against its rules, worked out by themselves: what each worker and aggregator sends, round by
// round, and what comes out. Where nothing is lost.
#include <gtest/gtest.h>

#include "collective/omnireduce/omnireduce.h"
#include "tests/support/omni_cases.h"

namespace ringtrue::test {
namespace {

using collective::Call;
using collective::Layout;

void expect_protocol(const OmniCase& c, PacketWorld& world) {
  const Protocol right = expected_protocol(c);
  for (Rank w = 0; w < c.call.omni.workers; ++w) {
    ASSERT_EQ(world.counts(w).packets, right.packets[std::size_t(w)]) << "worker " << w;
    ASSERT_EQ(world.counts(w).blocks, right.blocks[std::size_t(w)]) << "worker " << w;
    ASSERT_EQ(world.counts(w).multicasts, 0u);
  }
  std::uint64_t multicasts = 0;
  std::map<std::uint32_t, std::vector<collective::RoundSeen>> streams;
  for (Rank a = 0; a < c.call.omni.aggregators; ++a) {
    const Rank rank = c.call.omni.workers + a;
    multicasts += world.counts(rank).multicasts;
    ASSERT_EQ(world.counts(rank).packets, 0u);
    for (const collective::RoundSeen& round : world.rounds(rank)) {
      ASSERT_EQ(Rank(round.stream % std::uint32_t(c.call.omni.aggregators)), a);
      streams[round.stream].push_back(round);
    }
  }
  ASSERT_EQ(multicasts, right.multicasts);
  ASSERT_EQ(streams.size(), right.streams.size());
  for (const auto& [stream, rounds] : right.streams) {
    ASSERT_EQ(streams[stream].size(), rounds.size()) << "stream " << stream;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      const collective::RoundSeen& seen = streams[stream][i];
      ASSERT_EQ(seen.round, i);
      ASSERT_EQ(seen.blocks, rounds[i].blocks) << "stream " << stream << " round " << i;
      ASSERT_EQ(seen.wanted, rounds[i].wanted) << "stream " << stream << " round " << i;
      ASSERT_EQ(seen.present, rounds[i].present) << "stream " << stream << " round " << i;
    }
  }
  for (Rank r = 0; r < c.layout().ranks(); ++r) {
    ASSERT_EQ(world.counts(r).resent, 0u);
    ASSERT_EQ(world.counts(r).dropped, 0u);
  }
}

void play(const OmniCase& c, std::uint64_t seed) {
  SCOPED_TRACE(c.text() + ", seed " + std::to_string(seed));
  ASSERT_TRUE(collective::check_omni(c.layout(), c.call));
  PacketWorld world(c.layout(), c.call, seed);
  fill(c, world);
  ASSERT_EQ(world.play(), "");
  ASSERT_EQ(wrong(c, world), 0u);
  ASSERT_LE(world.max_packet(), collective::max_packet(c.call));
  expect_protocol(c, world);
}

TEST(Omnireduce, SendsWhatItsRulesSayInHundredsOfShapes) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    play(drawn_case(seed), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(Omnireduce, IsRightForEveryTypeAndOperation) {
  std::uint64_t seed = 0;
  for (const Pattern pattern : {Pattern::random, Pattern::disjoint, Pattern::dense}) {
    for (const Type type : collective::all_types) {
      for (const Operation operation : collective::all_operations) {
        std::mt19937_64 random(++seed);
        OmniCase c;
        c.call.elements = 61;
        c.call.type = type;
        c.call.operation = operation;
        c.call.omni = {.workers = 5, .aggregators = 2, .block = 3, .streams = 3, .fusion = 2};
        c.call.omni.acked = seed % 2;
        c.bitmaps = bitmaps_of(pattern, 5, 21, random);
        play(c, seed);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Omnireduce, IsRightInEveryInterleavingTried) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    OmniCase c = drawn_case(40);  // one shape, five workers
    c.call.omni.acked = seed % 2;
    play(c, seed);
    if (HasFatalFailure()) return;
  }
}

TEST(Omnireduce, TakesTheWidestPacketAndMoreStreamsThanBlocks) {
  for (const std::uint32_t fusion : {63u, 64u}) {
    for (const std::uint64_t blocks : {1u, 62u, 64u, 65u, 400u}) {
      std::mt19937_64 random(fusion * 1000 + blocks);
      OmniCase c;
      c.call.elements = blocks * 2 - 1;
      c.call.omni = {.workers = 3, .aggregators = 4, .block = 2, .streams = 2, .fusion = fusion};
      c.bitmaps = bitmaps_of(Pattern::random, 3, blocks, random);
      play(c, blocks);
      c.call.omni.streams = 4096;
      play(c, blocks);
      if (HasFatalFailure()) return;
    }
  }
}

// The rules by hand: one stream, one column, two workers with blocks 2 and 3 of five.
TEST(Omnireduce, SendsTheFirstBlockThenOnlyWhatIsWanted) {
  OmniCase c;
  c.call.elements = 20;
  c.call.omni = {.workers = 2, .aggregators = 1, .block = 4, .streams = 1, .fusion = 1};
  c.bitmaps = {{0, 0, 1, 0, 0}, {0, 0, 1, 1, 0}};
  PacketWorld world(c.layout(), c.call, 1);
  fill(c, world);
  ASSERT_EQ(world.play(), "");
  EXPECT_EQ(world.counts(0).packets, 2u);  // 0, 2
  EXPECT_EQ(world.counts(1).packets, 3u);  // 0, 2, 3
  EXPECT_EQ(world.counts(2).multicasts, 3u);
  c.call.omni.acked = true;
  PacketWorld acked(c.layout(), c.call, 1);
  fill(c, acked);
  ASSERT_EQ(acked.play(), "");
  EXPECT_EQ(acked.counts(0).packets, 3u);
  EXPECT_EQ(acked.counts(0).blocks, 2u);
  EXPECT_EQ(acked.counts(1).packets, 3u);
}

TEST(Omnireduce, HasNothingToDoForNoElements) {
  for (const bool acked : {false, true}) {
    OmniCase c;
    c.call.omni = {.workers = 3, .aggregators = 2};
    c.call.omni.acked = acked;
    PacketWorld world(c.layout(), c.call, 1);
    ASSERT_EQ(world.play(), "");
    for (Rank r = 0; r < 5; ++r) EXPECT_EQ(world.counts(r), collective::PacketCounts{});
  }
}

TEST(Omnireduce, PlaysCallAfterCall) {
  for (const bool acked : {false, true}) {
    OmniCase c = drawn_case(19);
    c.call.omni.acked = acked;
    PacketWorld world(c.layout(), c.call, 5);
    for (int i = 0; i < 4; ++i) {
      fill(c, world);
      ASSERT_EQ(world.play(), "") << i;
      ASSERT_EQ(wrong(c, world), 0u) << i;
      expect_protocol(c, world);
    }
  }
}

// Infinities, denormals and what is not a number are values; only 0 and -0 are none.
TEST(Omnireduce, SendsEverythingThatIsNotZero) {
  const float values[] = {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::denorm_min(), -0.0f};
  for (const float value : values) {
    OmniCase c;
    c.call.elements = 12;
    c.call.omni = {.workers = 3, .aggregators = 1, .block = 2, .streams = 1, .fusion = 1};
    c.bitmaps.assign(3, std::vector<bool>(6));
    PacketWorld world(c.layout(), c.call, 1);
    fill(c, world);
    std::memcpy(&world.data(1)[7 * sizeof value], &value, sizeof value);  // in block 3
    ASSERT_EQ(world.play(), "");
    EXPECT_EQ(world.counts(1).packets, value == 0 ? 1u : 2u);
    EXPECT_EQ(world.counts(0).packets, 1u);
    for (Rank w = 0; w < 3; ++w) {
      float sum = 0;
      std::memcpy(&sum, &world.data(w)[7 * sizeof sum], sizeof sum);
      EXPECT_TRUE(sum == value || (std::isnan(sum) && std::isnan(value))) << sum;
    }
  }
}

// All edges that a call uses exist on both ends.
TEST(Omnireduce, ConnectsWorkersWithAggregators) {
  OmniCase c;
  c.call.omni = {.workers = 3, .aggregators = 2};
  const collective::Algorithm& omni = **collective::find_algorithm("omnireduce");
  using Edges = std::vector<collective::Edge>;
  EXPECT_TRUE(omni.uses_packets());
  EXPECT_EQ(edges_of(omni, c.layout(), 1, c.call), (Edges{{3, 0}, {4, 0}}));
  EXPECT_EQ(edges_of(omni, c.layout(), 4, c.call), (Edges{{0, 0}, {1, 0}, {2, 0}}));
  c.call.omni.acked = true;
  EXPECT_EQ(edges_of(omni, c.layout(), 0, c.call), (Edges{{3, 0}, {3, 1}, {4, 0}, {4, 1}}));
}

TEST(Omnireduce, RefusesShapesThatItCannotPlay) {
  OmniCase good;
  good.call.elements = 100;
  good.call.omni = {.workers = 3, .aggregators = 2};
  ASSERT_TRUE(collective::check_omni(good.layout(), good.call));
  const auto refused = [&](auto change) {
    Call call = good.call;
    change(call);
    const auto result = collective::check_omni(good.layout(), call);
    return !result && result.error().cause == Cause::bad_input && !result.error().next.empty();
  };
  EXPECT_TRUE(refused([](Call& c) { c.omni.workers = 0; }));
  EXPECT_TRUE(refused([](Call& c) { c.omni.aggregators = 0; }));
  EXPECT_TRUE(refused([](Call& c) { c.omni.workers = 4; }));
  EXPECT_TRUE(refused([](Call& c) { c.omni.block = 0; }));
  EXPECT_TRUE(refused([](Call& c) { c.omni.fusion = 0; }));
  EXPECT_TRUE(refused([](Call& c) { c.omni.fusion = 65; }));
  EXPECT_TRUE(refused([](Call& c) { c.omni.streams = 0; }));
  EXPECT_TRUE(refused([](Call& c) { c.omni.streams = 4097; }));
  EXPECT_TRUE(refused([](Call& c) {
    c.omni.block = 1;
    c.elements = std::uint64_t(1) << 33;
  }));
}

}  // namespace
}  // namespace ringtrue::test
