
#include <gtest/gtest.h>
#include <stdlib.h>

#include "report/style.h"
#include "report/table.h"

namespace ringtrue::report {
namespace {

TEST(Wrap, BreaksAtBlanksAndIndentsWhatFollows) {
  EXPECT_EQ(wrap("one two three four", 9, 2), "one two\n  three\n  four");
  EXPECT_EQ(wrap("  one two three\n", 9, 0), "  one two\n  three\n");
  EXPECT_EQ(wrap("one two three", 7, 0), "one two\nthree");
}

TEST(Wrap, LeavesWhatFits) {
  EXPECT_EQ(wrap("", 9), "");
  EXPECT_EQ(wrap("\n", 9), "\n");
  EXPECT_EQ(wrap("a   b\n\n  c\n", 5), "a   b\n\n  c\n");
}

TEST(Wrap, KeepsWordsAndBlanksBetweenThem) {
  EXPECT_EQ(wrap("a averyverylongword b", 9, 2), "a\n  averyverylongword\n  b");
  EXPECT_EQ(wrap("a:   b c d", 8, 0), "a:   b c\nd");
}

TEST(Wrap, CountsColumnsAndNotBytes) {
  EXPECT_EQ(wrap("µs µs µs", 8, 0), "µs µs µs");
  const std::string bold = Style{true}.paint("one two", Ink::bold);
  EXPECT_EQ(wrap(bold, 7, 0), bold);
}

TEST(Style, FitsProseToItsWidth) {
  EXPECT_EQ((Style{false, 9}).fit("one two three four"), "one two\n  three\n  four");
  EXPECT_EQ(Style{}.fit("one two three four"), "one two three four");
}

TEST(TextWidth, IsWhatColumnsSays) {
  setenv("COLUMNS", "61", 1);
  EXPECT_EQ(text_width(-1), 61u);
  setenv("COLUMNS", "3", 1);
  EXPECT_GE(text_width(-1), 20u);
  for (const char* none : {"", "wide", "0", "-5"}) {
    setenv("COLUMNS", none, 1);
    EXPECT_EQ(text_width(-1), usual_width) << none;
  }
  unsetenv("COLUMNS");
  EXPECT_EQ(text_width(-1), usual_width);
}

TEST(Table, HasHeadersOfTwoLines) {
  Table table({{"name", Table::Align::left}, {"rate\n(GB/s)"}});
  table.row({"ring", "12.5"});
  EXPECT_EQ(table.text(), "        rate\nname  (GB/s)\nring    12.5\n");
}

TEST(Table, LeavesOutEmptyHeaders) {
  Table table({{""}, {""}});
  table.row({"a", "b"});
  EXPECT_EQ(table.text(1), " a  b\n");
}

TEST(Table, ColumnsStayAlignedBesideWideAndCombiningCharacters) {
  Table table({left("node"), {"rate"}});
  table.row({"東京", "1.0"});
  table.row({"e\xcc\x81t\xc3\xa9", "22.0"});
  table.row({"node1", "3.0"});
  EXPECT_EQ(table.text(),
            "node   rate\n"
            "東京    1.0\n"
            "e\xcc\x81t\xc3\xa9    22.0\n"
            "node1   3.0\n");
}

}  // namespace
}  // namespace ringtrue::report
