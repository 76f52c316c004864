#include "collective/double_tree.h"

#include <gtest/gtest.h>

#include <bit>

#include "collective/algorithm.h"
#include "collective/recorder.h"

namespace ringtrue::collective {
namespace {

bool interior(const TreeNode& node) {
  return node.degree > 0;
}

// Every n to 5000: parents and children agree, one root, height ceil(log2 n), and who is inner in both trees.
TEST(DoubleTree, HasItsShapeForEveryNumberOfRanks) {
  std::vector<TreeNode> trees[2];
  std::vector<int> depth;
  for (Rank n = 1; n <= 5000; ++n) {
    for (int t = 0; t < 2; ++t) {
      trees[t].resize(std::size_t(n));
      for (Rank r = 0; r < n; ++r) trees[t][std::size_t(r)] = double_tree_node(t, r, n);
      int roots = 0, height = 0, edges = 0;
      for (Rank r = 0; r < n; ++r) {
        const TreeNode& node = trees[t][std::size_t(r)];
        roots += node.parent < 0;
        for (const Rank child : node.children()) {
          ASSERT_GE(child, 0);
          ASSERT_LT(child, n);
          ASSERT_EQ(trees[t][std::size_t(child)].parent, r) << n;
          ++edges;
        }
        int depth = 0;
        for (Rank at = r; trees[t][std::size_t(at)].parent >= 0; at = trees[t][std::size_t(at)].parent) {
          ASSERT_LT(++depth, 20);
        }
        height = std::max(height, depth);
      }
      ASSERT_EQ(roots, 1) << n;
      ASSERT_EQ(edges, n - 1) << n;
      ASSERT_EQ(height, int(std::bit_width(std::uint32_t(n - 1)))) << n;
    }
    for (Rank r = 0; r < n; ++r) {
      const bool both = interior(trees[0][std::size_t(r)]) && interior(trees[1][std::size_t(r)]);
      ASSERT_EQ(both, n % 2 == 1 && n >= 3 && r == 0) << n << " ranks, rank " << r;
    }
  }
}

// Rows worked out by hand from the rules.
TEST(DoubleTree, IsAsWrittenForSixAndSevenRanks) {
  const Rank parents6[] = {-1, 2, 4, 2, 0, 4}, mirrored6[] = {1, 5, 3, 1, 3, -1};
  const Rank parents7[] = {-1, 2, 4, 2, 0, 6, 4}, shifted7[] = {5, -1, 3, 5, 3, 1, 0};
  for (Rank r = 0; r < 6; ++r) {
    EXPECT_EQ(double_tree_node(0, r, 6).parent, parents6[r]) << r;
    EXPECT_EQ(double_tree_node(1, r, 6).parent, mirrored6[r]) << r;
  }
  for (Rank r = 0; r < 7; ++r) {
    EXPECT_EQ(double_tree_node(0, r, 7).parent, parents7[r]) << r;
    EXPECT_EQ(double_tree_node(1, r, 7).parent, shifted7[r]) << r;
  }
}

TEST(DoubleTree, SendsItsBytesPerRank) {
  const Algorithm& algorithm = **find_algorithm("double-tree");
  for (const auto& [n, most] : {std::pair{2, 1.0}, {3, 1.5}, {4, 2.0}, {5, 2.0}, {8, 2.0}, {100, 2.0}}) {
    Call call;
    call.elements = 1 << 20;
    const Layout layout = Layout::uniform(n, 1);
    std::uint64_t highest = 0;
    for (Rank r = 0; r < n; ++r) {
      std::uint64_t sent = 0;
      record(algorithm, layout, r, call, [&](const Step& step) {
        if (step.kind == Step::Kind::send) sent += step.slice.length;
      });
      highest = std::max(highest, sent);
    }
    EXPECT_DOUBLE_EQ(double(highest) / double(call.bytes()), most) << n;
  }
}

TEST(DoubleTree, ChainsTheRanksOfANode) {
  const Layout layout = Layout::uniform(2, 4);
  const Rank up[] = {-1, 0, 1, 2, 0, 4, 5, 6}, mirrored[] = {1, 2, 3, 7, 5, 6, 7, -1};
  for (Rank r = 0; r < 8; ++r) {
    EXPECT_EQ(double_tree_role(0, layout, r).parent, up[r]) << r;
    EXPECT_EQ(double_tree_role(1, layout, r).parent, mirrored[r]) << r;
    for (int t = 0; t < 2; ++t) {
      for (const Rank child : double_tree_role(t, layout, r).children) {
        EXPECT_EQ(double_tree_role(t, layout, child).parent, r);
      }
    }
  }
}

// Slices that are posted before the first goes up: where they stay in caches few.
TEST(DoubleTree, KeepsFewSlicesInFlightInHostMemoryAlone) {
  const auto ahead = [](const Layout& layout, bool cached) {
    Call call;
    call.elements = 16 << 20;
    call.cached = cached;
    const Rank rank = 1;  // of the first tree's chain neither first nor last
    std::size_t posted = 0;
    bool gone = false;
    record(algorithm_of(AlgorithmId::double_tree), layout, rank, call, [&](const Step& step) {
      if (step.lane != 0) return;
      gone = gone || step.kind == Step::Kind::send;
      posted += !gone;
    });
    return posted;
  };
  EXPECT_EQ(ahead(Layout::one_node(4), true), 6u);
  EXPECT_EQ(ahead(Layout::one_node(4), false), 16u);
  EXPECT_EQ(ahead(Layout::uniform(2, 4), true), 16u);
}

}  // namespace
}  // namespace ringtrue::collective
