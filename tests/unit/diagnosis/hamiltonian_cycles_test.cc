#include "diagnosis/plan/hamiltonian_cycles.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ringtrue::diagnosis {
namespace {

// How many rings hold each ordered pair; fails where a ring is none.
std::vector<int> counts(int n, const HamiltonianCycles& cover) {
  std::vector<int> out(std::size_t(n) * std::size_t(n), 0);
  for (int k = 0; k < cover.rings(); ++k) {
    const std::vector<int> ring = cover.ring(k);
    EXPECT_EQ(int(ring.size()), n);
    std::vector<int> sorted = ring;
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < n; ++i) EXPECT_EQ(sorted[std::size_t(i)], i) << n << " " << k;
    for (int i = 0; i < n; ++i)
      ++out[std::size_t(ring[std::size_t(i)]) * std::size_t(n) + std::size_t(ring[std::size_t((i + 1) % n)])];
  }
  return out;
}

void expect_each_pair_once(int n) {
  const HamiltonianCycles cover(n);
  ASSERT_EQ(cover.rings(), n - 1);
  const std::vector<int> seen = counts(n, cover);
  for (int x = 0; x < n; ++x)
    for (int y = 0; y < n; ++y)
      ASSERT_EQ(seen[std::size_t(x * n + y)], x == y ? 0 : 1) << n << ": " << x << " -> " << y;
}

TEST(Rings, HoldEachPairExactlyOnceForEveryNumberOfNodes) {
  for (int n = 2; n <= 200; ++n)
    if (n != 4 && n != 6) expect_each_pair_once(n);
}

TEST(Rings, OfFourAndSixHoldEachPairAtLeastOnceInAsFewAsCanBe) {
  for (const int n : {4, 6}) {
    const HamiltonianCycles cover(n);
    // n - 1 would hold each exactly once, which is impossible.
    ASSERT_EQ(cover.rings(), n);
    const std::vector<int> seen = counts(n, cover);
    for (int x = 0; x < n; ++x)
      for (int y = 0; y < n; ++y) ASSERT_EQ(seen[std::size_t(x * n + y)] > 0, x != y) << n;
  }
}

TEST(Rings, OfHundredsAreFoundAsWell) {
  expect_each_pair_once(501);
  expect_each_pair_once(512);
}

TEST(Rings, AreTheSameEachTime) {
  const HamiltonianCycles one(50), other(50);
  for (int k = 0; k < one.rings(); ++k) ASSERT_EQ(one.ring(k), other.ring(k));
}

}  // namespace
}  // namespace ringtrue::diagnosis
