#include "tui/frame/grid.h"

#include <gtest/gtest.h>

#include "tui/frame/columns.h"

namespace ringtrue::tui {
namespace {

constexpr Letters ascii{false, Ambiguous::narrow};

TEST(Grid, CutsWithAMark) {
  Grid grid({10, 2});
  EXPECT_EQ(grid.put(0, 0, "0123456789abc"), 10);
  EXPECT_EQ(grid.row(0), "012345678…");
  EXPECT_EQ(grid.put(0, 1, "node01", Paint::plain, 4), 4);
  EXPECT_EQ(grid.row(1), "nod…");
  Grid plain({5, 1}, ascii);
  plain.put(0, 0, "0123456789");
  EXPECT_EQ(plain.row(0), "0123~");
}

TEST(Grid, CutsNamesInTheirMiddle) {
  const Letters utf8, ascii{false, Ambiguous::narrow};
  EXPECT_EQ(fitted_name("node", 16, utf8), "node");
  EXPECT_EQ(fitted_name("gpu-frankfurt-rack07-node03", 16, utf8), "gpu-fra…7-node03");
  EXPECT_EQ(fitted_name("gpu-frankfurt-rack07-node03", 16, ascii), "gpu-fra~7-node03");
  EXPECT_EQ(fitted_name("node03.cluster.example.org", 16, utf8), "node03.…mple.org");
  EXPECT_EQ(fitted_name("漢字漢字漢字漢字", 9, utf8), "漢字…漢字");
  EXPECT_EQ(fitted_name("node12345", 4, utf8), "nod…");
}

TEST(Grid, KeepsAnEndWithAMarkBeforeIt) {
  const Letters utf8, ascii{false, Ambiguous::narrow};
  EXPECT_EQ(fitted_end("node", 4, utf8), "node");
  EXPECT_EQ(fitted_end("node12345", 4, utf8), "…345");
  EXPECT_EQ(fitted_end("node12345", 4, ascii), "~345");
  EXPECT_EQ(fitted_end("漢字漢", 4, utf8), "…漢");
  EXPECT_EQ(fitted_end("abe\u0301f", 3, utf8), "…e\u0301f");
  EXPECT_EQ(fitted_end("abe\u0301f", 2, utf8), "…f");
  EXPECT_EQ(fitted_end("node", 1, utf8), "…");
  EXPECT_EQ(fitted_end("node", 0, utf8), "");
}

TEST(Grid, WideCharactersTakeTwoCellsAndAreNeverHalved) {
  Grid grid({6, 1});
  EXPECT_EQ(grid.put(0, 0, "東京都"), 6);
  EXPECT_EQ(grid.at(0, 0).text, "東");
  EXPECT_EQ(grid.at(1, 0).text, "");
  grid.put(1, 0, "x");  // over a right half
  EXPECT_EQ(grid.row(0), " x京都");
  grid.put(2, 0, "y");  // over a left half
  EXPECT_EQ(grid.row(0), " xy 都");
  Grid narrow({3, 1});
  EXPECT_EQ(narrow.put(0, 0, "東京"), 3);
  EXPECT_EQ(narrow.row(0), "東…");
}

TEST(Grid, MarksStayWithTheirCharacterAndAreFew) {
  Grid grid({8, 1});
  EXPECT_EQ(grid.put(0, 0, "e\xcc\x81\xcc\x82\xcc\x83\xcc\x84x"), 2);
  EXPECT_EQ(grid.at(0, 0).text, "e\xcc\x81\xcc\x82");
  EXPECT_EQ(grid.at(1, 0).text, "x");
  EXPECT_EQ(grid.put(0, 0, "\xcc\x81"), 0);  // without a character
}

TEST(Grid, NothingThatATerminalActsUponGoesIn) {
  const std::string hostile =
      "a\x1b[31mb\x1b]0;title\x07"
      "c\xc2\x9b"
      "2Jd\x1b]52;c;eA==\x1b\\e\xe2\x80\xae"
      "f\xff\xfeg\x7f\r\n\th\xd7\xa9\xd7\x9c\xef\xb8\x8f\xf0\x9f\x87\xa9";
  for (const Letters& letters : {Letters{}, ascii, Letters{true, Ambiguous::wide}}) {
    Grid grid({120, 1}, letters);
    grid.put(0, 0, hostile);
    const std::string row = grid.row(0);
    for (std::string_view rest = row; !rest.empty();) {
      const Character c = first_character(rest);
      ASSERT_TRUE(c.valid);
      EXPECT_GE(c.code, 0x20u);
      EXPECT_FALSE(c.code >= 0x7f && c.code < 0xa0) << c.code;
      EXPECT_FALSE(c.code >= 0x202a && c.code <= 0x202e);
      EXPECT_FALSE(c.code >= 0x590 && c.code <= 0x8ff);
      if (!letters.utf8) {
        EXPECT_LT(c.code, 0x7fu);
      }
      rest.remove_prefix(c.bytes);
    }
  }
}

TEST(Grid, PlacesOutsideAreNoMistake) {
  Grid grid({4, 2});
  for (int x = -3; x < 7; ++x)
    for (int y = -3; y < 5; ++y)
      for (int room = -1; room < 6; ++room) {
        grid.put(x, y, "東京abc", Paint::bad, room);
        grid.put_right(x, y, room, "東京abc");
        grid.reverse(x, y, room);
        grid.clear(x, y, room, room);
      }
  for (const Size none : {Size{0, 0}, Size{-1, 5}, Size{5, 0}}) EXPECT_EQ(Grid(none).put(0, 0, "x"), 0);
}

TEST(Grid, WrapsAtBlanks) {
  EXPECT_EQ(wrapped("one two three", 7, {}), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrapped("abcdefghij k", 4, {}), (std::vector<std::string>{"abcd", "efgh", "ij k"}));
  EXPECT_EQ(wrapped("東京都", 3, {}), (std::vector<std::string>{"東", "京", "都"}));
  EXPECT_EQ(wrapped("", 7, {}), (std::vector<std::string>{""}));
}

TEST(Columns, NeverOverlapAndStayInside) {
  const std::vector<Column> columns = {{"NODE", false, 0, 4, 20},
                                       {"SEND", true, 1, 5, 8},
                                       {"RECV", true, 1, 5, 8},
                                       {"HELD BY", false, 3, 4, 20},
                                       {"FINDING", false, 2, 8, 60, true}};
  const std::vector<int> wanted = {17, 6, 6, 12, 44};
  for (int width = 1; width < 140; ++width) {
    const auto places = places_of(columns, wanted, width);
    int end = 0;
    for (const Place& p : places) {
      if (p.width == 0) continue;
      EXPECT_GE(p.x, end) << width;
      end = p.x + p.width + gap_of(width);
      EXPECT_LE(p.x + p.width, width);
    }
    EXPECT_GT(places[0].width, 0) << width;
  }
  EXPECT_EQ(places_of(columns, wanted, 18)[3].width, 0);  // the highest rank goes first
  EXPECT_EQ(places_of(columns, wanted, 120)[0].width, 17);
}

}  // namespace
}  // namespace ringtrue::tui
