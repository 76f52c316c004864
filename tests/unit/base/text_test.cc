#include "base/text.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/result.h"

namespace ringtrue {
namespace {

TEST(Text, OneLineIsShortAndAscii) {
  EXPECT_EQ(one_line("node3\n\x1b[31m", 100), "node3  [31m");
  EXPECT_EQ(one_line("caf\xc3\xa9", 100), "caf??");
  EXPECT_EQ(one_line("abcdef", 3), "abc");
}

TEST(Text, VisibleKeepsWhatShowsAlone) {
  EXPECT_EQ(visible("K\xc3\xb6ln \xe6\x9d\xb1"), "K\xc3\xb6ln \xe6\x9d\xb1");
  EXPECT_EQ(visible("a\r\nb\tc\x1b]0;x\x07"), "a  b c ]0;x ");
  EXPECT_EQ(visible("\xc2\x9b"
                    "2J"),
            "?2J");                                            // CSI of C1
  EXPECT_EQ(visible("x\xe2\x80\xaey\xe2\x81\xa6z"), "x?y?z");  // right-to-left override, isolate
  EXPECT_EQ(visible("a\xe2\x80\xa8"
                    "b\xe2\x80\x8b"
                    "c"),
            "a?b?c");
  EXPECT_EQ(visible("\xff\xc0\x80\xed\xa0\x80"
                    "a\xe2\x82"),
            "??????a??");  // no UTF-8
}

TEST(Text, ErrorsAndLogLinesShowNothingElse) {
  const Error error{Cause::refused,
                    "no\xc2\x9b"
                    "2J\n\xe2\x80\xae",
                    "node3", ""};
  EXPECT_EQ(error.text(), "node3: no?2J ?");
  const std::string line = log_format(LogLevel::info, "x\xc2\x9b\xe2\x80\xaey", true);
  EXPECT_NE(line.find("x??y"), std::string::npos) << line;
}

}  // namespace
}  // namespace ringtrue
