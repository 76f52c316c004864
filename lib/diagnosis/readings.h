// What the experiments of a check have said of each ordered pair of nodes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "diagnosis/measurer.h"

namespace ringtrue::diagnosis {

struct Reading {
  int source = 0;
  int destination = 0;
  double rate = 0;  // bytes per second
  int run = 0;      // which experiment
  bool confirming = false;
  // The transport says that the receiving program held the hop back for more than half of the time, and far
  // longer than is usual in its run: it says little of the wire. It may clear, never accuse.
  bool held_back = false;
  // So short that a shaper's burst (128 KiB and more, let through at once) may raise it by some percent: it
  // may be the best only where nothing longer was measured.
  bool brief = false;
  // Its busy time is a few of the kernel's ticks, and the rate may be wrong by half: it never accuses.
  bool momentary = false;
  double busy = 0;  // seconds
  std::uint64_t bytes = 0;
  double cpu_busy = 0;
};

inline constexpr double brief_below = 6e6;       // bytes
inline constexpr double momentary_below = 0.02;  // seconds
inline constexpr double settled_from = 0.05;     // seconds: ticks matter no more

// Upper median: the element at size/2 in rising order. 0 of nothing.
double upper_median(std::vector<double> values);

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

class Readings {
 public:
  explicit Readings(int nodes);

  // Readings of independent hops (pairwise). A ring's hops wait for one another, so that its readings are
  // good for finding the slowest only: do not add them.
  void add(const Observation& observation, int run, bool confirming);

  int nodes() const { return nodes_; }
  std::span<const Reading> of(int source, int destination) const;
  // Those that may accuse: neither held back nor momentary.
  std::vector<Reading> counting(int source, int destination) const;
  // Best reading of a pair; nullopt where there is none that says something.
  std::optional<double> best(int source, int destination) const;
  bool only_brief(int source, int destination) const;
  bool only_momentary(int source, int destination) const;
  int pairs_measured() const;

  // How common readings of `rate` and less are on pairs that `mine` does not hold of: the share of such
  // readings, 0 where there are fewer than eight to tell. Where disturbances are as deep as that, a low
  // reading says little. `better`: only of pairs whose best is 3 % above `rate`, or more.
  double share_as_low(double rate, bool better,
                      const std::function<bool(int source, int destination)>& mine) const;
  // The slowest of all readings that count; 0 of none.
  double least() const;

 private:
  std::size_t at(int source, int destination) const {
    return std::size_t(source) * std::size_t(nodes_) + std::size_t(destination);
  }
  int nodes_;
  std::vector<std::vector<Reading>> pairs_;
};

}  // namespace ringtrue::diagnosis
