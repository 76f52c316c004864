#include "base/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace ringtrue {
namespace {

TEST(Statistics, MediansDifferWhereTheCountIsEven) {
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(upper_median({4, 1, 3, 2}), 3);
  EXPECT_EQ(lower_median({4, 1, 3, 2}), 2);
  for (const auto of : {median, upper_median, lower_median}) {
    EXPECT_EQ(of({5, 1, 3}), 3);
    EXPECT_EQ(of({7}), 7);
    EXPECT_EQ(of({2, 2}), 2);
  }
}

TEST(Statistics, AMiddleMeanIsOfTheMiddleHalf) {
  EXPECT_EQ(middle_mean({7}), 7);
  EXPECT_EQ(middle_mean({2, 1}), 2);
  EXPECT_EQ(middle_mean({5, 0, 3}), 4);
  EXPECT_EQ(middle_mean({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(middle_mean({0, 4, 3, 5, 99}), 4.5 - 0.5);
  EXPECT_EQ(middle_mean({0, 1, 6, 3, 4, 5, 99}), (3 + 4 + 5 + 6) / 4.0);
}

TEST(Statistics, OfNothingAreZero) {
  for (const auto of : {median, upper_median, lower_median}) EXPECT_EQ(of({}), 0);
  EXPECT_EQ(middle_mean({}), 0);
  EXPECT_EQ(percentile({}, 95), 0);
}

TEST(Statistics, APercentileIsAnElement) {
  std::vector<double> values;
  for (int i = 1; i <= 20; ++i) values.push_back(i);
  EXPECT_EQ(percentile(values, 0), 1);
  EXPECT_EQ(percentile(values, 25), 6);
  EXPECT_EQ(percentile(values, 95), 20);
  EXPECT_EQ(percentile({1, 2}, 95), 2);
}

TEST(Statistics, AgreeWithASortedArray) {
  std::mt19937 random(7);
  for (std::size_t n = 1; n < 60; ++n) {
    std::vector<double> values(n);
    for (double& v : values) v = double(random() % 20);
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(upper_median(values), sorted[n / 2]);
    EXPECT_EQ(lower_median(values), sorted[(n - 1) / 2]);
    EXPECT_EQ(median(values), (sorted[n / 2] + sorted[(n - 1) / 2]) / 2);
    EXPECT_EQ(percentile(values, 95), sorted[n * 95 / 100]);
  }
}

}  // namespace
}  // namespace ringtrue
