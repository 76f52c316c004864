#include "tui/frame/draw.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/tui_snapshots.h"

namespace ringtrue::tui {
namespace {

constexpr Letters ascii{false, Ambiguous::narrow};

// Wide characters whole, marks on something, nothing that a terminal acts upon.
std::string complaint_of(const Grid& grid) {
  for (int y = 0; y < grid.size().height; ++y)
    for (int x = 0; x < grid.size().width; ++x) {
      const std::string& text = grid.at(x, y).text;
      if (text.size() == 1 && text[0] >= ' ' && text[0] < 0x7f) continue;
      if (text.empty()) {
        if (x == 0 || columns_of(grid.at(x - 1, y).text, grid.letters().ambiguous) != 2)
          return fmt::format("a half alone at {},{}", x, y);
        continue;
      }
      const std::size_t columns = columns_of(text, grid.letters().ambiguous);
      if (columns != 1 && !(columns == 2 && x + 1 < grid.size().width && grid.at(x + 1, y).text.empty()))
        return fmt::format("'{}' takes {} columns at {},{}", text, columns, x, y);
      for (const char c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
          return fmt::format("a control character at {},{}", x, y);
      if (!grid.letters().utf8 && text.size() != 1) return fmt::format("no ASCII at {},{}", x, y);
    }
  return {};
}

std::vector<View> views(Letters letters) {
  std::vector<View> out;
  for (int s = 0; s < screens; ++s)
    for (const bool open : {false, true}) {
      View view;
      view.letters = letters;
      view.screen = Screen(s);
      view.here().open = open;
      view.here().row = open ? 0 : 1'000'000;
      view.here().column = open ? 3 : 0;
      out.push_back(view);
    }
  out.push_back(out[0]);
  out.back().help = true;
  out.push_back(out[0]);
  out.back().mode = Mode::filter;
  out.back().input = "send<95% & x";
  return out;
}

// The heads of a matrix of these nodes, as its second line has them, and the label of its last row.
std::pair<std::string, std::string> heads_of(const std::vector<std::string>& names) {
  Snapshot snapshot;
  auto matrix = std::make_shared<Matrix>();
  matrix->names = names;
  snapshot.matrix = matrix;
  View view;
  view.screen = Screen::matrix;
  Grid grid = draw(snapshot, view, usual_keys(), {80, 24});
  std::string last;
  for (int y = 0; y < 24; ++y)
    if (grid.row(y).find(". ") != std::string::npos || grid.row(y).ends_with(".")) last = grid.row(y);
  return {grid.row(2), last};
}

TEST(Draw, HeadsOfAMatrixTellItsNodesApart) {
  EXPECT_EQ(heads_of({"n1", "n2", "n10"}).first, "       n1   n2  n10");
  EXPECT_EQ(heads_of({"node1", "node2"}).first, "node…    1    2");
  EXPECT_EQ(heads_of({"a.rack.example", "b.rack.example"}).first, "….rack.example    a    b");
  EXPECT_EQ(heads_of({"rack1-n1-ib", "rack2-n1-ib"}).first, "rack…-n1-ib    1    2");
  EXPECT_EQ(heads_of({"node", "node1"}).first, "      node …de1");
  const auto numbered = heads_of({"first-of-all-x", "second-of-all-x", "no-such-x"});
  EXPECT_EQ(numbered.first, "                     0    1    2");
  EXPECT_EQ(numbered.second, "2 no-such-x         .    .    .");
}

// All sizes there may be, of each screen one in turn, small ones all; with RINGTRUE_EVERY_SIZE all at all
// sizes.
TEST(Draw, EverySizeOfEveryScreen) {
  const KeyMap keys = usual_keys();
  const Snapshot hostile = fleet_of(70, Condition::hostile), none;
  const bool all_at_all = std::getenv("RINGTRUE_EVERY_SIZE") != nullptr;
#ifdef RINGTRUE_SANITIZED
  const int wide_step = all_at_all ? 1 : 13, high_step = all_at_all ? 1 : 5;
#else
  const int wide_step = 1, high_step = 1;
#endif
  std::size_t drawn = 0, turn = 0;
  for (int width = 1; width <= 250; width += width < 40 ? 1 : wide_step)
    for (int height = 1; height <= 80; height += height < 12 ? 1 : high_step) {
      const auto all = views(turn % 3 == 0   ? ascii
                             : turn % 3 == 1 ? Letters{}
                                             : Letters{true, Ambiguous::wide});
      ++turn;
      for (std::size_t v = 0; v < all.size(); ++v) {
        if (!all_at_all && width * height > 400 && (turn + v) % all.size() != 0) continue;
        const Snapshot& snapshot = (turn + v) % 11 == 4 ? none : hostile;
        const Grid grid = draw(snapshot, all[v], keys, {width, height});
        ASSERT_EQ(grid.size(), (Size{width, height}));
        ASSERT_EQ(complaint_of(grid), "") << width << "x" << height << " " << key_of(all[v].screen);
        ++drawn;
      }
    }
  EXPECT_GT(drawn, 2000u);
}

TEST(Draw, AThousandNodes) {
  const KeyMap keys = usual_keys();
  const Snapshot snapshot = fleet_of(1024, Condition::hostile);
  for (const Size size : {Size{80, 24}, Size{250, 80}, Size{0, 0}, Size{-3, 7}})
    for (const View& view : views({})) EXPECT_EQ(complaint_of(draw(snapshot, view, keys, size)), "");
}

TEST(Draw, BelowTheSmallestUsefulSizeALineSaysSo) {
  const Grid grid = draw(fleet_of(8, Condition::healthy), {}, usual_keys(), {30, 5});
  EXPECT_NE(grid.text().find("30x5 is too small"), std::string::npos) << grid.text();
}

TEST(Draw, ASilentNodeKeepsItsAgeAndIsNever0) {
  const Grid grid = draw(fleet_of(8, Condition::faulty), {}, usual_keys(), {120, 24});
  EXPECT_NE(grid.text().find("silent 4 m: connection refused"), std::string::npos) << grid.text();
}

TEST(Draw, HelpIsMadeFromTheLiveMap) {
  View view;
  view.help = true;
  const auto keys = remapped({{"quit", "Q"}});
  ASSERT_TRUE(keys);
  const std::string text = draw(fleet_of(1, Condition::healthy), view, *keys, {100, 60}).text();
  EXPECT_NE(text.find("Q           quit"), std::string::npos) << text;
  EXPECT_EQ(text.find("q           quit"), std::string::npos);
}

}  // namespace
}  // namespace ringtrue::tui
