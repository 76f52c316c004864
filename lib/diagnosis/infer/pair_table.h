// What is known of pairs of nodes, in their order: looked through often, and added to by whole experiments.
// Of 10,000 nodes these are a million pairs, which a tree of nodes takes seconds to go through.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace ringtrue::diagnosis {

template <class T>
class PairTable {
 public:
  using Pair = std::pair<int, int>;
  using Item = std::pair<Pair, T>;

  // Adds those that are not there yet.
  void add(std::vector<Pair> pairs) {
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    const auto before = std::ptrdiff_t(items_.size());
    std::ptrdiff_t at = 0;
    for (const Pair& pair : pairs) {
      at = std::lower_bound(items_.begin() + at, items_.begin() + before, pair, is_before) - items_.begin();
      if (at == before || items_[std::size_t(at)].first != pair) items_.push_back({pair, T{}});
    }
    std::inplace_merge(items_.begin(), items_.begin() + before, items_.end(),
                       [](const Item& a, const Item& b) { return a.first < b.first; });
  }
  // nullptr: it is not there.
  const T* find(const Pair& pair) const {
    const auto at = std::lower_bound(items_.begin(), items_.end(), pair, is_before);
    return at != items_.end() && at->first == pair ? &at->second : nullptr;
  }
  T* find(const Pair& pair) { return const_cast<T*>(std::as_const(*this).find(pair)); }

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  static bool is_before(const Item& item, const Pair& pair) { return item.first < pair; }
  std::vector<Item> items_;
};

}  // namespace ringtrue::diagnosis
