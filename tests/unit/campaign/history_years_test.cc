#include "campaign/history_years.h"

#include <gtest/gtest.h>

namespace ringtrue::campaign {
namespace {

TEST(HistoryYears, FewAreAccusedAndWhatFellIsFound) {
  HistoryYears years;
  years.years = 60;
  years.max_nodes = 64;
  const HistoryScore score = play_years(years);
  EXPECT_EQ(score.years, 60);
  EXPECT_EQ(score.checks, 60 * 365);
  EXPECT_LE(score.false_confirmed, 6);
  EXPECT_EQ(score.false_fleet, 0);
  const long large = score.steps[1].of + score.steps[2].of;
  EXPECT_GT(large, 20);
  EXPECT_EQ(score.steps[1].second + score.steps[2].second, large);
  EXPECT_GT(score.drifts, 10);
  EXPECT_EQ(score.drifts_found, score.drifts);
  EXPECT_GT(score.recoveries, 20);
}

TEST(HistoryYears, AreTheSameForAnyNumberOfThreads) {
  HistoryYears years;
  years.years = 6;
  years.max_nodes = 16;
  years.threads = 1;
  const HistoryScore one = play_years(years);
  years.threads = 3;
  const HistoryScore three = play_years(years);
  EXPECT_EQ(one.false_suspected, three.false_suspected);
  EXPECT_EQ(one.recovered, three.recovered);
  EXPECT_EQ(one.drifts_found, three.drifts_found);
}

}  // namespace
}  // namespace ringtrue::campaign
