// Which trunks are slow, where routes tell which hops cross which.
//
// Elements are trunks, each way by itself, and the ports of hosts, out and in, each rail's. A reading shows
// at most what the slowest element on its way carries, lowered by disturbances and never raised. So:
//
// - An element carries at least its best reading.
// - A reading is slow below 90 % of the reference: what is healthy reads 0.907 and more at 5 % of noise. An
//   element may explain it unless it has carried more by itself: 90 % of the reference, or 15 % more than
//   this reading.
// - A slow reading with one such element is a vote for it. As many votes are asked for, each from another
// run,
//   three at least and of two pairs, as make chance rare: elements x p^votes < 0.001, where p is the share of
//   readings elsewhere that are no better than its best.
// - Where nearly all trunks of a switch are slow, either way or both, and readings have no other
//   explanation, it is the switch.
// - Elements that no hop tells apart (the planner finds them, plan/trunk_rounds.h) count as one.
#pragma once

#include <set>
#include <span>
#include <utility>
#include <vector>

#include "diagnosis/measurer.h"
#include "diagnosis/routes.h"

namespace ringtrue::diagnosis {

// What each rail of each hop has carried, and what it crossed.
class Crossings {
 public:
  struct Item {
    int source = 0, destination = 0, rail = 0, run = 0;
    double rate = 0;      // of a hop all of whose rails were like this one, bytes per second
    bool shared = false;  // on a trunk that another hop of its run crossed, too: it clears and accuses nobody
    bool screening = false;  // of a round that was not made for what had been slow before
    std::uint32_t first = 0, count = 0;
  };

  explicit Crossings(const NodeRoutes& routes);

  void add(const Observation& observation, int run, bool screening);

  const NodeRoutes& routes() const { return routes_; }
  const std::vector<Item>& items() const { return items_; }
  std::span<const int> elements(const Item& item) const { return {&elements_[item.first], item.count}; }
  int met(int trunk) const { return met_[std::size_t(trunk)]; }  // runs
  bool met(int source, int destination) const { return pairs_.contains({source, destination}); }

  int trunks() const { return trunks_; }
  int all() const { return trunks_ + 2 * routes_.nodes() * routes_.rails(); }
  int port_out(int node, int rail) const { return trunks_ + 2 * (node * routes_.rails() + rail); }
  int port_in(int node, int rail) const { return port_out(node, rail) + 1; }
  bool is_trunk(int element) const { return element < trunks_; }
  int node_of(int element) const { return (element - trunks_) / 2 / routes_.rails(); }

 private:
  const NodeRoutes& routes_;
  const int trunks_;
  std::vector<Item> items_;
  std::vector<int> elements_, met_;
  std::set<std::pair<int, int>> pairs_;
};

// What is slow, and proven.
struct SlowTrunks {
  std::vector<int> trunks;    // one; several that are one class, or those of a switch
  int at = -1;                // the switch, where it is that
  bool cable = false;         // a trunk and the same one back
  double best = 0;            // bytes per second, of a hop
  std::vector<double> rates;  // of the readings that have no other explanation, fastest first
  int runs = 0;
  std::vector<std::pair<int, int>> pairs;  // of these readings
};

struct TrunkInference {
  std::vector<double> carried;   // by element: its best reading; 0: none
  std::vector<SlowTrunks> slow;  // trunks, cables and switches; slowest first
  std::vector<int> open;         // elements that may explain a slow reading which nothing proven explains
  std::vector<int> ports;        // of hosts, proven slow: their sides' readings tell what is slow about them
  std::vector<int> hidden;       // trunks with slow readings only, which something proven explains
  double limit = 0;              // below it, readings are slow
  // Whether a reading over these trunks says something of its ends: all of them have carried what is due.
  bool clear(std::span<const int> trunks) const;
};

// `same`: by element, the one that stands for its class; empty: each for itself. `reference`: bytes per
// second.
TrunkInference infer_trunks(const Crossings& crossings, double reference, const std::vector<int>& same);

}  // namespace ringtrue::diagnosis
