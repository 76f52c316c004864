#include "tui/model/recording.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/tui_snapshots.h"
#include "tui/frame/draw.h"

namespace ringtrue::tui {
namespace {

class Recording : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/ringtrue-recording-XXXXXX";
    folder_ = mkdtemp(name);
    file_ = folder_ + "/tui.jsonl";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_, file_;
};

TEST_F(Recording, WhatIsReadBackIsDrawnAlike) {
  for (const Condition condition : {Condition::healthy, Condition::faulty, Condition::hostile}) {
    Snapshot snapshot = fleet_of(20, condition);
    snapshot.offer = {};  // what may be started is no part of a recording
    const auto again = read_line(to_line(snapshot));
    ASSERT_TRUE(again) << again.error().text();
    for (int s = 0; s < screens; ++s) {
      View view;
      view.screen = Screen(s);
      view.letters.utf8 =
          condition != Condition::hostile;  // bytes that are no UTF-8 become other ones that are not ASCII
      if (condition == Condition::hostile) continue;
      EXPECT_EQ(draw(*again, view, usual_keys(), {120, 40}).text(),
                draw(snapshot, view, usual_keys(), {120, 40}).text())
          << key_of(view.screen);
    }
  }
}

TEST_F(Recording, OddLinesAreRefusedOrMended) {
  for (const char* bad : {"", "{", "[]", "{}", R"({"schema": 1})"}) EXPECT_FALSE(read_line(bad)) << bad;
  const auto odd = read_line(
      R"({"now": 5, "level": 99, "nodes": [1, {"name": 3, "level": -1}], "matrix": {"names": ["a", "b"],
          "layers": [{"rate": [1]}], "group": [7, 8]}, "history": {"sessions": [{}], "series": [{"when": [1]}]}})");
  ASSERT_TRUE(odd);
  EXPECT_FALSE(odd->matrix);
  EXPECT_EQ(odd->level, Level::unknown);
  for (int s = 0; s < screens; ++s) {
    View view;
    view.screen = Screen(s);
    draw(*odd, view, usual_keys(), {80, 24});
  }
}

TEST_F(Recording, IsWrittenAndPlayedAgain) {
  SnapshotPtr first;
  {
    auto recorder = record(play_demo({1'790'000'000}), file_);
    ASSERT_TRUE(recorder) << recorder.error().text();
    first = (*recorder)->whole(Seconds(1));
  }
  Queue queue;                                              // outlives what plays
  EXPECT_FALSE(record(play_demo({1'790'000'000}), file_));  // nothing is overwritten
  const auto played = replay(file_);
  ASSERT_TRUE(played) << played.error().text();
  const auto again = (*played)->whole(Seconds(1));
  EXPECT_EQ(again->nodes.size(), first->nodes.size());
  EXPECT_EQ(again->findings.size(), first->findings.size());
  (*played)->start(queue);
  ASSERT_TRUE(queue.wait(20'000));
  EXPECT_NE(queue.take()->message.find("replay, 1 of 1"), std::string::npos);
  std::ofstream(file_, std::ios::app) << "{\"now\": 1";  // cut off
  EXPECT_TRUE(replay(file_));
  EXPECT_FALSE(replay(folder_ + "/none"));
}

}  // namespace
}  // namespace ringtrue::tui
