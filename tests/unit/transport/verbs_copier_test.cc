// Memory of the ranks that the processor does not reach: all of it goes through a copier.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/verbs_pair.h"

namespace ringtrue::transport::verbs {
namespace {

using test::VerbsHop;
using test::VerbsPair;

// Its memory holds every byte in disguise, so that a byte that went past it shows.
class Scrambler final : public Copier {
 public:
  explicit Scrambler(std::byte key) : key_(key) {}
  Result<void> to_host(std::byte* host, const std::byte* from, std::uint64_t bytes) override {
    return copy(host, from, bytes);
  }
  Result<void> from_host(std::byte* into, const std::byte* host, std::uint64_t bytes) override {
    return copy(into, host, bytes);
  }
  // What is at `at` in truth.
  std::vector<std::byte> read(const std::byte* at, std::uint64_t bytes) const {
    std::vector<std::byte> out(at, at + bytes);
    for (std::byte& byte : out) byte ^= key_;
    return out;
  }
  void put(std::byte* at, const std::vector<std::byte>& values) const {
    for (const std::byte value : values) *at++ = value ^ key_;
  }

  int copies = 0, fails_at = 0;  // the how many-th one; 0: none

 private:
  Result<void> copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    if (++copies == fails_at)
      return fail(Cause::unavailable, "an illegal address", {}, "look into dmesg for Xid events");
    for (std::uint64_t i = 0; i < bytes; ++i) to[i] = from[i] ^ key_;
    return {};
  }
  std::byte key_;
};

std::vector<std::byte> pattern(std::uint64_t bytes, unsigned seed) {
  std::vector<std::byte> out(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) out[i] = std::byte(i * 7 + (i >> 8) * 13 + seed);
  return out;
}

class VerbsCopier : public testing::Test {
 protected:
  VerbsPair::Setup setup(bool peermem = false) {
    VerbsPair::Setup setup;
    setup.settings.slot_bytes = 4096;
    setup.copiers[0] = &copiers_[0];
    setup.copiers[1] = &copiers_[1];
    setup.change = [peermem](FakeDevice& device) { device.peermem = peermem; };
    return setup;
  }
  Scrambler copiers_[2] = {Scrambler(std::byte{0x5a}), Scrambler(std::byte{0x33})};
};

TEST_F(VerbsCopier, CarriesEveryByteOfTheRanksMemory) {
  VerbsHop hop(setup());
  EXPECT_EQ(hop.pair.node(0).transport->way(), Way::staged);
  std::size_t messages = 0;
  for (const std::uint64_t bytes : {0, 1, 200, 4096, 4097, 100'003}) {
    const auto sent = pattern(bytes, unsigned(bytes));
    copiers_[0].put(hop.memory(0), sent);
    hop.ends[0]->send(2 * messages, hop.memory(0), bytes);
    hop.ends[1]->receive(2 * messages + 1, {hop.memory(1) + 64, nullptr, bytes, Arrival::store});
    ++messages;
    ASSERT_TRUE(hop.run_until_done(messages, messages)) << bytes;
    EXPECT_EQ(copiers_[1].read(hop.memory(1) + 64, bytes), sent) << bytes;
  }
  EXPECT_EQ(copiers_[0].copies, 0 + 1 + 1 + 1 + 2 + 25) << "one a slice";
  EXPECT_EQ(copiers_[1].copies, copiers_[0].copies);
}

TEST_F(VerbsCopier, BringsWhatIsReducedThereAndBack) {
  VerbsHop hop(setup());
  constexpr std::uint64_t bytes = 10'000;
  const auto ours = pattern(bytes, 1), theirs = pattern(bytes, 2);
  copiers_[0].put(hop.memory(0), ours);
  copiers_[1].put(hop.memory(1), theirs);
  hop.ends[0]->send(1, hop.memory(0), bytes);
  hop.ends[1]->receive(2, {hop.memory(1) + 20'000, hop.memory(1), bytes, Arrival::reduce});
  ASSERT_TRUE(hop.run_until_done(1, 1));
  std::vector<std::byte> sum(bytes);
  hop.adder.reduce(sum.data(), theirs.data(), ours.data(), bytes, Arrival::reduce);
  EXPECT_EQ(copiers_[1].read(hop.memory(1) + 20'000, bytes), sum);
  EXPECT_EQ(copiers_[1].read(hop.memory(1), bytes), theirs);
}

TEST_F(VerbsCopier, IsNotAskedForMemoryOfTheHost) {
  VerbsHop hop(setup());
  auto sent = pattern(9000, 3);
  std::vector<std::byte> came(9000);
  hop.ends[0]->send(1, sent.data(), sent.size());
  hop.ends[1]->receive(2, {came.data(), nullptr, came.size(), Arrival::store});
  ASSERT_TRUE(hop.run_until_done(1, 1));
  EXPECT_EQ(came, sent);
  EXPECT_EQ(copiers_[0].copies + copiers_[1].copies, 0);
}

TEST_F(VerbsCopier, RegisteredMemoryLeavesWithoutItAndArrivesThroughIt) {
  VerbsHop hop(setup(true));
  EXPECT_EQ(hop.pair.node(0).transport->way(), Way::nvidia_peermem);
  const auto sent = pattern(9000, 4);
  std::memcpy(hop.memory(0), sent.data(), sent.size());
  hop.ends[0]->send(1, hop.memory(0), 9000);
  hop.ends[1]->receive(2, {hop.memory(1), nullptr, 9000, Arrival::store});
  ASSERT_TRUE(hop.run_until_done(1, 1));
  EXPECT_EQ(copiers_[1].read(hop.memory(1), 9000), sent);
  EXPECT_EQ(copiers_[0].copies, 0);
}

TEST_F(VerbsCopier, ThatFailsEndsTheRunInTheNameOfItsNode) {
  for (const int node : {0, 1}) {
    for (Scrambler& copier : copiers_) copier.copies = copier.fails_at = 0;
    copiers_[node].fails_at = 2;
    VerbsHop hop(setup());
    hop.ends[0]->send(1, hop.memory(0), 50'000);
    hop.ends[1]->receive(2, {hop.memory(1), nullptr, 50'000, Arrival::store});
    EXPECT_FALSE(hop.run_until_done(1, 1));
    ASSERT_TRUE(hop.owner[node].failure);
    const Error& error = *hop.owner[node].failure;
    const std::string number = std::to_string(node);
    EXPECT_EQ(error.text(),
              "node" + number + ": rank " + number + " on node" + number +
                  " cannot copy its memory: an illegal address; look into dmesg for Xid events");
  }
}

}  // namespace
}  // namespace ringtrue::transport::verbs
