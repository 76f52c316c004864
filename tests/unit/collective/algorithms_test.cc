// One suite for every algorithm: right answers for any number of ranks, any size, every type and operation,
// in many interleavings, within the endpoint's contract.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/payload_world.h"

namespace ringtrue::test {
namespace {

using collective::Algorithm;
using collective::Call;
using collective::Layout;

std::vector<std::byte> expected_on(const Algorithm& algorithm, const Call& call, Rank ranks, Rank rank) {
  if (algorithm.allreduce) return expected(call.type, call.operation, ranks, call.elements);
  const Rank from = Rank(((rank - call.shift) % ranks + ranks) % ranks);
  return input_of(call.type, call.operation, from, call.elements);
}

std::uint64_t wrong(const Algorithm& algorithm, const Call& call, PayloadWorld& world, Rank ranks) {
  std::uint64_t count = 0;
  for (Rank r = 0; r < ranks; ++r) {
    const auto right = expected_on(algorithm, call, ranks, r);
    const std::size_t size = collective::size_of(call.type);
    for (std::size_t at = 0; at < right.size(); at += size) {
      count += std::memcmp(&right[at], &world.data(r)[at], size) != 0;
    }
  }
  return count;
}

void play(const Algorithm& algorithm, const Layout& layout, const Call& call, std::uint64_t seed) {
  PayloadWorld world(algorithm, layout, call, seed);
  SCOPED_TRACE(std::string(algorithm.name) + " ranks " + std::to_string(layout.ranks()) + " elements " +
               std::to_string(call.elements) + " " + std::string(key_of(call.type)) + " " +
               std::string(key_of(call.operation)) + " slices of " + std::to_string(call.slice_bytes) +
               " lanes " + std::to_string(call.lanes) + " seed " + std::to_string(seed));
  ASSERT_EQ(world.play(), "");
  ASSERT_EQ(wrong(algorithm, call, world, layout.ranks()), 0u);
}

std::vector<Layout> layouts(Rank n) {
  std::vector<Layout> all = {Layout::one_node(n)};
  if (n < 2) return all;
  all.push_back(Layout::uniform(n, 1));
  for (const int each : {2, 3, 4}) {
    if (n % each == 0 && n > each) all.push_back(Layout::uniform(n / each, each));
  }
  Layout ragged, scattered;
  for (Rank r = 0; r < n; ++r) {
    ragged.node_of_rank.push_back(int(std::sqrt(double(r))));  // 1, 3, 5, ... ranks a node
    scattered.node_of_rank.push_back((r * 5) % 3);
  }
  all.push_back(ragged);
  all.push_back(scattered);
  return all;
}

class EveryAlgorithm : public testing::TestWithParam<std::string> {
 protected:
  const Algorithm& algorithm() const { return **collective::find_algorithm(GetParam()); }
};

TEST_P(EveryAlgorithm, IsRightForEveryNumberOfRanksAndSize) {
  std::uint64_t turn = 0;
  for (Rank n = 1; n <= 33; ++n) {
    for (const std::uint64_t elements : {0u, 1u, 3u, 33u, 97u, 500u}) {
      const std::vector<Layout> all = layouts(n);
      for (std::size_t l = 0; l < all.size(); ++l) {
        // Many ranks with much data in a third of the layouts only, another third each time.
        if (n > 12 && elements > 3 && (l + turn) % 3) {
          ++turn;
          continue;
        }
        const Layout& layout = all[l];
        Call call;
        call.elements = elements;
        call.type = collective::all_types[turn % 6];
        call.operation = collective::all_operations[turn / 6 % 5];
        call.slice_bytes = turn % 3 ? 64 : 24;
        call.lanes = 1 + int(turn % 3);
        call.shift = Rank(turn % 7) - 2;
        ++turn;
        play(algorithm(), layout, call, turn);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(EveryAlgorithm, IsRightForEveryTypeAndOperation) {
  for (const Rank n : {2, 3, 5, 6, 8}) {
    for (const collective::Type type : collective::all_types) {
      for (const collective::Operation operation : collective::all_operations) {
        Call call;
        call.elements = 131;
        call.type = type;
        call.operation = operation;
        call.slice_bytes = 40;
        play(algorithm(), n == 6 ? Layout::uniform(2, 3) : Layout::one_node(n), call, 7);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Rings of several segments run at once between many nodes.
TEST(Hierarchical, IsRightWithManyNodesAndSegments) {
  const Algorithm& hierarchical = collective::algorithm_of(collective::AlgorithmId::hierarchical);
  Call call;
  call.elements = 16 * 64 * 1024 / 4 * 2 + 13;  // two segments, both at once
  call.slice_bytes = 1 << 20;
  call.lanes = 2;
  play(hierarchical, Layout::uniform(8, 2), call, 1);
}

TEST_P(EveryAlgorithm, IsRightInEveryInterleavingTried) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Call call;
    call.elements = 200 + seed;
    call.slice_bytes = 8 << (seed % 5);
    call.lanes = int(seed % 4);
    const Rank n = Rank(2 + seed % 8);
    play(algorithm(), seed % 2 ? layouts(n).back() : layouts(n)[1], call, seed);
    if (HasFatalFailure()) return;
  }
}

class EveryAllreduce : public EveryAlgorithm {};

// But for one-shot, whose ranks each add their own data first: there a rank's bits are its own.
TEST_P(EveryAllreduce, GivesTheSameBitsOnEveryRankAndInEveryInterleaving) {
  const bool alike = algorithm().name != "one-shot";
  for (const Rank n : {2, 3, 7, 8, 12}) {
    std::vector<std::vector<std::byte>> first;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Call call;
      call.elements = 500;
      call.operation = Operation::avg;
      call.slice_bytes = 64;
      PayloadWorld world(algorithm(), layouts(n).back(), call, seed);
      std::mt19937 random(99);
      for (Rank r = 0; r < n; ++r) {
        for (std::uint64_t i = 0; i < call.elements; ++i) {
          const float value = std::ldexp(float(random() % 100000) - 5e4f, int(random() % 20));
          std::memcpy(&world.data(r)[i * 4], &value, 4);
        }
      }
      ASSERT_EQ(world.play(), "");
      if (first.empty())
        for (Rank r = 0; r < n; ++r) first.push_back(world.data(alike ? 0 : r));
      for (Rank r = 0; r < n; ++r)
        ASSERT_EQ(world.data(r), first[std::size_t(r)]) << "rank " << r << " seed " << seed;
    }
  }
}

TEST_P(EveryAlgorithm, BoundsItsPosts) {
  for (const Rank n : {2, 5}) {
    Call call;
    call.elements = 6000;
    call.slice_bytes = 4;
    PayloadWorld world(algorithm(), layouts(n).back(), call, 3);
    ASSERT_EQ(world.play(), "");
    EXPECT_LE(world.max_outstanding(), 4100u) << n;
  }
}

// One flipped bit in one message, whichever it is, is seen by the comparison on some rank.
TEST_P(EveryAlgorithm, ShowsOneFlippedElement) {
  for (const Rank n : {2, 5, 8}) {
    Call call;
    call.elements = 64;
    call.type = Type::int32;
    call.slice_bytes = 64;
    PayloadWorld clean(algorithm(), Layout::uniform(n, 1), call, 5);
    ASSERT_EQ(clean.play(), "");
    ASSERT_GT(clean.messages(), 0u);
    for (std::uint64_t nth = 1; nth <= clean.messages(); ++nth) {
      PayloadWorld world(algorithm(), Layout::uniform(n, 1), call, 5);
      world.corrupt(nth);
      ASSERT_EQ(world.play(), "");
      EXPECT_GT(wrong(algorithm(), call, world, n), 0u) << "message " << nth << " of " << clean.messages();
    }
  }
}

std::vector<std::string> names(bool reducing_only) {
  std::vector<std::string> all;
  for (const Algorithm& algorithm : collective::algorithms()) {
    if (algorithm.uses_packets()) continue;  // omnireduce_test.cc
    if (algorithm.allreduce || !reducing_only) all.emplace_back(algorithm.name);
  }
  return all;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Collective, EveryAlgorithm, testing::ValuesIn(names(false)), test_name);
INSTANTIATE_TEST_SUITE_P(Collective, EveryAllreduce, testing::ValuesIn(names(true)), test_name);

}  // namespace
}  // namespace ringtrue::test
