#include "base/suggest.h"

#include <gtest/gtest.h>

namespace ringtrue {
namespace {

TEST(Suggest, CountsEdits) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", "abc"), 0);
  EXPECT_EQ(edit_distance("chekc", "check"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(Suggest, FindsWhatWasMeant) {
  const std::vector<std::string> words = {"check", "run", "sweep", "schedule"};
  EXPECT_EQ(closest("chekc", words), "check");
  EXPECT_EQ(closest("sched", words), "schedule");
  EXPECT_EQ(closest("rum", words), "run");
  EXPECT_EQ(closest("elephant", words), std::nullopt);
  EXPECT_EQ(closest("", words), std::nullopt);
}

}  // namespace
}  // namespace ringtrue
