#include "diagnosis/infer/reference.h"

#include <gtest/gtest.h>

namespace ringtrue::diagnosis {
namespace {

// Sides of 60 nodes that reach 0.98 to 1, but for the first, which reach only that share.
Limits limits_with(int slow, double share) {
  constexpr int nodes = 60;
  Limits out(nodes);
  for (int i = 0; i < nodes; ++i) {
    const double own = 1 - 0.001 * (i % 20);
    out.meet(i, 1e9 * (i < slow ? share * own : own), false);
  }
  return out;
}

TEST(Scatter, IsThatOfSidesThatDifferALittle) {
  const Limits healthy = limits_with(0, 1);
  EXPECT_LT(scatter_of(healthy, healthy, 0.99e9), 0.016);
}

TEST(Scatter, IsNotWidenedByAQuarterThatIsSlowAlike) {
  for (const double share : {0.82, 0.86, 0.9}) {
    const Limits quarter = limits_with(15, share);
    EXPECT_LT(scatter_of(quarter, quarter, 0.99e9), 0.016) << share;
    EXPECT_GT(no_closer_than({.rate = 0.99e9, .scatter = scatter_of(quarter, quarter, 0.99e9)}, quarter,
                             quarter, {})
                  .warning,
              0.9)
        << share;
  }
}

TEST(Scatter, IsWidenedByWhatIsNotApart) {
  Limits wide(60);
  for (int i = 0; i < 60; ++i) wide.meet(i, 1e9 * (1 - 0.003 * i), false);
  EXPECT_GT(scatter_of(wide, wide, 0.91e9), 0.03);
}

// Healthy sides met slow partners for long, and each other for a few ticks.
TEST(Reference, IsKeptShortByWhatIsFarSlower) {
  Limits sides(8);
  for (int i = 0; i < 8; ++i) {
    sides.meet(i, 1e9, true);
    sides.meet(i, i < 2 ? 1e7 : 5e8, false);
  }
  const Reference kept = reference_of(sides, sides, std::nullopt, std::nullopt);
  EXPECT_DOUBLE_EQ(kept.rate, 5e8);
  EXPECT_TRUE(kept.kept_short);
  for (int i = 2; i < 8; ++i) sides.meet(i, 1e9, false);
  const Reference later = reference_of(sides, sides, std::nullopt, std::nullopt);
  EXPECT_DOUBLE_EQ(later.rate, 1e9);
  EXPECT_FALSE(later.kept_short);
}

}  // namespace
}  // namespace ringtrue::diagnosis
