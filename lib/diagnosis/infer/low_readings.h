// Which readings of each side are low, and how likely those of a healthy one would be so: what unsteady.h
// judges by. A side's number is twice its node's, and one more where it receives; `end` is 0 for the sender
// of a reading and 1 for the receiver, `depth` one of at_times::depths.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "diagnosis/infer/at_times.h"
#include "diagnosis/infer/inference.h"

namespace ringtrue::diagnosis {

class LowReadings {
 public:
  // One reading, as one side's.
  struct Item {
    const Reading* reading = nullptr;
    double share[2] = {0, 0};  // of what is due, as the sender's and as the receiver's
    bool counts[2] = {false, false};
    int kind = 0;
    bool explained = false;

    bool tells(std::size_t end) const { return counts[end] && !explained; }
    int partner(std::size_t end) const { return end ? reading->source : reading->destination; }
  };

  using Numbers = std::vector<std::size_t>;  // of items

  // Some readings in their order: how likely each was to be low, and whether it was.
  struct Outcomes {
    std::vector<double> chances;
    std::vector<bool> low;
    int lows() const { return int(std::ranges::count(low, true)); }
    double tail() const { return tail_of(chances, lows()); }
  };

  // How likely a healthy side would read so low so often, at the depth at which that is the least likely.
  struct Tail {
    double chance = 1;
    std::size_t depth = 0;
  };

  static constexpr int kinds = 4;  // of company
  // How common low readings are of senders, or of receivers, by kind of company and depth.
  class Base {
   public:
    Base() = default;
    explicit Base(bool of_few) : of_few_(of_few) {}
    double chance(int kind, std::size_t depth) const;
    double as_seen(int kind, std::size_t depth) const;
    bool is_often_low(int kind, std::size_t depth, double share) const;
    void count(const LowReadings& sides, const Item& item, std::size_t end, int sign);

   private:
    double chance(int kind, std::size_t depth, double before, double weight) const;

    bool of_few_ = false;
    std::array<double, kinds> all_{};
    std::array<std::array<double, at_times::depths.size()>, kinds> low_{};
  };

  // `inference` and `structure` outlive it.
  LowReadings(const Readings& readings, const Inference& inference, const Structure& structure);

  static std::size_t side(int node, Direction d) {
    return std::size_t(2 * node) + (d == Direction::receives);
  }
  std::size_t sides() const { return of_.size(); }
  const Numbers& of(std::size_t side) const { return of_[side]; }
  const Item& item(std::size_t number) const { return items_[number]; }
  bool low(const Item& item, std::size_t end, std::size_t depth) const;

  // Every pair is measured, or it is known, or guessed, who shares links with whom.
  bool clear() const { return clear_; }
  // Links with some others, nobody knows with whom.
  bool may_share() const { return may_share_; }
  bool apart() const { return apart_; }  // no two nodes share links

  // Counts anew how common low readings are, without what is explained.
  void count_all();
  void explain(std::size_t side, std::size_t depth);
  const Base& base(std::size_t end) const { return base_[end]; }
  // Of the others: what this node sends and receives is taken out.
  Base base_without(std::size_t side) const;

  Tail tail_of_side(std::size_t side) const;
  // Of all these, as if they were independent.
  Outcomes outcomes_of(const Numbers& numbers, std::size_t end, std::size_t depth, const Base& base) const;
  // With one partner every reading is low: whether it may be a path that is slow for good, beside others that
  // are low no more often than anybody's. A side that is slow at times has to make these readings so much
  // likelier.
  bool is_one_path(std::size_t side, std::size_t depth) const;
  // Its last reading is: it may have begun.
  bool low_lately(std::size_t side, std::size_t depth) const;
  // In that run all hops but this node's read well, or all that begin or end below what was guessed to be its
  // leaf: a link that several share would have slowed another, too.
  bool alone_is_low(int run, int node) const;

 private:
  bool fine(Direction d, int node) const;
  int kind_of(const Reading& r, const Structure& structure) const;
  Outcomes independent(const std::vector<const Item*>& items, std::size_t end, std::size_t depth,
                       const Base& base, bool all = false) const;

  const int n_;
  const Inference& inference_;
  const bool guessed_;            // who is below one leaf
  const std::vector<int>& leaf_;  // by node; empty: unknown
  const bool apart_, clear_, may_share_;
  std::vector<Item> items_;
  std::vector<Numbers> of_;  // by side
  std::array<Base, 2> base_;
};

}  // namespace ringtrue::diagnosis
