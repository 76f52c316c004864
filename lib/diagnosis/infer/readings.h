// What the experiments of a check have said of each ordered pair of nodes.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "diagnosis/measurer.h"

namespace ringtrue::diagnosis {

enum class Direction { sends, receives };

inline constexpr double longest_burst = 256.0 * 1024;  // bytes, of a shaper

struct Reading {
  int source = 0;
  int destination = 0;
  double rate = 0;  // bytes per second
  int run = 0;      // which experiment
  bool confirming = false;
  // The transport says that the receiving program held the hop back for more than half of the time, and far
  // longer than is usual in its run: it says little of the wire. It may rule a suspect out, never confirm
  // one.
  bool held_back = false;
  double window_limited = 0, send_buffer_limited = 0;  // shares of `busy`, as the sender's transport tells
  // So short that a shaper's burst (128 KiB and more, let through at once) may raise it by some percent: it
  // may be the best only where nothing longer was measured.
  bool brief = false;
  // Its busy time is a few of the kernel's ticks, and the rate may be wrong by half: it never confirms a
  // suspect.
  bool momentary = false;
  // Other hops of its run may have shared links with it, which nobody ruled out: it may rule a suspect out,
  // never confirm one.
  bool shared = false;
  int company = 0;  // hops in its run
  double busy = 0;  // seconds
  std::uint64_t bytes = 0;
  double cpu_busy = 0;
  std::uint64_t retransmits = 0;
  std::vector<double> rails{};  // rates by rail; empty: the world does not tell them apart
  // Bytes per second that the sender's and the receiver's port carried for others meanwhile; of several
  // rails, by which the slowest ones say how much more this hop would have carried, the other end's gone as
  // well. By rail where that is known.
  double others_sent = 0, others_received = 0;
  std::vector<double> others_sent_by_rail{}, others_received_by_rail{};
  // Bytes per second that the hop's acknowledgements wait behind, into the sender's port or out of the
  // receiver's, where a good part of it is others'; 0 elsewhere.
  double behind_others = 0;

  // Whether it may confirm a suspect.
  bool counts() const { return !momentary && counts_if_longer(); }
  bool counts_if_longer() const {
    return !held_back && !shared && !waits_for_others() && !is_beside(others_sent) &&
           !is_beside(others_received);
  }
  // Whether it may confirm that this end of it is slow: what the other end carries for others takes from
  // what this one can show, and what this end carries is its own.
  bool counts_for(Direction end) const {
    return !held_back && !shared && !momentary && !waits_for_others() &&
           !is_beside(end == Direction::sends ? others_received : others_sent);
  }
  // A port that carries more the other way than the hop's own is full there: acknowledgements queue, which
  // takes up to 70 % of the rate.
  bool waits_for_others() const { return behind_others > rate && rate > 0.3 * behind_others; }
  // Of a brief one, what it was without the most that a shaper's burst may have added.
  double without_burst() const { return brief ? rate / (1 + longest_burst / double(bytes)) : rate; }
  // What that end's port carried, the hop and what is others'.
  double carried_by(Direction end) const {
    return rate + (end == Direction::sends ? others_sent : others_received);
  }
  double rail_carried_by(Direction end, std::size_t rail) const {
    const bool sends = end == Direction::sends;
    const auto& others = sends ? others_sent_by_rail : others_received_by_rail;
    const double sum = sends ? others_sent : others_received;
    return rails[rail] + (rail < others.size() ? others[rail] : sum / double(rails.size()));
  }
  // What the hop would have carried without others at its ends, at least.
  double carried() const { return rate + std::max(others_sent, others_received); }
  double carried_by_rail(std::size_t rail) const {
    return std::max(rail_carried_by(Direction::sends, rail), rail_carried_by(Direction::receives, rail));
  }
  // Less of others' traffic is lost in what readings scatter by.
  bool is_beside(double others) const { return others > 0.07 * (rate + others); }
};

// Up to so many hops at once seldom share a link between switches.
constexpr int few_hops(int nodes) {
  return nodes > 16 ? nodes / 4 : 4;
}

inline constexpr double brief_below = 6e6;       // bytes
inline constexpr double momentary_below = 0.02;  // seconds
inline constexpr double settled_from = 0.05;     // seconds: ticks matter no more

// Rates of the hops of one experiment that moved something.
std::vector<double> hop_rates(const Observation& observation);

// What passed through the ports of an omnireduce's aggregators in one experiment.
struct PortReading {
  int node = -1;
  int aggregator = 0;  // its number
  bool receives = true;
  double rate = 0;     // bytes per second while the port was in use: its bytes over its longest hop's time
  double typical = 0;  // upper median of all aggregators' ports, that direction
};

// By aggregator, both directions, of those that moved something between nodes.
std::vector<PortReading> port_readings(const Observation& observation);

// Holds what was measured and no more, so that its size is that of the experiments.
class Readings {
 public:
  explicit Readings(int nodes);

  // Readings of independent hops (pairwise). A ring's hops wait for one another, so that its readings are
  // good for finding the slowest only: do not add them. `shared`: of which hops, see Reading; none: of none.
  using IsShared = std::function<bool(const HopReading&)>;
  void add(const Observation& observation, int run, bool confirming, const IsShared& shared = {});

  // The same as if the ports of all nodes did what those of the fastest generation do: the rates of each pair
  // over the less of what both nodes are held to; generations() and held_to() of generations.h.
  Readings evened(const std::vector<double>& generations, std::vector<double> held_to) const;

  int nodes() const { return int(rows_.size()); }
  std::span<const Reading> of(int source, int destination) const;
  // Whom this node has sent to, and who has sent to it: rising.
  std::vector<int> receivers_of(int source) const;
  const std::vector<int>& senders_to(int destination) const { return columns_[std::size_t(destination)]; }
  // Calls f(source, destination) for each measured pair, row by row.
  template <class F>
  void each_pair(F f) const {
    for (std::size_t x = 0; x < rows_.size(); ++x)
      for (const Cell& cell : rows_[x]) f(int(x), cell.destination);
  }
  // Those that may confirm a suspect: not held back, shared or momentary.
  std::vector<Reading> counting(int source, int destination) const;
  // And those that carried more than any of these, though others were there: the pair can do that, at least.
  std::vector<Reading> counting_and_better(int source, int destination) const;
  // The same with those that are shared.
  std::vector<Reading> usable(int source, int destination) const;
  // Best reading of a pair; nullopt where there is none that says something.
  std::optional<double> best(int source, int destination) const;
  // The best that one end of a pair carried.
  std::optional<double> best_of(Direction end, int source, int destination) const;
  // Those that may confirm that this end is slow, with what it carried as their rates.
  std::vector<Reading> counting_for(Direction end, int source, int destination) const;
  // What a pair has shown to carry in whatever company: of several rails, each rail at its best.
  std::optional<double> shown(int source, int destination) const;
  bool only_brief(int source, int destination) const;
  bool only_momentary(int source, int destination) const;
  int pairs_measured() const { return pairs_; }
  // By node: the most that it carries for others, where it does in a third of its experiments and more. What
  // that crosses between switches is slower by as much for whoever shares it, with any partner.
  std::vector<OthersTraffic> lasting_others() const;
  // Whether that end's partner is of a slower generation, and shows nothing of what it can do.
  bool held_by_partner(Direction end, int source, int destination) const {
    if (held_to_.empty()) return false;
    const double mine = held_to_[std::size_t(end == Direction::sends ? source : destination)],
                 others = held_to_[std::size_t(end == Direction::sends ? destination : source)];
    return others < mine;
  }
  // The slowest of all readings of some length, in whatever company; 0 of none.
  double least() const;

 private:
  struct Cell {
    int destination = 0;
    std::vector<Reading> list{};
  };
  const Cell* find(int source, int destination) const;
  Cell& cell(int source, int destination);

  std::vector<std::vector<Cell>> rows_;    // by source; cells by rising destination
  std::vector<std::vector<int>> columns_;  // by destination: sources
  std::vector<double> held_to_;            // empty: one generation
  int pairs_ = 0;
};

// The same of every side of a fleet, by node; 0: nothing.
struct Shown {
  explicit Shown(const Readings& readings);
  std::vector<double> sends, receives;  // bytes per second
};

// Nodes that stand near each other in the order given hang below one switch most often, where nobody told.
constexpr bool is_near(int a, int b) {
  return (a > b ? a - b : b - a) <= 4;
}

// Bytes per second, by rail: what each carried at its best; empty: the world does not tell them apart.
std::vector<double> best_by_rail(const std::vector<Reading>& readings);
std::vector<double> usual_by_rail(const std::vector<Reading>& readings);  // the same in the middle

// What a hop would have carried if all its rails were like this one; -1: what it carried.
inline double rate_on(const Reading& r, int rail) {
  const auto k = std::size_t(rail);
  return rail < 0 || k >= r.rails.size() ? r.rate : r.rails[k] * double(r.rails.size());
}

// How common readings of a rate and less are among those of other pairs. Where disturbances are as deep as
// that, a low reading says little.
class BaseRate {
 public:
  // `limit`: what a pair is known to do; below zero: it is left out.
  BaseRate(const Readings& readings, const std::function<double(int source, int destination)>& limit);
  // The share of such readings on pairs that `mine` does not hold of, 0 where there are fewer than eight to
  // tell. `better`: only of pairs whose limit is 3 % above `rate`, or more.
  template <class Mine>  // bool(int source, int destination)
  double share_as_low(double rate, bool better, const Mine& mine) const {
    constexpr int fewest = 8;
    int all = 0, low = 0;
    for (const Item& item : items_) {
      if ((better && item.limit < 1.03 * rate) || mine(item.source, item.destination)) continue;
      if (!tells(*item.reading, item.rate, rate)) continue;
      ++all, low += item.rate <= rate;
    }
    return all < fewest ? 0 : double(low) / all;
  }
  // The share of readings from `low` to `high`, of pairs that can do better, taken as one more than there
  // are.
  template <class Mine>
  double share_within(double low, double high, const Mine& mine) const {
    int all = 1, within = 1;
    for (const Item& item : items_) {
      if (item.limit < 1.03 * high || mine(item.source, item.destination)) continue;
      if (!tells(*item.reading, item.rate, high)) continue;
      ++all, within += item.rate >= low && item.rate <= high;
    }
    return double(within) / all;
  }
  // The share of readings as low on one rail (-1: of whole hops), of pairs that are near each other in the
  // order given, or of the others; taken as half of one more than were low, of one more than there are.
  template <class Mine>
  double share_as_low_by(bool near, int rail, double rate, const Mine& mine) const {
    double all = 1, low = 0.5;
    for (const Item& item : items_) {
      if (is_near(item.source, item.destination) != near || mine(item.source, item.destination)) continue;
      if (!tells(*item.reading, rate_on(*item.reading, rail), rate)) continue;
      ++all, low += rate_on(*item.reading, rail) <= rate;
    }
    return low / all;
  }
  // What readings scatter by: 1.4826 times the median deviation from their median, of rate / limit.
  double noise() const { return noise_; }

 private:
  struct Item {
    double rate = 0, limit = 0;
    int source = 0, destination = 0;
    const Reading* reading = nullptr;
  };
  // What is short may be wrong by half, and was well above `low` all the same; as low, it would have taken
  // long enough to count.
  static bool tells(const Reading& r, double rate, double low) {
    return !r.momentary || (rate > 1.5 * low && r.busy * rate > momentary_below * low);
  }
  std::vector<Item> items_;
  double noise_ = 0;
};

}  // namespace ringtrue::diagnosis
