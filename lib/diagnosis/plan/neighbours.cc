#include "diagnosis/plan/neighbours.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

namespace ringtrue::diagnosis {
namespace {

constexpr int assumed_leaf = 16;  // nodes
constexpr int passes = 4, tries = 24;

// Links that may still be made so that what is linked is chains: each has one next and one before, no circle.
class Chains {
 public:
  explicit Chains(std::size_t items) : next(items, -1), before(items, -1), end_(items) {
    std::iota(end_.begin(), end_.end(), 0);
  }
  bool link(int a, int b) {
    if (next[std::size_t(a)] >= 0 || before[std::size_t(b)] >= 0 || root(a) == root(b)) return false;
    next[std::size_t(a)] = b, before[std::size_t(b)] = a;
    end_[std::size_t(root(a))] = root(b);
    return true;
  }
  std::vector<int> next, before;

 private:
  int root(int i) {
    while (end_[std::size_t(i)] != i) i = end_[std::size_t(i)] = end_[std::size_t(end_[std::size_t(i)])];
    return i;
  }
  std::vector<int> end_;
};

class Order {
 public:
  Order(const std::vector<int>& nodes, const std::vector<int>& group, const Wanted& wanted,
        const Readings& met, std::uint64_t seed)
      : group_(group), wanted_(wanted), met_(met), random_(seed), inside_(group.size()) {
    for (const int node : nodes) members_[group[std::size_t(node)]].push_back(node);
    for (const auto& [leaf, list] : members_) leaves_.push_back(leaf);
  }

  std::vector<int> draw() {
    link_wanted();
    std::vector<int> order;
    for (const int leaf : sequence()) {
      const auto list = chained(leaf);
      order.insert(order.end(), list.begin(), list.end());
    }
    improve(order);
    return order;
  }

 private:
  std::size_t below(std::size_t n) { return std::size_t(random_() % n); }
  // Not std::shuffle: its draws differ between standard libraries.
  template <class T>
  void shuffle(std::vector<T>& list) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[below(i)]);
  }

  // Wanted paths inside a leaf are links between nodes, those across are links between leaves with the nodes
  // at their ends.
  void link_wanted() {
    std::map<int, int> place;
    for (std::size_t i = 0; i < leaves_.size(); ++i) place[leaves_[i]] = int(i);
    Chains across(leaves_.size());
    for (const auto& [x, y] : wanted_.paths) {
      const int a = group_[std::size_t(x)], b = group_[std::size_t(y)];
      if (!place.count(a) || !place.count(b)) continue;
      if (a == b) {
        inside_.link(x, y);
      } else if (across.link(place[a], place[b])) {
        last_[a] = x, first_[b] = y;
      }
    }
    next_leaf_ = across.next, leaf_before_ = across.before;
  }

  std::vector<int> sequence() {
    std::vector<std::size_t> heads;
    for (std::size_t i = 0; i < leaves_.size(); ++i)
      if (leaf_before_[i] < 0) heads.push_back(i);
    shuffle(heads);
    std::vector<int> out;
    for (const std::size_t head : heads)
      for (int i = int(head); i >= 0; i = next_leaf_[std::size_t(i)]) out.push_back(leaves_[std::size_t(i)]);
    return out;
  }

  std::vector<int> chained(int leaf) {
    std::vector<int> heads;
    for (const int node : members_[leaf])
      if (inside_.before[std::size_t(node)] < 0) heads.push_back(node);
    shuffle(heads);
    const auto tail = [&](int node) {
      while (inside_.next[std::size_t(node)] >= 0) node = inside_.next[std::size_t(node)];
      return node;
    };
    const auto first = first_.find(leaf), last = last_.find(leaf);
    if (first != first_.end()) {
      const auto at = std::find(heads.begin(), heads.end(), first->second);
      if (at != heads.end()) std::iter_swap(heads.begin(), at);
    }
    if (last != last_.end()) {
      const auto at = std::find_if(heads.begin() + (first != first_.end() && heads.size() > 1), heads.end(),
                                   [&](int head) { return tail(head) == last->second; });
      if (at != heads.end()) std::iter_swap(heads.end() - 1, at);
    }
    std::vector<int> out;
    for (const int head : heads)
      for (int node = head; node >= 0; node = inside_.next[std::size_t(node)]) out.push_back(node);
    return out;
  }

  // What a round fails to tell.
  int cost(int x, int y) const {
    const bool sends = wanted_.sends[std::size_t(x)], receives = wanted_.receives[std::size_t(y)];
    const bool before = !met_.of(x, y).empty();
    if (sends && receives) return 4;
    // Across leaves it would tell of the trunks as well.
    if ((sends || receives) && group_[std::size_t(x)] != group_[std::size_t(y)]) return 3;
    if ((sends && shows_little(x, y)) || (receives && shows_little(y, x))) return 3;
    return before ? (sends || receives ? 2 : 1) : 0;
  }

  bool shows_little(int suspected, int partner) const {
    return wanted_.busy[std::size_t(partner)] ||
           wanted_.level[std::size_t(partner)] < wanted_.level[std::size_t(suspected)];
  }

  bool fixed(int node) const {
    if (inside_.next[std::size_t(node)] >= 0 || inside_.before[std::size_t(node)] >= 0) return true;
    const int leaf = group_[std::size_t(node)];
    const auto first = first_.find(leaf), last = last_.find(leaf);
    return (first != first_.end() && first->second == node) || (last != last_.end() && last->second == node);
  }

  // Swaps nodes of one leaf where that tells more.
  void improve(std::vector<int>& order) {
    const std::size_t n = order.size();
    std::map<int, std::pair<std::size_t, std::size_t>> range;
    for (std::size_t i = 0; i < n; ++i) {
      auto& r = range.try_emplace(group_[std::size_t(order[i])], i, i).first->second;
      r.second = i;
    }
    const auto from = [&](std::size_t i) { return cost(order[i % n], order[(i + 1) % n]); };
    const auto around = [&](std::size_t i) { return from(i + n - 1) + from(i); };
    // The hop between neighbours counts once.
    const auto around_both = [&](std::size_t i, std::size_t j) {
      const int between = (i + 1) % n == j ? from(i) : (j + 1) % n == i ? from(j) : 0;
      return around(i) + around(j) - between;
    };
    for (int pass = 0; pass < passes; ++pass) {
      for (std::size_t i = 0; i < n; ++i) {
        if (fixed(order[i]) || around(i) == 0) continue;
        const auto [low, high] = range[group_[std::size_t(order[i])]];
        for (int attempt = 0; attempt < tries; ++attempt) {
          const std::size_t j = low + below(high - low + 1);
          if (j == i || fixed(order[j])) continue;
          const int before = around_both(i, j);
          std::swap(order[i], order[j]);
          if (around_both(i, j) < before) break;
          std::swap(order[i], order[j]);
        }
      }
    }
  }

  const std::vector<int>& group_;
  const Wanted& wanted_;
  const Readings& met_;
  std::mt19937_64 random_;
  Chains inside_;
  std::map<int, std::vector<int>> members_;
  std::vector<int> leaves_, next_leaf_, leaf_before_;
  std::map<int, int> first_, last_;  // by leaf: who has to be at its ends
};

}  // namespace

std::vector<int> groups_of(const Structure& structure, int nodes) {
  if (structure.leaf.size() == std::size_t(nodes)) return structure.leaf;
  // Nodes of one generation together: a slower one shows nothing of what a faster one can do.
  const auto rate = [&](int node) {
    return structure.port_rates.empty() ? 0 : structure.port_rates[std::size_t(node)];
  };
  const auto n = std::size_t(nodes);
  std::vector<int> order(n), out(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return rate(a) > rate(b); });
  for (std::size_t i = 0; i < order.size(); ++i) out[std::size_t(order[i])] = int(i) / assumed_leaf;
  return out;
}

std::vector<int> across_order(const std::vector<int>& nodes, const std::vector<int>& group,
                              std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int> order = nodes;
  const std::size_t n = order.size();
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  const auto of = [&](std::size_t i) { return group[std::size_t(order[i % n])]; };
  const auto around = [&](std::size_t i) { return (of(i + n - 1) == of(i)) + (of(i) == of(i + 1)); };
  for (int pass = 0; pass < passes; ++pass)
    for (std::size_t i = 0; i < n; ++i)
      for (int attempt = 0; attempt < tries && around(i) > 0; ++attempt) {
        const std::size_t j = random() % n;
        const int before = around(i) + around(j);
        std::swap(order[i], order[j]);
        if (around(i) + around(j) >= before) std::swap(order[i], order[j]);
      }
  return order;
}

std::vector<int> neighbour_order(const std::vector<int>& nodes, const std::vector<int>& group,
                                 const Wanted& wanted, const Readings& met, std::uint64_t seed) {
  if (seed != 0) return Order(nodes, group, wanted, met, seed).draw();
  std::vector<int> order = nodes;
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return group[std::size_t(a)] < group[std::size_t(b)]; });
  return order;
}

}  // namespace ringtrue::diagnosis
