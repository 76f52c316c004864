#include "diagnosis/infer/set_cover.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "diagnosis/plan/plan.h"

namespace ringtrue::diagnosis {
namespace {

constexpr auto S = Direction::sends;
constexpr auto R = Direction::receives;

std::vector<Pair> row(int x, int n) {
  std::vector<Pair> out;
  for (int y = 0; y < n; ++y) {
    if (y != x) out.push_back({x, y});
  }
  return out;
}

TEST(Cover, OneSlowRowIsOneSender) {
  const Cover c = minimum_set_cover(row(2, 5), {{2, S}});
  ASSERT_EQ(c.sides.size(), 1u);
  EXPECT_EQ(c.sides[0], (Side{2, S}));
  EXPECT_FALSE(c.alternative[0]);
}

TEST(Cover, SinglePairIsNoSide) {
  EXPECT_TRUE(minimum_set_cover({{0, 1}}, {}).sides.empty());
}

TEST(Cover, TwoSendersOfThreeDoNotMakeTheThirdAReceiver) {
  // 0 and 1 send slowly, so all that 2 receives is slow: two causes explain everything, three are not needed.
  std::vector<Pair> slow = row(0, 3);
  for (const Pair& p : row(1, 3)) slow.push_back(p);
  const Cover c = minimum_set_cover(slow, {{2, R}, {0, S}, {1, S}});
  ASSERT_EQ(c.sides.size(), 2u);
  EXPECT_EQ(c.sides[0], (Side{0, S}));
  EXPECT_EQ(c.sides[1], (Side{1, S}));
}

TEST(Cover, SaysWhenAnotherExplanationIsAsGood) {
  // Three nodes, sender 0 and receiver 1: or sender 0 and the one path that is left of receiver 1.
  const Cover c = minimum_set_cover({{0, 1}, {0, 2}, {2, 1}}, {{0, S}, {1, R}});
  ASSERT_EQ(c.sides.size(), 2u);
  EXPECT_TRUE(c.alternative[0] && c.alternative[1]);
}

TEST(Cover, GreedyDropsWhatIsSuperfluous) {
  // 14 slow senders of 20: more candidates than the exact search takes.
  std::vector<Pair> slow;
  std::vector<Side> candidates;
  for (int x = 0; x < 14; ++x) {
    for (const Pair& p : row(x, 20)) slow.push_back(p);
    candidates.push_back({x, S});
  }
  const Cover c = minimum_set_cover(slow, candidates);
  EXPECT_EQ(c.sides.size(), 14u);
}

TEST(Plan, ShiftsCoverEveryPairOnce) {
  EXPECT_EQ(shifts(4, 15), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(shifts(2, 15), (std::vector<int>{1}));
  EXPECT_TRUE(shifts(1, 15).empty());
  const auto few = shifts(64, 8);
  EXPECT_EQ(few.size(), 8u);
  EXPECT_EQ(few.front(), 1);
  EXPECT_EQ(few.back(), 63);
  EXPECT_EQ(std::adjacent_find(few.begin(), few.end()), few.end());
}

TEST(Plan, SizesAreWholeAndBounded) {
  const Experiment ring = ring_over({0, 1, 2, 3}, Bytes(15'000'000), Bytes(256u << 20));
  EXPECT_EQ(ring.bytes.value, 10'000'000u);  // 2 x 3/4 of it pass each hop
  EXPECT_EQ(ring.iterations, 1);
  const Experiment pairs = pairwise_over({0, 1}, 1, Bytes(1'000'000'000), Bytes(256u << 20));
  EXPECT_LE(pairs.bytes.value, 256u << 20);
  EXPECT_EQ(pairs.bytes.value % 8, 0u);
  EXPECT_NEAR(double(pairs.bytes.value) * pairs.iterations / 1e9, 1, 1e-6);
  EXPECT_EQ(pairwise_over({0, 1}, 1, Bytes(0), Bytes(1)).bytes.value, 8u);
}

TEST(Plan, SuspectsMeetGoodPartnersThatAreNew) {
  Inference inference;
  for (const int node : {0, 1}) {
    Suspect s;
    s.type = node == 0 ? ScopeType::sender : ScopeType::receiver;
    s.node = node;
    inference.suspects.push_back(s);
  }
  PairCounts counts;
  std::vector<const Suspect*> suspects{&inference.suspects[0], &inference.suspects[1]};
  std::vector<int> nodes{0, 1, 2, 3, 4, 5}, met;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto order = changed_partners(nodes, suspects, inference, counts, seed);
    const auto at = std::find(order.begin(), order.end(), 0) - order.begin();
    const int partner = order[std::size_t(at + 1) % 6];
    EXPECT_NE(partner, 1);  // suspected itself
    EXPECT_EQ(std::count(met.begin(), met.end(), partner), 0);
    met.push_back(partner);
    ++counts[{0, partner}];
  }
}

// Where nobody is suspected, what is measured again is measured with others: the same pair thrice tells no
// side from the path.
TEST(Plan, NobodyMeetsTheSamePartnerWhereNobodyIsSuspected) {
  const std::vector<int> nodes{0, 1, 2, 3, 4, 5, 6};
  PairCounts counts;
  for (std::size_t i = 0; i < nodes.size(); ++i) counts[{nodes[i], nodes[(i + 1) % nodes.size()]}] = 1;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto order = changed_partners(nodes, {}, Inference{}, counts, seed);
    int met = 0;
    for (std::size_t i = 0; i < order.size(); ++i)
      met += int(counts.count({order[i], order[(i + 1) % order.size()]}));
    EXPECT_EQ(met, 0) << seed;
  }
}

}  // namespace
}  // namespace ringtrue::diagnosis
