#include "tui/model/presence.h"

#include <gtest/gtest.h>

namespace ringtrue::tui {
namespace {

TEST(Presence, ASilentNodeKeepsWhatWasKnownOfIt) {
  Presence presence;
  EXPECT_EQ(presence.held(), "held by nobody");
  EXPECT_TRUE(presence.take({{"a", true, "1", "alice (check)", ""}, {"b", true, "1", "", ""}}, 100));
  EXPECT_FALSE(presence.take({{"a", true, "1", "alice (check)", ""}, {"b", true, "1", "", ""}}, 105));
  EXPECT_EQ(presence.held(), "a is held by alice (check)");
  EXPECT_TRUE(presence.take({{"b", false, "", "", "connection refused"}}, 110));
  NodeRow known;
  known.name = "b";
  known.send = 5;
  std::vector<NodeRow> rows = {known};
  presence.touch(rows);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].send, 5);
  EXPECT_FALSE(rows[0].answers);
  EXPECT_EQ(rows[0].silence, "connection refused");
  EXPECT_EQ(rows[0].seen, 105);
  EXPECT_EQ(rows[0].level, Level::silent);
  EXPECT_EQ(rows[1].name, "a");
  EXPECT_TRUE(rows[1].answers);
}

TEST(Presence, NodesThatWereNotAskedYetAreThereAndNotSilent) {
  Presence presence({"a", "b", ""});
  NodeRow known;
  known.name = "a";
  known.level = Level::critical;
  std::vector<NodeRow> rows = {known};
  presence.touch(rows);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].level, Level::critical);
  EXPECT_EQ(rows[1].name, "b");
  EXPECT_EQ(rows[1].level, Level::unknown);
  EXPECT_TRUE(rows[1].answers);
  EXPECT_EQ(rows[1].finding, "not asked yet");
  EXPECT_TRUE(presence.take({{"b", true, "1", "", ""}}, 100));
  presence.touch(rows = {});
  EXPECT_EQ(rows[1].finding, "");
  EXPECT_EQ(rows[1].level, Level::good);
}

}  // namespace
}  // namespace ringtrue::tui
