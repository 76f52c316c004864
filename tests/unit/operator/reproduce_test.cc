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

TEST(Commands, LookAtASlowPathAndAtDeadNodesAgain) {
  using diagnosis::FindingKind;
  const std::vector<fleet::Target> targets = {{"a", "a"}, {"b", "b", 7465}, {"c", "c"}, {"d", "d"}};
  const auto finding = [](FindingKind kind, diagnosis::ScopeType type, int node, int peer = -1) {
    diagnosis::Finding f;
    f.kind = kind;
    f.scope.type = type;
    f.scope.node = node;
    f.scope.peer = peer;
    return f;
  };
  std::vector<diagnosis::Finding> findings = {
      finding(FindingKind::slow_path, diagnosis::ScopeType::path, 0, 1),
      finding(FindingKind::slow_sender, diagnosis::ScopeType::sender, 0),
      finding(FindingKind::dead_node, diagnosis::ScopeType::node, 2),
      finding(FindingKind::dead_node, diagnosis::ScopeType::node, 3)};
  add_commands({{"--pki", "my keys"}, {"--transport", "tcp"}}, targets, findings);
  EXPECT_EQ(findings[0].command, "ringtrue sweep --hosts a,b:7465 --pki 'my keys' --transport tcp");
  EXPECT_EQ(findings[1].command, "");
  EXPECT_EQ(findings[2].command, "ringtrue nodes --hosts c,d --pki 'my keys'");
  EXPECT_EQ(findings[3].command, findings[2].command);
}

}  // namespace
}  // namespace ringtrue::ops
