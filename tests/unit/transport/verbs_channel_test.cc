// How the verbs channel uses queue pairs, beyond what the suite asks of every transport.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include "run/rdma.h"
#include "tests/support/verbs_pair.h"

namespace ringtrue::transport::verbs {
namespace {

using test::Post;
using test::VerbsHop;
using test::VerbsPair;

void fill(std::byte* at, std::uint64_t bytes, unsigned seed = 1) {
  for (std::uint64_t i = 0; i < bytes; ++i) at[i] = std::byte(i * 7 + (i >> 8) * 13 + seed);
}

VerbsPair::Setup slices_of(std::uint64_t bytes, int slots = 8) {
  VerbsPair::Setup setup;
  setup.settings.slot_bytes = bytes;
  setup.settings.slots = slots;
  return setup;
}

run::RdmaHop rdma_of(const VerbsHop& hop) {
  return std::get<run::RdmaHop>(hop.ends[0]->statistics());
}

TEST(VerbsChannel, SlicesAreTakenInOrderInWhateverOrderTheyCome) {
  VerbsPair::Setup setup = slices_of(64 * 1024);
  setup.rails = 2;
  setup.settings.queue_pairs = 2;
  VerbsHop hop(setup);
  constexpr std::uint64_t bytes = 4 * 65536 - 1000;
  fill(hop.memory(0), bytes);
  hop.pair.fabric.hold();
  hop.ends[0]->send(1, hop.memory(0), bytes);
  hop.ends[1]->receive(2, {hop.memory(1), nullptr, bytes, Arrival::store});
  EXPECT_EQ(hop.pair.fabric.held(), 4u) << "one slice on each queue pair";
  // Rail by rail and queue pair by queue pair, as offered; slice k is on rail k % 2.
  const auto pairs = hop.pair.fabric.queue_pairs();
  ASSERT_EQ(pairs.size(), 8u);
  for (const std::size_t line : {3, 1, 2}) {
    EXPECT_EQ(hop.pair.fabric.deliver_from(pairs[line]), 1u);
    hop.settle();
    EXPECT_EQ(hop.memory(1)[0], std::byte{}) << "slice 0 is not here";
  }
  EXPECT_EQ(hop.pair.fabric.deliver_from(pairs[0]), 1u);
  ASSERT_TRUE(hop.run_until_done(1, 1));
  EXPECT_EQ(std::memcmp(hop.memory(0), hop.memory(1), bytes), 0);
}

TEST(VerbsChannel, TellsWhichRailIsBusy) {
  VerbsPair::Setup setup = slices_of(64 * 1024);
  setup.rails = 2;
  VerbsHop hop(setup);
  constexpr std::uint64_t bytes = 2 * 65536;
  hop.pair.fabric.hold();
  hop.ends[0]->send(1, hop.memory(0), bytes);
  hop.ends[1]->receive(2, {hop.memory(1), nullptr, bytes, Arrival::store});
  const auto pairs = hop.pair.fabric.queue_pairs();
  EXPECT_EQ(hop.pair.fabric.deliver_from(pairs[0]), 1u);
  hop.settle();
  const std::int64_t before = now_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const double waited = double(now_ns() - before) * 1e-9;
  EXPECT_EQ(hop.pair.fabric.deliver_from(pairs[1]), 1u);
  ASSERT_TRUE(hop.run_until_done(1, 1));
  hop.settle();
  const auto rails = rdma_of(hop).rails;
  ASSERT_EQ(rails.size(), 2u);
  EXPECT_NE(rails[0].port, rails[1].port);
  for (const run::RdmaRail& rail : rails) EXPECT_EQ(rail.bytes, Bytes(bytes / 2));
  EXPECT_GE(rails[1].busy.value, rails[0].busy.value + waited) << "the other rail's slice was there at once";
  EXPECT_GE(rdma_of(hop).busy.value, rails[1].busy.value * 0.99);
  hop.ends[0]->reset_counters();
  const auto after = rdma_of(hop).rails;
  for (const run::RdmaRail& rail : after) EXPECT_EQ(rail.busy.value, 0);
}

TEST(VerbsChannel, WaitsForCreditsAndSaysSo) {
  VerbsHop hop(slices_of(4096, 8));
  constexpr std::uint64_t bytes = 40 * 4096;
  fill(hop.memory(0), bytes);
  hop.ends[0]->send(1, hop.memory(0), bytes);
  hop.settle();
  EXPECT_EQ(hop.pair.fabric.totals().immediates, 8u) << "as many slices as there are slots";
  EXPECT_TRUE(hop.owner[0].done.empty());
  hop.ends[1]->receive(2, {hop.memory(1), nullptr, bytes, Arrival::store});
  ASSERT_TRUE(hop.run_until_done(1, 1));
  EXPECT_EQ(std::memcmp(hop.memory(0), hop.memory(1), bytes), 0);
  hop.settle();
  EXPECT_EQ(hop.pair.fabric.totals().immediates, 40u + 10u) << "credits come for half a ring at a time";
  const auto rdma = rdma_of(hop);
  EXPECT_EQ(rdma.writes, 40u);
  EXPECT_GT(rdma.credit_limited.value, 0.002);
  EXPECT_LE(rdma.credit_limited.value, rdma.busy.value);
  EXPECT_EQ(rdma.queue_limited.value, 0);
  hop.ends[0]->reset_counters();
  EXPECT_EQ(rdma_of(hop).writes, 0u);
  EXPECT_EQ(rdma_of(hop).credit_limited.value, 0);
}

// Of a short write alone, until it is acknowledged.
TEST(VerbsChannel, ShortWritesTellTheRoundTrip) {
  VerbsHop hop(slices_of(4096, 8));
  EXPECT_EQ(rdma_of(hop).min_rtt.value, 0);
  fill(hop.memory(0), 64);
  hop.ends[0]->send(1, hop.memory(0), 64);
  hop.ends[1]->receive(2, {hop.memory(1), nullptr, 64, Arrival::store});
  ASSERT_TRUE(hop.run_until_done(1, 1));
  hop.settle();
  EXPECT_GT(rdma_of(hop).min_rtt.value, 0);
  EXPECT_LE(rdma_of(hop).min_rtt.value, rdma_of(hop).busy.value);
  hop.ends[0]->reset_counters();
  EXPECT_EQ(rdma_of(hop).min_rtt.value, 0);
}

TEST(VerbsChannel, FewWritesAskForACompletion) {
  VerbsHop hop(slices_of(4096, 16));
  constexpr std::uint64_t bytes = 1 << 20;
  hop.ends[0]->send(1, hop.memory(0), bytes);
  hop.ends[1]->receive(2, {hop.memory(1), nullptr, bytes, Arrival::store});
  ASSERT_TRUE(hop.run_until_done(1, 1));
  EXPECT_EQ(rdma_of(hop).writes, 256u);
  EXPECT_LE(hop.pair.fabric.totals().signaled, 256u / 4);
}

TEST(VerbsChannel, ShortMessagesLeaveInlineAndAreGoneAtOnce) {
  VerbsHop hop;
  fill(hop.memory(0), 204);
  hop.pair.fabric.hold();
  hop.ends[0]->send(1, hop.memory(0), 204);
  EXPECT_TRUE(hop.owner[0].done.contains(1)) << "its memory may be used again";
  std::memset(hop.memory(0), 0, 204);
  hop.ends[0]->send(2, hop.memory(0), 205);
  EXPECT_FALSE(hop.owner[0].done.contains(2)) << "one byte more does not fit";
  EXPECT_EQ(hop.pair.fabric.totals().inlined, 1u);
  hop.ends[1]->receive(3, {hop.memory(1), nullptr, 204, Arrival::store});
  hop.ends[1]->receive(4, {hop.memory(1) + 1000, nullptr, 205, Arrival::store});
  hop.pair.fabric.release();
  ASSERT_TRUE(hop.run_until_done(2, 2));
  fill(hop.memory(0), 204);
  EXPECT_EQ(std::memcmp(hop.memory(0), hop.memory(1), 204), 0);
}

TEST(VerbsChannel, RegisteredMemoryIsSentFromWhereItIs) {
  VerbsHop hop;
  std::memset(hop.memory(0), 1, 100'000);
  hop.pair.fabric.hold();
  hop.ends[0]->send(1, hop.memory(0), 100'000);
  hop.settle();
  EXPECT_TRUE(hop.owner[0].done.empty());
  std::memset(hop.memory(0), 2, 100'000);  // which nobody may do; here it shows that there is no copy
  hop.ends[1]->receive(2, {hop.memory(1), nullptr, 100'000, Arrival::store});
  hop.pair.fabric.release();
  ASSERT_TRUE(hop.run_until_done(1, 1));
  EXPECT_EQ(hop.memory(1)[99'999], std::byte{2});
}

TEST(VerbsChannel, OtherMemoryIsCopiedWhileEarlierSlicesLeave) {
  VerbsPair::Setup setup = slices_of(16 * 1024, 4);
  setup.settings.registration = run::Registration::staged;
  VerbsHop hop(setup);
  constexpr std::uint64_t bytes = 10 * 16384;
  fill(hop.memory(0), bytes);
  hop.pair.fabric.hold();
  hop.ends[0]->send(1, hop.memory(0), bytes);
  hop.ends[1]->receive(2, {hop.memory(1), nullptr, bytes, Arrival::store});
  EXPECT_EQ(hop.pair.fabric.held(), 4u) << "as many as the receiver has slots, and we have to copy into";
  // Each slice that has left makes room for the copy of another one, long before the message is over.
  std::size_t left = 0;
  while (hop.owner[0].done.empty()) {
    ASSERT_EQ(hop.pair.fabric.deliver(1), 1u);
    ++left;
    hop.settle();
    ASSERT_LT(left, 40u);
  }
  EXPECT_GT(hop.pair.fabric.held(), 0u) << "gone as far as the owner is concerned: its bytes are copied";
  std::memset(hop.memory(0), 0, bytes);
  hop.pair.fabric.release();
  ASSERT_TRUE(hop.run_until_done(1, 1));
  fill(hop.memory(0), bytes);
  EXPECT_EQ(std::memcmp(hop.memory(0), hop.memory(1), bytes), 0);
}

TEST(VerbsChannel, LongMessagesLeaveInTwoWritesWhereRoutesMayReorder) {
  for (const run::Registration registration : {run::Registration::automatic, run::Registration::staged}) {
    VerbsPair::Setup setup = slices_of(4096);
    setup.settings.adaptive_routing_threshold = 8192;
    setup.settings.registration = registration;
    VerbsHop hop(setup);
    fill(hop.memory(0), 20'000);
    hop.ends[0]->send(1, hop.memory(0), 8191);
    hop.ends[1]->receive(2, {hop.memory(1), nullptr, 8191, Arrival::store});
    ASSERT_TRUE(hop.run_until_done(1, 1));
    EXPECT_EQ(hop.pair.fabric.totals().writes, 2u);
    EXPECT_EQ(hop.pair.fabric.totals().immediates, 2u);
    hop.ends[0]->send(3, hop.memory(0), 20'000);
    hop.ends[1]->receive(4, {hop.memory(1), nullptr, 20'000, Arrival::store});
    ASSERT_TRUE(hop.run_until_done(2, 2));
    EXPECT_EQ(std::memcmp(hop.memory(0), hop.memory(1), 20'000), 0);
    const auto totals = hop.pair.fabric.totals();
    EXPECT_EQ(totals.writes - totals.immediates, 5u) << "the payload of each of five slices by itself";
  }
}

TEST(VerbsChannel, ShortQueuesAreNeverOverrun) {
  for (const std::uint64_t threshold : {0, 1}) {
    VerbsPair::Setup setup = slices_of(4096, 64);
    setup.settings.adaptive_routing_threshold = threshold;
    setup.change = [](FakeDevice& device) { device.limits.work_requests = 6; };
    VerbsHop hop(setup);
    constexpr std::uint64_t bytes = 100 * 4096;
    for (const int r : {0, 1}) {
      fill(hop.memory(r), bytes, unsigned(r));
      hop.pair.fabric.hold();
      hop.ends[r]->send(1, hop.memory(r), bytes);
      hop.ends[r]->receive(2, {hop.memory(r) + (2 << 20), nullptr, bytes, Arrival::store});
    }
    hop.settle();
    EXPECT_LE(hop.pair.fabric.held(), 2 * 6u);
    EXPECT_GT(rdma_of(hop).queue_limited.value, 0.002);
    EXPECT_EQ(rdma_of(hop).credit_limited.value, 0);
    hop.pair.fabric.release();
    ASSERT_TRUE(hop.run_until_done(2, 2)) << "the queues are full of credits";
    for (const int r : {0, 1}) EXPECT_EQ(std::memcmp(hop.memory(1 - r), hop.memory(r) + (2 << 20), bytes), 0);
  }
}

// The device stamped the write's end long before anybody looked.
TEST(VerbsChannel, BusyTimeEndsByTheDevicesClock) {
  VerbsPair::Setup setup;
  setup.change = [](FakeDevice& device) { device.limits.timestamp_hertz = 1e9; };
  VerbsHop hop(setup);
  hop.pair.fabric.set_clock([] { return now_ns() - 12'345'678'901; });
  const auto send = [&](std::uint64_t token) {
    hop.ends[1]->receive(token, {hop.memory(1), nullptr, 100'000, Arrival::store});
    hop.ends[0]->send(token, hop.memory(0), 100'000);
  };
  send(1);
  ASSERT_TRUE(hop.run_until_done(1, 1));
  hop.ends[0]->reset_counters();
  send(2);
  const std::int64_t later = now_ns() + 50'000'000;
  while (now_ns() < later) {
  }
  ASSERT_TRUE(hop.run_until_done(2, 2));
  EXPECT_GT(rdma_of(hop).busy.value, 0);
  EXPECT_LT(rdma_of(hop).busy.value, 0.025);
}

struct Mix {
  const char* name;
  VerbsPair::Setup setup;
};

std::vector<Mix> mixes() {
  std::vector<Mix> all;
  all.push_back({"plain", slices_of(4096)});
  all.push_back({"two slots", slices_of(4096, 2)});
  all.push_back({"staged", slices_of(4096)});
  all.back().setup.settings.registration = run::Registration::staged;
  all.push_back({"three rails, four queue pairs", slices_of(4096, 16)});
  all.back().setup.rails = 3;
  all.back().setup.settings.queue_pairs = 4;
  all.back().setup.shuffle = 7;
  all.push_back({"staged, three rails, adaptive routing", slices_of(4096, 5)});
  all.back().setup.rails = 3;
  all.back().setup.settings.registration = run::Registration::staged;
  all.back().setup.settings.adaptive_routing_threshold = 5000;
  all.back().setup.shuffle = 8;
  all.push_back({"infiniband, no inline, no shared receives", slices_of(4096)});
  all.back().setup.infiniband = true;
  all.back().setup.settings.queue_pairs = 2;
  all.back().setup.shuffle = 9;
  all.back().setup.change = [](FakeDevice& device) {
    device.max_inline = 0;
    device.limits.shared_queues = 0;
    device.limits.work_requests = 12;
  };
  return all;
}

// What one side sends in a random run: number i of `seed`.
struct Draw {
  explicit Draw(unsigned seed) : random(seed) {}
  std::uint64_t length() {
    const int kind = int(random() % 4);
    return kind == 0   ? random() % 64
           : kind == 1 ? random() % 300
           : kind == 2 ? random() % 9000
                       : random() % 40000;
  }
  std::minstd_rand random;
};

TEST(VerbsChannel, ThousandsOfMessagesOfAllSizesBothWaysAtOnce) {
  constexpr int messages = 1500, window = 24;
  constexpr std::uint64_t place = 40'000;  // bytes of a message's buffer
  for (const Mix& mix : mixes()) {
    SCOPED_TRACE(mix.name);
    VerbsHop hop(mix.setup);
    Draw draws[2] = {Draw(11), Draw(12)}, expected[2] = {Draw(11), Draw(12)};
    std::uint64_t sent[2] = {}, posted[2] = {}, checked[2] = {};
    std::vector<std::uint64_t> lengths[2];
    const auto buffer = [&](int r, std::uint64_t half, std::uint64_t i) {
      return hop.memory(r) + (half * window + i % window) * place;
    };
    const auto drive = [&] {
      for (const int r : {0, 1}) {
        Post& owner = hop.owner[r];
        for (; sent[r] < messages && (sent[r] < window || owner.done.contains(2 * (sent[r] - window)));
             ++sent[r]) {
          const std::uint64_t length = draws[r].length();
          fill(buffer(r, 0, sent[r]), length, unsigned(sent[r]));
          hop.ends[r]->send(2 * sent[r], buffer(r, 0, sent[r]), length, length < 100 && sent[r] % 3 == 0);
        }
        for (; posted[r] < messages && posted[r] < checked[r] + window; ++posted[r]) {
          lengths[r].push_back(expected[1 - r].length());
          hop.ends[r]->receive(2 * posted[r] + 1,
                               {buffer(r, 1, posted[r]), nullptr, lengths[r].back(), Arrival::store});
        }
        for (; owner.done.contains(2 * checked[r] + 1); ++checked[r]) {
          std::vector<std::byte> want(lengths[r][checked[r]]);
          fill(want.data(), want.size(), unsigned(checked[r]));
          ASSERT_TRUE(std::equal(want.begin(), want.end(), buffer(r, 1, checked[r]))) << checked[r];
        }
      }
    };
    const Deadline deadline = Deadline::in(Seconds(30));
    while ((checked[0] < messages || checked[1] < messages) && !deadline.passed() && !hop.owner[0].failure &&
           !hop.owner[1].failure && !HasFatalFailure()) {
      drive();
      for (const int r : {0, 1})
        hop.pair.node(r).loops[0]->run([] { return false; }, Deadline::in(Seconds(0)));
    }
    EXPECT_EQ(checked[0] + checked[1], 2u * messages);
    for (const Post& owner : hop.owner) EXPECT_FALSE(owner.failure) << owner.failure->text();
  }
}

// Each node's ends are played by a thread of its own.
TEST(VerbsChannel, ThreadsDoNotMeet) {
  constexpr std::uint64_t bytes = 300'000;
  constexpr int rounds = 50;
  VerbsPair::Setup setup = slices_of(16 * 1024);
  setup.rails = 2;
  VerbsHop hop(setup);
  for (const int r : {0, 1}) fill(hop.memory(r), bytes, unsigned(r));
  std::thread threads[2];
  for (const int r : {0, 1})
    threads[r] = std::thread([&, r] {
      for (std::uint64_t round = 0; round < rounds; ++round) {
        hop.ends[r]->receive(2 * round, {hop.memory(r) + (1 << 20), nullptr, bytes, Arrival::store});
        hop.ends[r]->send(2 * round + 1, hop.memory(r), bytes);
        const auto done = [&] { return hop.owner[r].done.size() == 2 * (round + 1) || hop.owner[r].failure; };
        ASSERT_TRUE(hop.pair.node(r).loops[0]->run(done, Deadline::in(Seconds(20))));
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const int r : {0, 1}) {
    EXPECT_FALSE(hop.owner[r].failure) << hop.owner[r].failure->text();
    EXPECT_EQ(std::memcmp(hop.memory(1 - r), hop.memory(r) + (1 << 20), bytes), 0);
  }
}

}  // namespace
}  // namespace ringtrue::transport::verbs
