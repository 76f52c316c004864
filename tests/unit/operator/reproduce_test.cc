#include "operator/reproduce.h"

#include <gtest/gtest.h>

namespace ringtrue::ops {
namespace {

TEST(ShellLine, LeavesPlainWordsAsTheyAre) {
  EXPECT_EQ(
      shell_line({"ringtrue", "sweep", "--hosts", "node1:7465,unix:/run/r.sock", "--link-rate", "12.5GB/s"}),
      "ringtrue sweep --hosts node1:7465,unix:/run/r.sock --link-rate 12.5GB/s");
}

TEST(ShellLine, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(shell_line({"--hosts", "[fd00::4]:7464"}), "--hosts '[fd00::4]:7464'");
  EXPECT_EQ(shell_line({"--pki", "my keys"}), "--pki 'my keys'");
  EXPECT_EQ(shell_line({"it's", "$HOME", ""}), R"('it'\''s' '$HOME' '')");
}

}  // namespace
}  // namespace ringtrue::ops
