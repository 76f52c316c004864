// Screens from fixed snapshots, cell by cell, as tests/fixtures/tui keeps them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "paths.h"
#include "tests/support/tui_snapshots.h"
#include "tui/frame/draw.h"

namespace ringtrue::tui {
namespace {

// What the cells of a row mean where that is not plain: a letter a cell. Without colours it is all in the
// text.
std::string paints_of(const Grid& grid, int y) {
  static constexpr std::string_view letters = "_dbtgw!uaABCDEFGH";
  std::string out;
  for (int x = 0; x < grid.size().width; ++x) {
    const Cell& cell = grid.at(x, y);
    out += cell.reversed ? '#' : cell.text == " " ? '_' : letters[std::size_t(cell.paint)];
  }
  out.resize(out.find_last_not_of('_') + 1);
  return out;
}

// "|" a row in UTF-8, ":" its paints; "~" the row in ASCII and ";" its paints where they are others.
std::string in_full(const Grid& utf8, const Grid& plain) {
  std::string out;
  const auto line = [&](char mark, const std::string& text) { out += mark + text + "\n"; };
  for (int y = 0; y < utf8.size().height; ++y) {
    line('|', utf8.row(y));
    if (plain.row(y) != utf8.row(y)) line('~', plain.row(y));
    const std::string paints = paints_of(utf8, y), of_plain = paints_of(plain, y);
    if (!paints.empty()) line(':', paints);
    if (of_plain != paints) line(';', of_plain);
  }
  return out;
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

TEST(Golden, Screens) {
  constexpr std::pair<int, Condition> fleets[] = {
      {1, Condition::healthy}, {8, Condition::faulty}, {64, Condition::hostile}, {1024, Condition::faulty}};
  const KeyMap keys = usual_keys();
  for (const auto& [nodes, condition] : fleets) {
    const Snapshot snapshot = fleet_of(nodes, condition);
    for (const Size size : {Size{80, 24}, Size{132, 43}, Size{200, 50}}) {
      std::string text;
      for (int s = 0; s < screens; ++s) {
        View view;
        view.screen = Screen(s);
        const Grid utf8 = draw(snapshot, view, keys, size);
        view.letters.utf8 = false;
        text +=
            fmt::format("=== {}\n{}", key_of(view.screen), in_full(utf8, draw(snapshot, view, keys, size)));
      }
      compare(fmt::format("{}-{}x{}.txt", nodes, size.width, size.height), text);
    }
  }
}

// Colours repeat what is in the text: what is painted as bad has its mark in the row.
TEST(Golden, MarksSayWhatColoursSay) {
  const KeyMap keys = usual_keys();
  const Snapshot snapshot = fleet_of(64, Condition::faulty);
  int marked = 0;
  for (const Screen screen :
       {Screen::fleet, Screen::findings, Screen::matrix, Screen::topology, Screen::counters})
    for (const Size size : {Size{80, 24}, Size{200, 50}}) {
      View view;
      view.screen = screen;
      const Grid grid = draw(snapshot, view, keys, size);
      for (int y = 1; y < size.height - 2; ++y) {
        const std::string paints = paints_of(grid, y), row = grid.row(y);
        if (paints.find_first_of("!ABC") == paints.npos) continue;
        ++marked;
        EXPECT_NE(row.find('!'), row.npos) << key_of(screen) << ": " << row;
      }
    }
  EXPECT_GT(marked, 20);
}

}  // namespace
}  // namespace ringtrue::tui
