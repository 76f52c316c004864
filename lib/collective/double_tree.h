// The shape of NCCL's double binary tree (Sanders, Speck, Traff 2009): pure arithmetic, O(log n) a rank.
//
// Tree 0 over ranks 0..n-1 has rank 0 at its root and the odd ranks as leaves. Tree 1 is the same tree,
// mirrored (n even: rank r plays n-1-r) or shifted (n odd: rank r plays r-1 mod n), so that the leaves of one
// are the inner ranks of the other - all but rank 0 where n is odd.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "collective/types.h"

namespace ringtrue::collective {

struct TreeNode {
  Rank parent = -1;  // -1: the root
  std::array<Rank, 2> child{-1, -1};
  int degree = 0;  // how many of `child` there are

  std::span<const Rank> children() const { return {child.data(), std::size_t(degree)}; }
  bool operator==(const TreeNode&) const = default;
};

// `rank` of 0..n-1 in tree 0 or 1.
TreeNode double_tree_node(int tree, Rank rank, Rank n);

// What one rank does in one tree of a layout: the double tree over nodes, a chain through each node's ranks.
// The first rank of a node is its head in tree 0, the last one in tree 1, so that reducing is shared out.
struct TreeRole {
  Rank parent = -1;
  std::vector<Rank> children;
};
TreeRole double_tree_role(int tree, const Layout& layout, Rank rank);

}  // namespace ringtrue::collective
