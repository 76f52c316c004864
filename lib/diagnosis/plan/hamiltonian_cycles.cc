#include "diagnosis/plan/hamiltonian_cycles.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>

namespace ringtrue::diagnosis {
namespace {

// The rings over 2m points 0 .. 2m-1 on a circle and one in its middle, numbered 2m. Ring c goes
// middle, c, c+1, c-1, c+2, c-2, ..., c+m. So a pair x -> y of the circle lies in ring x + k where
// y = x + 2k + 1, and in ring x - k where y = x - 2k; middle -> y in ring y, x -> middle in ring x + m.
class Zigzag {
 public:
  explicit Zigzag(int m) : m_(m), circle_(2 * m) {}

  std::vector<int> ring(int c) const {
    std::vector<int> out{circle_, c};
    for (int k = 1; k < m_; ++k) {
      out.push_back((c + k) % circle_);
      out.push_back((c - k + circle_) % circle_);
    }
    out.push_back((c + m_) % circle_);
    return out;
  }

  int ring_of(int x, int y) const {
    if (x == circle_) return y;
    if (y == circle_) return (x + m_) % circle_;
    const int d = (y - x + circle_) % circle_;
    return d % 2 == 1 ? (x + d / 2) % circle_ : (x + d / 2 + m_) % circle_;
  }

  // Whom x sends to in ring c.
  int next(int x, int c) const {
    if (x == circle_) return c;
    const int e = (c - x + circle_) % circle_;
    if (e == m_) return circle_;
    return (x + 2 * e + (e < m_ ? 1 : 0)) % circle_;
  }

 private:
  int m_, circle_;
};

// A way through all nodes of the zigzag that has one pair of each of its rings, as a circle that node
// `outside` closes: pairs with it belong to no ring.
class Way {
 public:
  Way(int m, std::uint64_t seed)
      : zigzag_(m),
        n_(2 * m + 2),
        outside_(2 * m + 1),
        missing_(2 * m),
        random_(seed),
        order_(std::size_t(n_)),
        place_(std::size_t(n_)),
        uses_(std::size_t(2 * m), 0) {
    std::iota(order_.begin(), order_.end(), 0);
    for (int i = 0; i < n_; ++i) note(colour(i), 1);
    set_places();
  }

  // The nodes in order; empty where none was found.
  std::vector<int> find() {
    const long most = 20'000 + 400L * n_;
    for (long step = 0; step < most; ++step) {
      if (missing_ == 0) return order_;
      improve();
    }
    return {};
  }

 private:
  std::size_t at(int i) const { return std::size_t(i % n_); }
  int below(int n) { return int(random_() % std::uint64_t(n)); }
  // The ring of the pair that begins at this place; -1 for those with the node outside.
  int colour(int x, int y) const { return x == outside_ || y == outside_ ? -1 : zigzag_.ring_of(x, y); }
  int colour(int place) const { return colour(order_[at(place)], order_[at(place + 1)]); }

  void note(int colour, int by) {
    if (colour < 0) return;
    int& uses = uses_[std::size_t(colour)];
    missing_ -= uses == 0 && by > 0;
    uses += by;
    missing_ += uses == 0;
  }

  // Uses a ring that no pair is of, in place of a pair whose ring has another one: its node sends to whom it
  // does there, and the segments around are exchanged in the way that costs least.
  void improve() {
    int i = below(n_);
    while (colour(i) >= 0 && uses_[std::size_t(colour(i))] < 2) i = (i + 1) % n_;
    if (order_[at(i)] == outside_) i = (i + 1) % n_;
    int wanted = below(int(uses_.size()));
    while (uses_[std::size_t(wanted)] > 0) wanted = (wanted + 1) % int(uses_.size());
    const int x = order_[at(i)], y = zigzag_.next(x, wanted);
    const int j = (place_[std::size_t(y)] + n_ - 1) % n_;
    // The cut k lies behind j and before i.
    const int room = (i - j + n_) % n_ - 1;
    if (room < 1) return;
    int best = n_, ties = 0, chosen = -1;
    const std::array old{colour(i), colour(j)};
    for (const int c : old) note(c, -1);
    note(wanted, 1);
    for (int r = 1; r <= room; ++r) {
      const int k = (j + r) % n_;
      const std::array<int, 2> fresh{colour(order_[at(j)], order_[at(k + 1)]),
                                     colour(order_[at(k)], order_[at(i + 1)])};
      note(colour(k), -1);
      for (const int c : fresh) note(c, 1);
      const int cost = missing_;
      for (const int c : fresh) note(c, -1);
      note(colour(k), 1);
      if (cost < best) best = cost, ties = 0;
      if (cost == best && below(++ties) == 0) chosen = k;
    }
    note(wanted, -1);
    for (const int c : old) note(c, 1);
    if (best <= missing_ || below(50) == 0) exchange(i, j, chosen);
  }

  // The segments i+1 .. j and j+1 .. k change places.
  void exchange(int i, int j, int k) {
    const int first = (j - i + n_) % n_, both = (k - i + n_) % n_;
    for (const int place : {i, j, k}) note(colour(place), -1);
    std::rotate(order_.begin(), order_.begin() + (i + 1) % n_, order_.end());
    std::rotate(order_.begin(), order_.begin() + first, order_.begin() + both);
    for (const int place : {n_ - 1, both - first - 1, both - 1}) note(colour(place), 1);
    set_places();
  }

  void set_places() {
    for (int i = 0; i < n_; ++i) place_[std::size_t(order_[std::size_t(i)])] = i;
  }

  Zigzag zigzag_;
  int n_, outside_, missing_;  // missing: rings that no pair of the way is of
  std::mt19937_64 random_;
  std::vector<int> order_, place_, uses_;  // uses: pairs of the way, by ring
};

// Every pair at least once, in n rings.
const std::vector<std::vector<int>> of_four = {{0, 3, 2, 1}, {0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}};
const std::vector<std::vector<int>> of_six = {{0, 5, 3, 2, 1, 4}, {0, 3, 2, 5, 4, 1}, {0, 2, 4, 3, 1, 5},
                                              {0, 4, 5, 1, 2, 3}, {0, 1, 4, 3, 5, 2}, {0, 5, 1, 3, 4, 2}};

const std::vector<std::vector<int>>* exception(int n) {
  return n == 4 ? &of_four : n == 6 ? &of_six : nullptr;
}

}  // namespace

HamiltonianCycles::HamiltonianCycles(int n) : n_(n), rings_(n - 1) {
  if (exception(n)) {
    rings_ = n;
  } else if (n % 2 == 0 && n > 2) {
    const int m = (n - 2) / 2;
    for (std::uint64_t seed = std::uint64_t(m); last_.empty(); ++seed) last_ = Way(m, seed).find();
    opened_.resize(std::size_t(n - 2));
    for (std::size_t i = 0; i < last_.size(); ++i) {
      const int x = last_[i], y = last_[(i + 1) % last_.size()];
      if (x != n - 1 && y != n - 1) opened_[std::size_t(Zigzag(m).ring_of(x, y))] = x;
    }
  }
}

std::vector<int> HamiltonianCycles::ring(int k) const {
  if (const auto* known = exception(n_)) return (*known)[std::size_t(k)];
  if (n_ == 2) return {0, 1};
  if (n_ % 2 == 1) return Zigzag((n_ - 1) / 2).ring(k);
  if (k == n_ - 2) return last_;
  std::vector<int> out = Zigzag((n_ - 2) / 2).ring(k);
  const auto open = std::find(out.begin(), out.end(), opened_[std::size_t(k)]);
  out.insert(open + 1, n_ - 1);
  return out;
}

}  // namespace ringtrue::diagnosis
