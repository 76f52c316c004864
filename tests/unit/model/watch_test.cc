#include "tui/model/watch.h"

#include <gtest/gtest.h>

namespace ringtrue::tui {
namespace {

TEST(Watch, AVerdictLeavesWhatEveryOtherScreenShows) {
  const auto read = std::make_shared<Matrix>(), judged = std::make_shared<Matrix>();
  tui::Run run;
  run.matrix = read;
  run.suspects = {{"node5 out", 0.95, false}, {"node7 in", 0.99, true}};
  Moment found;
  found.verdict = "healthy";
  found.text = "8 nodes";
  found.level = Level::good;
  found.matrix = judged;
  tui::Run healthy = run;
  end_with_verdict(healthy, found);
  EXPECT_EQ(healthy.verdict, "healthy: 8 nodes");
  EXPECT_EQ(healthy.matrix, judged);
  ASSERT_EQ(healthy.suspects.size(), 1u);
  EXPECT_EQ(healthy.suspects[0].where, "node7 in");

  found.verdict = "unknown";
  found.level = Level::unknown;
  found.matrix = nullptr;
  tui::Run unknown = run;
  end_with_verdict(unknown, found);
  EXPECT_EQ(unknown.matrix, read);
  EXPECT_EQ(unknown.suspects.size(), 2u) << "they are why it could not tell";
}

}  // namespace
}  // namespace ringtrue::tui
