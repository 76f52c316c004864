// Double binary tree allreduce: two trees carry half of the data each, up to the root and down again, slice
// by slice at once. Latency grows with log n; no rank sends more than 2 S.
#include "collective/double_tree.h"

#include <algorithm>

#include "collective/algorithm.h"
#include "collective/chunks.h"
#include "collective/gate.h"
#include "collective/places.h"

namespace ringtrue::collective {

namespace {

// Rank p of tree 0.
TreeNode first_tree(Rank p, Rank n) {
  TreeNode node;
  const auto add = [&](Rank child) { node.child[std::size_t(node.degree++)] = child; };
  if (p == 0) {
    Rank highest = 1;
    while (highest * 2 < n) highest *= 2;
    if (n > 1) add(highest);
    return node;
  }
  const Rank lowest = p & -p;
  const Rank up = (p & ~lowest) | (2 * lowest);
  node.parent = up < n ? up : p - lowest;
  if (lowest > 1) add(p - lowest / 2);
  for (Rank distance = lowest / 2; distance > 0; distance /= 2) {
    if (p + distance < n) {
      add(p + distance);
      break;
    }
  }
  return node;
}

struct Flow {
  Flow(const Call& call, Range range, Lane lane, TreeRole role, std::uint64_t ahead)
      : call(call),
        range(range),
        lane(lane),
        role(std::move(role)),
        slicing(slices(call, range)),
        ahead(ahead) {
    reduced.resize(slicing.count());
    passed.resize(slicing.count());
    received.resize(slicing.count());
    spread.resize(slicing.count());
  }
  // Short enough that a slice is on every level of the tree at once, long enough to be worth a message.
  static Slicing slices(const Call& call, Range range) {
    Call finer = call;
    const std::uint64_t bytes = range.size() * size_of(call.type);
    finer.slice_bytes = std::min(call.slice_bytes, std::max<std::uint64_t>(16 * 1024, bytes / 32));
    return Slicing(finer, range.size(), 8 * Slicing::max_slices);
  }
  Slice slice(std::uint64_t k) const { return slice_of(call, slicing.of(range, k)); }
  std::uint64_t count() const { return slicing.count(); }
  bool root() const { return role.parent < 0; }
  bool leaf() const { return role.children.empty(); }

  const Call& call;
  const Range range;
  const Lane lane;
  const TreeRole role;
  const Slicing slicing;
  const std::uint64_t ahead;  // see slices_ahead()
  std::vector<Token> reduced, passed, received, spread;
  Gate is_up, is_turned, has_room;
};

// Reduce what the children send, and pass the sum on to the parent.
Task up(Endpoint& self, Flow& flow) {
  const auto reduce = [&](std::uint64_t k) {
    const Arrival how = flow.root() ? Arrival::reduce_last : Arrival::reduce;
    if (!flow.leaf()) {
      flow.reduced[k] = self.receive_reduce_all(flow.role.children, flow.lane, flow.slice(k), how);
    }
  };
  for (std::uint64_t k = 0; k < std::min(flow.ahead, flow.count()); ++k) reduce(k);
  for (std::uint64_t k = 0; k < flow.count(); ++k) {
    co_await self.wait(flow.reduced[k]);
    if (!flow.root()) {
      if (k >= flow.ahead) co_await flow.has_room.reaches(k - flow.ahead + 1);
      flow.passed[k] = self.send(flow.role.parent, flow.lane, flow.slice(k));
    }
    flow.is_up.raise();
    if (k + flow.ahead < flow.count()) reduce(k + flow.ahead);
  }
}

// A slice that has left for the parent may come back from it.
Task turn(Endpoint& self, Flow& flow) {
  for (std::uint64_t k = 0; k < flow.count(); ++k) {
    co_await flow.is_up.reaches(k + 1);
    co_await self.wait(flow.passed[k]);
    flow.received[k] = self.receive(flow.role.parent, flow.lane, flow.slice(k));
    flow.has_room.raise();
    flow.is_turned.raise();
  }
}

// Hand the result to the children.
Task down(Endpoint& self, Flow& flow) {
  for (std::uint64_t k = 0; k < flow.count(); ++k) {
    if (flow.root()) {
      co_await flow.is_up.reaches(k + 1);
    } else {
      co_await flow.is_turned.reaches(k + 1);
      co_await self.wait(flow.received[k]);
    }
    if (!flow.leaf()) flow.spread[k] = self.send_all(flow.role.children, flow.lane, flow.slice(k));
    if (k >= flow.ahead) co_await self.wait(flow.spread[k - flow.ahead]);
  }
  for (const Token token : flow.spread) co_await self.wait(token);
}

// Slices posted ahead. Between nodes enough for one on each of eight rails while as many cross the network's
// latency, in each direction of each tree: with 6 the model reaches 55 % of the ideal on 16 nodes of eight
// rails, with 12 or more 98 %; beyond, nothing is gained. What limits a flood of slices on their way up is
// that a slice goes up only when one before it has room (Flow::has_room). Inside of a node few, where they
// stay in caches: with 16 eight ranks in shared memory take 6 % longer for 64 MiB. Between GPUs that was not
// measured.
std::uint64_t slices_ahead(const Call& call, const Layout& layout) {
  constexpr std::uint64_t usual = 16, in_caches = 6;
  const std::vector<int>& of = layout.node_of_rank;
  const bool one_node = std::all_of(of.begin(), of.end(), [&](int node) { return node == of.front(); });
  return one_node && call.cached ? in_caches : usual;
}

Task tree(Endpoint& self, const Call& call, Range half, Lane lane, TreeRole role, std::uint64_t ahead) {
  if (half.empty()) co_return;
  Flow flow(call, half, lane, std::move(role), ahead);
  Group directions;
  directions.add(up(self, flow));
  if (!flow.root()) directions.add(turn(self, flow));
  directions.add(down(self, flow));
  co_await directions;
}

}  // namespace

TreeNode double_tree_node(int tree, Rank rank, Rank n) {
  if (tree == 0) return first_tree(rank, n);
  const bool mirrored = n % 2 == 0;
  const auto rank_at = [&](Rank place) { return mirrored ? n - 1 - place : (place + 1) % n; };
  TreeNode node = first_tree(mirrored ? n - 1 - rank : (rank + n - 1) % n, n);
  if (node.parent >= 0) node.parent = rank_at(node.parent);
  for (int i = 0; i < node.degree; ++i) node.child[std::size_t(i)] = rank_at(node.child[std::size_t(i)]);
  return node;
}

namespace {

// Whether the ranks are those of node 0, then those of node 1, and so on.
bool in_order(const std::vector<int>& of) {
  if (of.empty() || of.front() != 0) return false;
  for (std::size_t r = 1; r < of.size(); ++r) {
    if (of[r] != of[r - 1] && of[r] != of[r - 1] + 1) return false;
  }
  return true;
}

// A rank's part, by its node, its neighbours before and after it there, and the nodes' heads.
template <class Head>
TreeRole role_of(int tree, Rank node, Rank nodes, Rank inwards, Rank outwards, const Head& head) {
  TreeRole role;
  if (inwards < 0) {
    const TreeNode over = double_tree_node(tree, node, nodes);
    if (over.parent >= 0) role.parent = head(over.parent);
    for (const Rank child : over.children()) role.children.push_back(head(child));
  } else {
    role.parent = inwards;
  }
  if (outwards >= 0) role.children.push_back(outwards);
  return role;
}

}  // namespace

TreeRole double_tree_role(int tree, const Layout& layout, Rank rank) {
  const std::vector<int>& of = layout.node_of_rank;
  if (in_order(of)) {  // all that is needed can be looked up, in layouts of tens of thousands of ranks too
    const auto first = [&](Rank node) {
      return Rank(std::lower_bound(of.begin(), of.end(), node) - of.begin());
    };
    const auto last = [&](Rank node) {
      return Rank(std::upper_bound(of.begin(), of.end(), node) - of.begin()) - 1;
    };
    const auto head = [&](Rank node) { return tree == 0 ? first(node) : last(node); };
    const Rank node = of[std::size_t(rank)];
    const Rank before = rank > first(node) ? rank - 1 : -1, after = rank < last(node) ? rank + 1 : -1;
    return role_of(tree, node, of.back() + 1, tree == 0 ? before : after, tree == 0 ? after : before, head);
  }
  const Places places = places_of(layout, rank);
  const std::vector<Rank>& here = places.neighbours();
  const auto head = [&](Rank node) {
    const std::vector<Rank>& members = places.nodes[std::size_t(node)];
    return tree == 0 ? members.front() : members.back();
  };
  const Rank before = places.local > 0 ? here[places.local - 1] : -1;
  const Rank after = places.local + 1 < here.size() ? here[places.local + 1] : -1;
  return role_of(tree, Rank(places.node), Rank(places.nodes.size()), tree == 0 ? before : after,
                 tree == 0 ? after : before, head);
}

Task double_tree(Endpoint& self, const Call& call) {
  if (self.ranks() < 2 || call.elements == 0) co_return;
  const std::uint64_t ahead = slices_ahead(call, self.layout());
  Group trees;
  for (int t = 0; t < 2; ++t) {
    const Range half = part(whole(call), 2, std::uint64_t(t));
    trees.add(tree(self, call, half, Lane(t), double_tree_role(t, self.layout(), self.rank()), ahead));
  }
  co_await trees;
}

}  // namespace ringtrue::collective
