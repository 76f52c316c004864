#include "tui/frame/draw.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "paths.h"
#include "tests/support/tui_snapshots.h"

namespace ringtrue::tui {
namespace {

constexpr Letters ascii{false, Ambiguous::narrow};

// Wide characters whole, marks on something, nothing that a terminal acts upon.
std::string complaint_of(const Grid& grid) {
  for (int y = 0; y < grid.size().height; ++y)
    for (int x = 0; x < grid.size().width; ++x) {
      const std::string& text = grid.at(x, y).text;
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

TEST(Draw, EverySizeOfEveryScreen) {
  const KeyMap keys = usual_keys();
  const Snapshot hostile = fleet_of(70, Condition::hostile), none;
  int drawn = 0;
  for (int width = 1; width <= 250; width += width < 90 ? 1 : 7)
    for (int height = 1; height <= 80; height += height < 26 ? 1 : 6) {
      // One way to look at it each, in turn; small ones all.
      const auto all = views(drawn % 3 == 0   ? ascii
                             : drawn % 3 == 1 ? Letters{}
                                              : Letters{true, Ambiguous::wide});
      for (std::size_t v = 0; v < all.size(); ++v) {
        if (width * height > 400 && (drawn + int(v)) % int(all.size()) > 1) continue;
        const Snapshot& snapshot = v % 5 == 4 ? none : hostile;
        const Grid grid = draw(snapshot, all[v], keys, {width, height});
        ASSERT_EQ(grid.size(), (Size{width, height}));
        ASSERT_EQ(complaint_of(grid), "") << width << "x" << height << " " << key_of(all[v].screen);
      }
      ++drawn;
    }
  EXPECT_GT(drawn, 3000);
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

// Where RINGTRUE_ACCEPT is set, files are written anew: look at the difference before it is kept.
void compare(const std::string& name, const std::string& text) {
  const std::string path = RINGTRUE_SOURCE_DIR "/tests/fixtures/tui/" + name;
  if (std::getenv("RINGTRUE_ACCEPT") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  std::stringstream kept;
  kept << in.rdbuf();
  if (kept.str() == text) return;
  std::istringstream a(kept.str()), b(text);
  std::string x, y, screen;
  for (int line = 1; std::getline(a, x) && std::getline(b, y); ++line) {
    if (y.starts_with("=== ")) screen = y;
    ASSERT_EQ(x, y) << path << ":" << line << " " << screen << " (RINGTRUE_ACCEPT=1 writes it anew)";
  }
  FAIL() << path << " has another number of lines";
}

// The cells as text, and below each row what its cells mean where that is not plain: a letter a cell.
std::string in_full(const Grid& grid) {
  static constexpr std::string_view letters = "_dbtgw!uaABCDEFGH";
  std::string out;
  for (int y = 0; y < grid.size().height; ++y) {
    out += "|" + grid.row(y) + "\n";
    std::string paints;
    for (int x = 0; x < grid.size().width; ++x) {
      const Cell& cell = grid.at(x, y);
      paints += cell.reversed ? '#' : cell.text == " " ? '_' : letters[std::size_t(cell.paint)];
    }
    paints.resize(paints.find_last_not_of('_') + 1);
    if (!paints.empty()) out += ":" + paints + "\n";
  }
  return out;
}

struct Golden {
  const char* file;
  int nodes;
  Condition condition;
  Size size;
  Letters letters;
};

TEST(Draw, GoldenScreens) {
  const Golden goldens[] = {
      {"1-80x24.txt", 1, Condition::healthy, {80, 24}, {}},
      {"8-80x24.txt", 8, Condition::faulty, {80, 24}, {}},
      {"8-80x24-ascii.txt", 8, Condition::faulty, {80, 24}, ascii},
      {"64-132x43.txt", 64, Condition::hostile, {132, 43}, {}},
      {"1024-80x24-ascii.txt", 1024, Condition::hostile, {80, 24}, ascii},
      {"1024-200x50.txt", 1024, Condition::faulty, {200, 50}, {}},
  };
  const KeyMap keys = usual_keys();
  for (const Golden& golden : goldens) {
    const Snapshot snapshot = fleet_of(golden.nodes, golden.condition);
    std::string text;
    for (int s = 0; s < screens; ++s) {
      View view;
      view.letters = golden.letters;
      view.screen = Screen(s);
      text +=
          fmt::format("=== {}\n{}", key_of(view.screen), in_full(draw(snapshot, view, keys, golden.size)));
    }
    compare(golden.file, text);
  }
}

}  // namespace
}  // namespace ringtrue::tui
