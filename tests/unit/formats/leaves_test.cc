#include "formats/leaves.h"

#include <gtest/gtest.h>

namespace ringtrue::formats {
namespace {

using LeafOfEach = std::vector<int>;

LeafOfEach numbers_of(std::string_view text, const std::vector<std::string>& nodes) {
  const auto leaves = read_leaves(text);
  EXPECT_TRUE(leaves) << (leaves ? "" : leaves.error().what);
  if (!leaves) return {};
  const auto numbers = leaf_numbers(*leaves, nodes);
  EXPECT_TRUE(numbers) << (numbers ? "" : numbers.error().what);
  return numbers ? numbers->of : LeafOfEach{};
}

TEST(Leaves, AreReadFromSlurmsTopology) {
  constexpr std::string_view text = R"(
# a tree of two levels
SwitchName=s0 Nodes=dev[0-5]
switchname=s1 nodes=dev[6-11] LinkSpeed=100   # of the second rack
SwitchName=s2 Switches=s[0-1]
)";
  EXPECT_EQ(numbers_of(text, {"dev0", "dev5", "dev6", "dev11", "dev1"}), (LeafOfEach{0, 0, 1, 1, 0}));
  EXPECT_EQ(numbers_of(text, {"dev7", "dev2"}), (LeafOfEach{0, 1}));
}

TEST(Leaves, AreReadFromLists) {
  constexpr std::string_view text =
      "leaf A: node[1-2]\nleaf B: node3,node4 # the other\n\nrail1: node[1-4]\n";
  // Of two rails: the same second leaf, another first one.
  EXPECT_EQ(numbers_of(text, {"node1", "node2", "node3", "node4"}), (LeafOfEach{0, 0, 1, 1}));
  EXPECT_EQ(numbers_of("a: n1\nb: n2\n", {"n2.cluster.example", "n1"}), (LeafOfEach{0, 1}));
}

TEST(Leaves, AreReadFromIbnetdiscover) {
  constexpr std::string_view text =
      R"(Switch	36 "S-0000000000000001"		# "leaf1" enhanced port 0 lid 1 lmc 0
[1]	"H-0000000000000011"[1](11) 		# "node1 HCA-1" lid 5 4xEDR
[2]	"S-0000000000000002"[2] 		# "leaf2" lid 2 4xEDR

Switch	36 "S-0000000000000002"		# "leaf2" enhanced port 0 lid 2 lmc 0
[1]	"H-0000000000000012"[1](12) 		# "node2 HCA-1" lid 6 4xEDR
[2]	"S-0000000000000001"[2] 		# "leaf1" lid 1 4xEDR

Ca	1 "H-0000000000000011"		# "node1 HCA-1"
[1](11) 	"S-0000000000000001"[1]		# lid 5 lmc 0 "leaf1" lid 1 4xEDR

Ca	1 "H-0000000000000012"		# "node2 HCA-1"
[1](12) 	"S-0000000000000002"[1]		# lid 6 lmc 0 "leaf2" lid 2 4xEDR
)";
  EXPECT_EQ(numbers_of(text, {"node1", "node2"}), (LeafOfEach{0, 1}));
}

TEST(Leaves, ThatCannotBeReadSayWhere) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "no node"},
      {"# nothing\n", "no node"},
      {"SwitchName=s0 Switches=s[1-2]\n", "no node"},
      {"a: n1\nwhat\n", "line 2"},
      {": n1\n", "line 1"},
      {"a: n[1-\n", "line 1"},
      {"SwitchName=s0\n", "line 1"},
      {"a: n[1-99999999]\n", "line 1"},
      {std::string_view("a: n\0\n", 6), "line 1"},
      {"leaf1:\n", "names no node"},
      {"a: n[1-3]\nb: n[3-5]\n", "n3 is below a and b, and n1 below a"},
  };
  for (const auto& [text, words] : cases) {
    const auto leaves = read_leaves(text);
    ASSERT_FALSE(leaves) << text;
    EXPECT_EQ(leaves.error().cause, Cause::bad_input);
    EXPECT_NE(leaves.error().what.find(words), std::string::npos) << leaves.error().what;
  }
}

TEST(Leaves, KeepTheirNames) {
  const auto names = [](std::string_view text) {
    const auto leaves = read_leaves(text);
    EXPECT_TRUE(leaves);
    const auto numbers = leaf_numbers(*leaves, {"n2", "n1"});
    EXPECT_TRUE(numbers);
    return numbers->names;
  };
  EXPECT_EQ(names("zebra: n1\napple: n2\n"), (std::vector<std::string>{"apple", "zebra"}));
  EXPECT_EQ(names("a: n1\nb: n2\nrail: n[1-2]\n"), (std::vector<std::string>{"b and rail", "a and rail"}));
  EXPECT_EQ(names("a: n[1-2]\nb: n[1-2]\nc: n[1-2]\n"), (std::vector<std::string>{"a and 2 other switches"}));
}

TEST(Leaves, NameTheNodeThatIsNotThere) {
  const auto leaves = read_leaves("a: n[1-3]\n");
  ASSERT_TRUE(leaves);
  const auto numbers = leaf_numbers(*leaves, {"n1", "n4"});
  ASSERT_FALSE(numbers);
  EXPECT_EQ(numbers.error().where, "n4");
  EXPECT_NE(numbers.error().what.find("n4 is below no leaf"), std::string::npos);
}

}  // namespace
}  // namespace ringtrue::formats
