// Omnireduce of (key, value) pairs, against its rules and a simple reference, where nothing is lost and where
// packets are.
#include <gtest/gtest.h>

#include "collective/omnireduce/pairs.h"
#include "tests/support/pair_cases.h"

namespace ringtrue::test {
namespace {

using collective::no_key;
using collective::PairHeader;

void expect_pair_protocol(const PairCase& c, PacketWorld& world) {
  const PairProtocol right = expected_protocol(c);
  for (Rank w = 0; w < c.call.omni.workers; ++w) {
    ASSERT_EQ(world.counts(w).packets, right.packets[std::size_t(w)]) << "worker " << w;
    ASSERT_EQ(world.counts(w).pairs, right.pairs[std::size_t(w)]) << "worker " << w;
    ASSERT_EQ(world.counts(w).blocks, 0u);
  }
  std::uint64_t multicasts = 0;
  for (Rank a = 0; a < c.call.omni.aggregators; ++a) {
    const Rank rank = c.call.omni.workers + a;
    multicasts += world.counts(rank).multicasts;
    for (const collective::RoundSeen& seen : world.rounds(rank)) {
      const auto& rounds = right.streams.at(seen.stream);
      ASSERT_LT(seen.round, rounds.size());
      ASSERT_EQ(seen.keys, rounds[seen.round].keys) << "stream " << seen.stream << " round " << seen.round;
      ASSERT_EQ(seen.wanted, Keys{rounds[seen.round].wanted});
      ASSERT_EQ(seen.present, rounds[seen.round].present);
    }
  }
  ASSERT_EQ(multicasts, right.multicasts);
}

void play_pairs(const PairCase& c, std::uint64_t seed) {
  SCOPED_TRACE(c.text() + ", seed " + std::to_string(seed));
  ASSERT_TRUE(collective::check_omni(c.layout(), c.call));
  PacketWorld world(c.layout(), c.call, seed);
  fill(c, world);
  ASSERT_EQ(world.play(), "");
  ASSERT_EQ(wrong(c, world), 0);
  ASSERT_LE(world.max_packet(), collective::max_packet(c.call));
  expect_pair_protocol(c, world);
  for (Rank r = 0; r < c.layout().ranks(); ++r) {
    ASSERT_EQ(world.counts(r).resent, 0u);
    ASSERT_EQ(world.counts(r).dropped, 0u);
  }
}

TEST(OmnireducePairs, SendWhatTheirRulesSayInHundredsOfShapes) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    play_pairs(drawn_pairs(seed), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(OmnireducePairs, AreRightForEveryTypeOperationAndKey) {
  std::uint64_t seed = 0;
  for (const Spread spread : {Spread::scattered, Spread::clustered, Spread::dense}) {
    for (const Type type : collective::all_types) {
      for (const Operation operation : collective::all_operations) {
        for (const std::uint32_t key_bytes : {4u, 8u}) {
          std::mt19937_64 random(++seed);
          PairCase c;
          c.call.elements = 90;
          c.call.type = type;
          c.call.operation = operation;
          c.call.omni = {.workers = 5, .aggregators = 2, .block = 8, .streams = 3, .pairs = 4};
          c.call.omni.key_bytes = key_bytes;
          c.call.omni.acked = seed / 2 % 2;
          draw_spread(c, spread, 40, random);
          play_pairs(c, seed);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// The order in which packets come decides nothing, down to the last bit of a sum of floats.
TEST(OmnireducePairs, AreTheSameInEveryInterleavingTried) {
  PairCase c;
  std::mt19937_64 random(5);
  c.call.elements = 150;
  c.call.omni = {.workers = 6, .aggregators = 2, .block = 8, .streams = 4, .pairs = 3};
  draw_spread(c, Spread::scattered, 60, random);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    c.call.omni.acked = seed % 2;
    play_pairs(c, seed);
    if (HasFatalFailure()) return;
  }
}

TEST(OmnireducePairs, PlayCallAfterCall) {
  for (const std::uint64_t seed : {18u, 19u, 25u}) {
    const PairCase c = drawn_pairs(seed);
    PacketWorld world(c.layout(), c.call, 5);
    for (int i = 0; i < 3; ++i) {
      fill(c, world);
      ASSERT_EQ(world.play(), "") << i;
      ASSERT_EQ(wrong(c, world), 0) << i;
      expect_pair_protocol(c, world);
    }
  }
}

// The rules by hand: two workers, two pairs in a packet. 1 has 0, 4, 5; 2 has 4, 7, 8, 9.
TEST(OmnireducePairs, AreMergedUpToTheLeastNextKeyOfAllWorkers) {
  PairCase c;
  std::mt19937_64 random(1);
  c.call.elements = 10;
  c.call.omni = {.workers = 2, .aggregators = 1, .block = 256, .streams = 1, .pairs = 2};
  draw_values(c, random,
              [](Rank w, std::uint64_t i) { return w == 0 ? i == 0 || i == 4 || i == 5 : i == 4 || i > 6; });
  PacketWorld world(c.layout(), c.call, 1);
  fill(c, world);
  ASSERT_EQ(world.play(), "");
  ASSERT_EQ(wrong(c, world), 0);
  const auto& rounds = world.rounds(2);
  ASSERT_EQ(rounds.size(), 3u);
  // (0, 4 | 5) and (4, 7 | 8): up to 5.
  EXPECT_EQ(rounds[0].keys, (Keys{0, 4}));
  EXPECT_EQ(rounds[0].wanted, Keys{5});
  EXPECT_EQ(rounds[0].present, (std::vector<Rank>{1, 2}));
  // (5 | none): up to 8, which the second has next.
  EXPECT_EQ(rounds[1].keys, (Keys{5, 7}));
  EXPECT_EQ(rounds[1].wanted, Keys{8});
  EXPECT_EQ(rounds[2].keys, (Keys{8, 9}));
  EXPECT_EQ(rounds[2].wanted, Keys{no_key});
  EXPECT_EQ(world.counts(0).packets, 2u);
  EXPECT_EQ(world.counts(1).packets, 2u);
}

// Keys of its workers that all differ: four packets merge into four results, which nobody has to ask for.
TEST(OmnireducePairs, AreSentOnWithoutBeingAskedForWhereAPacketDoesNotHoldThem) {
  PairCase c;
  std::mt19937_64 random(1);
  c.call.elements = 12;
  c.call.omni = {.workers = 4, .aggregators = 1, .block = 256, .streams = 1, .pairs = 3};
  draw_values(c, random, [](Rank w, std::uint64_t i) { return i % 4 == std::uint64_t(w); });
  for (const bool acked : {false, true}) {
    c.call.omni.acked = acked;
    PacketWorld world(c.layout(), c.call, 1);
    fill(c, world);
    ASSERT_EQ(world.play(), "");
    ASSERT_EQ(wrong(c, world), 0);
    EXPECT_EQ(world.counts(4).multicasts, 4u);
    for (Rank w = 0; w < 4; ++w) {
      EXPECT_EQ(world.counts(w).packets, acked ? 4u : 1u);
      EXPECT_EQ(world.counts(w).pairs, 3u);
    }
  }
}

TEST(OmnireducePairs, SendEverythingThatIsNotZero) {
  const float values[] = {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::denorm_min(), -0.0f};
  for (const float value : values) {
    PairCase c;
    std::mt19937_64 random(1);
    c.call.elements = 12;
    c.call.omni = {.workers = 3, .aggregators = 1, .block = 4, .streams = 1, .pairs = 2};
    draw_values(c, random, [](Rank, std::uint64_t) { return false; });
    std::memcpy(&c.data[1][7 * sizeof value], &value, sizeof value);
    PacketWorld world(c.layout(), c.call, 1);
    fill(c, world);
    ASSERT_EQ(world.play(), "");
    EXPECT_EQ(world.counts(1).pairs, value == 0 ? 0u : 1u);
    EXPECT_EQ(wrong(c, world), 0);
  }
}

TEST(OmnireducePairs, AreExactWhateverGetsLost) {
  std::uint64_t resent = 0, dropped = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    PairCase c = drawn_pairs(seed);
    c.call.omni.acked = true;
    Weather weather{.reliable = false};
    weather.loss = double(seed % 4) * 0.1;
    weather.duplicate = double(seed % 3) * 0.1;
    weather.reorder = double(seed % 5) * 0.1;
    SCOPED_TRACE(c.text() + ", seed " + std::to_string(seed));
    PacketWorld world(c.layout(), c.call, seed, weather);
    for (int call = 0; call < 2; ++call) {
      fill(c, world);
      ASSERT_EQ(world.play(), "");
      ASSERT_EQ(world.given_up(), -1) << world.given_up_because();
      ASSERT_EQ(wrong(c, world), 0);
      expect_pair_protocol(c, world);
      if (HasFatalFailure()) return;
      for (Rank r = 0; r < c.layout().ranks(); ++r) {
        resent += world.counts(r).resent;
        dropped += world.counts(r).dropped;
      }
    }
  }
  EXPECT_GT(resent, 1000u);
  EXPECT_GT(dropped, 1000u);
}

TEST(OmnireducePairs, NameASilentWorkerAndASilentAggregator) {
  PairCase c;
  std::mt19937_64 random(3);
  c.call.elements = 400;
  c.call.omni = {.workers = 4, .aggregators = 2, .block = 16, .streams = 8, .acked = true, .pairs = 4};
  draw_spread(c, Spread::scattered, 50, random);
  for (const Rank silent : {1, 3, 4, 5}) {
    PacketWorld world(c.layout(), c.call, 2, {.reliable = false, .loss = 0.1});
    world.silence(silent);
    fill(c, world);
    ASSERT_EQ(world.play(), "");
    EXPECT_EQ(world.given_up(), silent) << world.given_up_because();
  }
}

TEST(OmnireducePairs, RefuseShapesThatTheyCannotPlay) {
  PairCase good;
  good.call.elements = 100;
  good.call.omni = {.workers = 3, .aggregators = 2, .pairs = 100};
  ASSERT_TRUE(collective::check_omni(good.layout(), good.call));
  const auto refused = [&](auto change) {
    collective::Call call = good.call;
    change(call);
    const auto result = collective::check_omni(good.layout(), call);
    return !result && result.error().cause == Cause::bad_input && !result.error().next.empty();
  };
  EXPECT_TRUE(refused([](collective::Call& c) { c.omni.pairs = 4097; }));
  EXPECT_TRUE(refused([](collective::Call& c) { c.omni.key_bytes = 5; }));
  EXPECT_TRUE(refused([](collective::Call& c) { c.omni.fusion = 2; }));
  EXPECT_TRUE(refused([](collective::Call& c) { c.elements = std::uint64_t(1) << 32; }));
  EXPECT_FALSE(refused([](collective::Call& c) {
    c.elements = std::uint64_t(1) << 32;
    c.omni.key_bytes = 8;
  }));
}

TEST(PairHeader, ComesBackAsItWas) {
  std::mt19937_64 random(1);
  std::vector<std::byte> bytes;
  PairHeader back;
  for (int i = 0; i < 2000; ++i) {
    PairHeader header;
    header.kind = random() % 2 ? PairHeader::Kind::pairs : PairHeader::Kind::merged;
    header.key_bytes = random() % 2 ? 4 : 8;
    header.start = {std::uint16_t(random()), std::uint32_t(random())};
    std::uint64_t key = 0;
    for (auto left = random() % 20; left > 0; --left)
      header.keys.push_back(key += 1 + random() % (header.key_bytes == 4 ? 1u << 27 : 1ul << 58));
    header.next = random() % 4 == 0 ? no_key : key + 1;
    encode(header, bytes);
    ASSERT_EQ(bytes.size(), collective::pair_header_bytes(header.key_bytes, header.keys.size()));
    ASSERT_TRUE(decode(bytes, back));
    EXPECT_EQ(back.kind, header.kind);
    EXPECT_EQ(back.key_bytes, header.key_bytes);
    EXPECT_EQ(back.start.stream, header.start.stream);
    EXPECT_EQ(back.start.round, header.start.round);
    EXPECT_EQ(back.next, header.next);
    EXPECT_EQ(back.keys, header.keys);
    ASSERT_FALSE(decode(std::span(bytes).first(bytes.size() - 1), back));
    ASSERT_FALSE(decode(std::span(bytes).first(7), back));
    for (const int kind : {0, 1, 2, 5}) {
      bytes[0] = std::byte(kind);
      ASSERT_FALSE(decode(bytes, back));
    }
  }
  ASSERT_FALSE(decode({}, back));
}

TEST(PairHeader, IsLittleEndianAndItsKeysRise) {
  PairHeader header, back;
  header.kind = PairHeader::Kind::merged;
  header.start = {0x0102, 0x03040506};
  header.keys = {0x0708090a, 0x0708090b};
  std::vector<std::byte> bytes;
  encode(header, bytes);
  const std::vector<int> right = {4, 4, 2, 1, 6, 5, 4, 3, 255, 255, 255, 255, 10, 9, 8, 7, 11, 9, 8, 7};
  ASSERT_EQ(bytes.size(), right.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(int(bytes[i]), right[i]) << i;
  for (const Keys& keys : {Keys{5, 5}, Keys{5, 4}, Keys{7}, Keys{8}}) {
    header.keys = keys;
    header.next = 7;
    encode(header, bytes);
    EXPECT_FALSE(decode(bytes, back));
  }
}

// Headers that no program writes: bits of real ones changed, at every point of a run. None leads out of the
// buffers; where no packet is ever lost, all but those that might be real end the run.
TEST(PairHeader, IsNotTrusted) {
  std::uint64_t tried = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const PairCase c = drawn_pairs(seed);
    const bool reliable = !c.call.omni.acked;
    PacketWorld world(c.layout(), c.call, seed, {.reliable = reliable});
    fill(c, world);
    std::mt19937_64 random(seed);
    world.probe([&](PacketHandler& handler, Rank from, Rank to, std::span<const std::byte> header) {
      std::vector<std::byte> bytes(header.begin(), header.end());
      switch (random() % 3) {
        case 0:
          bytes[random() % bytes.size()] ^= std::byte(1 << random() % 8);
          break;
        case 1:
          for (int i = 0; i < 4; ++i) bytes[random() % bytes.size()] = std::byte(random());
          break;
        default:
          bytes.resize(8 + random() % 12 * 4);
          for (std::size_t i = header.size(); i < bytes.size(); ++i) bytes[i] = std::byte(random() % 4);
      }
      std::vector<PacketPart> parts;
      const Rank sender = random() % 4 ? from : Rank(random() % 20) - 4;
      const Placed placed = handler.place(sender, bytes, parts);
      ++tried;
      if (placed != Placed::accepted) {
        ++refused;
        EXPECT_EQ(placed, reliable ? Placed::broken : Placed::dropped);
        EXPECT_TRUE(parts.empty());
        return true;
      }
      EXPECT_LE(parts.size(), 1u);
      for (const PacketPart& part : parts) {
        EXPECT_GT(part.into.length, 0u);
        EXPECT_FALSE(part.reduce);
        EXPECT_TRUE(part.into.space == Space::scratch);
        EXPECT_LE(part.into.offset + part.into.length, omnireduce_scratch(c.layout(), to, c.call));
      }
      return false;
    });
    ASSERT_EQ(world.play(), "");
  }
  EXPECT_GT(tried, 1000u);
  EXPECT_GT(refused, tried / 2);
}

}  // namespace
}  // namespace ringtrue::test
