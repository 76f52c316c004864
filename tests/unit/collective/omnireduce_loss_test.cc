// Packets that get lost, come twice or out of order, and participants that fall silent.
#include <gtest/gtest.h>

#include "collective/omnireduce/header.h"
#include "tests/support/omni_cases.h"

namespace ringtrue::test {
namespace {

using collective::OmniHeader;

// Packets by worker, multicasts and the order of results are those of a world that loses nothing.
void expect_rounds(const OmniCase& c, PacketWorld& world) {
  const Protocol right = expected_protocol(c);
  for (Rank w = 0; w < c.call.omni.workers; ++w) {
    ASSERT_EQ(world.counts(w).packets, right.packets[std::size_t(w)]);
    ASSERT_EQ(world.counts(w).blocks, right.blocks[std::size_t(w)]);
  }
  std::uint64_t rounds = 0;
  for (Rank a = 0; a < c.call.omni.aggregators; ++a) {
    for (const collective::RoundSeen& round : world.rounds(c.call.omni.workers + a)) {
      ASSERT_EQ(round.blocks, right.streams.at(round.stream).at(round.round).blocks);
      ++rounds;
    }
  }
  ASSERT_EQ(rounds, right.multicasts);
}

TEST(OmnireduceLoss, IsExactWhateverGetsLost) {
  std::uint64_t resent = 0, dropped = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    OmniCase c = drawn_case(seed);
    c.call.omni.acked = true;
    Weather weather{.reliable = false};
    weather.loss = double(seed % 4) * 0.1;
    weather.duplicate = double(seed % 3) * 0.1;
    weather.reorder = double(seed % 5) * 0.1;
    SCOPED_TRACE(c.text() + ", seed " + std::to_string(seed));
    PacketWorld world(c.layout(), c.call, seed, weather);
    for (int call = 0; call < 2; ++call) {
      fill(c, world);
      const double began = world.now();
      ASSERT_EQ(world.play(), "");
      ASSERT_EQ(world.given_up(), -1) << world.given_up_because();
      ASSERT_EQ(wrong(c, world), 0u);
      ASSERT_LT(world.now() - began, 20);
      expect_rounds(c, world);
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

OmniCase busy_case() {
  OmniCase c;
  std::mt19937_64 random(3);
  c.call.elements = 400;
  c.call.omni = {.workers = 4, .aggregators = 2, .block = 2, .streams = 8, .fusion = 2, .acked = true};
  c.bitmaps = bitmaps_of(Pattern::dense, 4, 200, random);
  return c;
}

TEST(OmnireduceLoss, ResendsNothingOrNearlySoWhereNothingIsLost) {
  const OmniCase c = busy_case();
  std::uint64_t packets = 0, resent = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    PacketWorld world(c.layout(), c.call, seed, {.reliable = false});
    fill(c, world);
    ASSERT_EQ(world.play(), "");
    ASSERT_EQ(wrong(c, world), 0u);
    for (Rank r = 0; r < 6; ++r) {
      packets += world.counts(r).packets;
      resent += world.counts(r).resent;
    }
  }
  EXPECT_LT(resent, packets);  // the world jumps to the next timer now and then
}

// The window is down to one packet, and others' timeouts must not keep a stream from its turn.
TEST(OmnireduceLoss, StarvesNoStream) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    OmniCase c = drawn_case(87);
    c.call.omni.aggregators = seed % 2 ? 3 : 1;
    c.call.omni.acked = true;
    PacketWorld world(c.layout(), c.call, seed, {.reliable = false, .loss = 0.3, .reorder = 0.2});
    fill(c, world);
    ASSERT_EQ(world.play(), "");
    ASSERT_EQ(world.given_up(), -1) << world.given_up_because() << ", seed " << seed;
    ASSERT_EQ(wrong(c, world), 0u);
  }
}

TEST(OmnireduceLoss, NamesASilentAggregator) {
  const OmniCase c = busy_case();
  for (const Rank silent : {4, 5}) {
    PacketWorld world(c.layout(), c.call, 2, {.reliable = false, .loss = 0.1});
    world.silence(silent);
    fill(c, world);
    ASSERT_EQ(world.play(), "");
    EXPECT_EQ(world.given_up(), silent);
    EXPECT_NE(world.given_up_because().find("aggregator"), std::string::npos) << world.given_up_because();
    EXPECT_LT(world.now(), 7);
  }
}

TEST(OmnireduceLoss, NamesASilentWorkerBeforeItsAggregatorsAreBlamed) {
  const OmniCase c = busy_case();
  for (const Rank silent : {0, 3}) {
    PacketWorld world(c.layout(), c.call, 2, {.reliable = false, .loss = 0.1});
    world.silence(silent);
    fill(c, world);
    ASSERT_EQ(world.play(), "");
    EXPECT_EQ(world.given_up(), silent) << world.given_up_because();
    EXPECT_LT(world.now(), 6);
  }
}

TEST(OmnireduceLoss, KnowsWhomItWaitsFor) {
  const OmniCase c = busy_case();
  PacketWorld world(c.layout(), c.call, 2, {.reliable = false});
  world.silence(5);
  fill(c, world);
  ASSERT_EQ(world.play(), "");
  ASSERT_EQ(world.given_up(), 5);
  EXPECT_EQ(world.waiting_for(1), 5);
  EXPECT_EQ(world.waiting_for(5), 0);  // it has heard of nobody
}

TEST(OmnireduceHeader, ComesBackAsItWas) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    OmniHeader header;
    header.kind = random() % 2 ? OmniHeader::Kind::blocks : OmniHeader::Kind::result;
    header.stream = std::uint16_t(random());
    header.round = std::uint32_t(random());
    header.mask = i == 0 ? ~0ull : i == 1 ? 0 : random() & random();
    for (std::uint32_t& row : header.row) row = std::uint32_t(random());
    std::array<std::byte, collective::max_block_header_bytes> bytes;
    const std::size_t length = encode(header, collective::HeaderBytes(bytes));
    ASSERT_EQ(length, collective::omni_header_bytes(std::uint32_t(std::popcount(header.mask))));
    const auto back = collective::decode({bytes.data(), length});
    ASSERT_TRUE(back);
    EXPECT_EQ(back->kind, header.kind);
    EXPECT_EQ(back->stream, header.stream);
    EXPECT_EQ(back->round, header.round);
    EXPECT_EQ(back->mask, header.mask);
    collective::for_each_column(header.mask,
                                [&](std::uint32_t c) { ASSERT_EQ(back->row[c], header.row[c]) << c; });
    ASSERT_FALSE(collective::decode({bytes.data(), length - 1}));
    ASSERT_FALSE(collective::decode({bytes.data(), length + 4}));
    bytes[1] = std::byte{1};
    ASSERT_FALSE(collective::decode({bytes.data(), length}));
    bytes[1] = std::byte{0};
    bytes[0] = std::byte{3};
    ASSERT_FALSE(collective::decode({bytes.data(), length}));
  }
  ASSERT_FALSE(collective::decode({}));
}

TEST(OmnireduceHeader, IsLittleEndian) {
  OmniHeader header;
  header.kind = OmniHeader::Kind::result;
  header.stream = 0x0102;
  header.round = 0x03040506;
  header.mask = 0x8000000000000001;
  header.row[0] = 0x0708090a;
  header.row[63] = collective::no_row;
  std::array<std::byte, collective::max_block_header_bytes> bytes;
  const std::size_t length = encode(header, collective::HeaderBytes(bytes));
  const std::vector<int> right = {2, 0, 2, 1,   6,  5, 4, 3, 1,   0,   0,   0,
                                  0, 0, 0, 128, 10, 9, 8, 7, 255, 255, 255, 255};
  ASSERT_EQ(length, right.size());
  for (std::size_t i = 0; i < length; ++i) EXPECT_EQ(int(bytes[i]), right[i]) << i;
}

// Headers that no program writes: bits of real ones changed, at every point of a run. None leads out of the
// buffers; where no packet is ever lost, all but those that might be real end the run.
TEST(OmnireduceHeader, IsNotTrusted) {
  std::uint64_t tried = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const OmniCase c = drawn_case(seed);
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
          bytes.resize(random() % 300);
          for (std::byte& byte : bytes) byte = std::byte(random() % 3 ? random() % 4 : random());
      }
      std::vector<PacketPart> parts;
      const Rank sender = random() % 4 ? from : Rank(random() % 40) - 4;
      const Placed placed = handler.place(sender, bytes, parts);
      ++tried;
      if (placed != Placed::accepted) {
        ++refused;
        EXPECT_EQ(placed, reliable ? Placed::broken : Placed::dropped);
        EXPECT_TRUE(parts.empty());
        return true;
      }
      for (const PacketPart& part : parts) {
        const std::uint64_t end = part.into.offset + part.into.length;
        EXPECT_GT(part.into.length, 0u);
        if (to < c.call.omni.workers) {
          EXPECT_TRUE(part.into.space == Space::data && end <= c.call.bytes());
        } else {
          EXPECT_TRUE(part.into.space == Space::scratch);
          EXPECT_LE(end, omnireduce_scratch(c.layout(), to, c.call));
        }
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
