// What the diagnosis may ask of the world, and what it gets back. A live fleet and the simulator both answer;
// the diagnosis cannot tell them apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "collective/types.h"
#include "diagnosis/routes.h"
#include "run/counter_window.h"
#include "run/rdma.h"

namespace ringtrue::diagnosis {

using run::RdmaPort;

// A check's experiments have at most so many ranks on a node, and fewer where nodes allow fewer.
inline constexpr int most_ranks_a_node = 8;

// One collective over some nodes, one rank a node, or several where only round trips are asked for.
struct Experiment {
  collective::AlgorithmId algorithm = collective::AlgorithmId::ring;  // or pairwise, naive, omnireduce
  std::vector<int> order;  // nodes by rank: rank r is on node order[r]
  Bytes bytes;             // size of the call
  int iterations = 1;
  int shift = 1;  // pairwise: rank r sends to r + shift
  // Bytes of a slice; 0: the world's own choice. naive over two nodes with one slice uses the two directions
  // one after the other, so that neither waits behind the other's traffic.
  Bytes slice;
  // omnireduce, of dense data: ranks from here on are aggregators. A node may be that of a worker and of an
  // aggregator. 0 for all others.
  int workers = 0;
  // By rank: the port that its RDMA goes through. Empty: the transport's own choice. A node may then be that
  // of several ranks, so that its ports meet each other; where no ports are given, too.
  std::vector<RdmaPort> ports{};
};

// One directed hop between two nodes in one experiment.
// A hop's share that went through one rail: its sender's and its receiver's port of that number.
struct RailReading {
  int rail = 0;
  Bytes bytes;
  Seconds busy;
};

struct HopReading {
  int source = 0;       // node
  int destination = 0;  // node
  Bytes bytes;
  Seconds busy;  // time in which bytes of the hop were in flight
  // What the sender's transport says of that time, where it knows: held back by the receiving program, or by
  // the sending one. A hop that was held back says little about its wire.
  Seconds receiver_limited;
  Seconds sender_limited;
  std::uint64_t retransmits = 0;
  std::optional<Seconds> latency;  // smallest round trip seen
  int source_rank = -1, destination_rank = -1;
  std::vector<RailReading> rails{};  // by rail, where the world tells them apart; empty: it does not

  // Bytes per second while it carried; nullopt where nothing moved.
  std::optional<double> rate() const {
    const double value = (bytes / busy).value;
    return bytes.value > 0 && busy.value > 0 && std::isfinite(value) ? std::optional(value) : std::nullopt;
  }
};

// What a node's ports carried meanwhile that was not of the experiment, as their own counters tell.
struct OthersTraffic {
  double sends = 0, receives = 0;  // bytes per second, over all of its ports that the experiment uses
  // Of which by rail, where that is known. One job may have one NIC: the hop's slices on it are late, and all
  // wait for them.
  std::vector<double> sends_by_rail{}, receives_by_rail{};

  double most() const { return std::max(sends, receives); }
  void add(const OthersTraffic& more, double share) {
    sends += share * more.sends, receives += share * more.receives;
    add(sends_by_rail, more.sends_by_rail, share), add(receives_by_rail, more.receives_by_rail, share);
  }
  // What all rails carried, did each carry as much as the busiest: so much a hop may lack.
  double sends_at_most() const { return at_most(sends, sends_by_rail); }
  double receives_at_most() const { return at_most(receives, receives_by_rail); }

 private:
  static void add(std::vector<double>& to, const std::vector<double>& more, double share) {
    to.resize(std::max(to.size(), more.size()));
    for (std::size_t k = 0; k < more.size(); ++k) to[k] += share * more[k];
  }
  static double at_most(double sum, const std::vector<double>& by_rail) {
    if (by_rail.empty()) return sum;
    return std::max(sum, double(by_rail.size()) * *std::ranges::max_element(by_rail));
  }
};

struct Observation {
  Experiment experiment;
  Seconds time;  // of one iteration: the median of the slowest ranks' times
  std::vector<HopReading> hops;
  // Share of the time in which the ranks' threads were running, mean over the ranks, 0..1. Near 1 the
  // programs are the limit, whatever the wires could do. 0: unknown.
  double cpu_busy = 0;
  // How the counters of each node's devices changed meanwhile, by name of the node; where they could be read.
  std::map<std::string, run::CounterWindow> counters{};
  // The ports that RDMA went through, by name of the node; empty where none did.
  std::map<std::string, std::vector<RdmaPort>> rails{};
  std::vector<std::vector<double>> times{};  // by rank and sample: seconds of one call
  std::map<int, OthersTraffic> others{};     // by node; one that is not there: none, or nobody knows

  OthersTraffic others_of(int node) const {
    const auto at = others.find(node);
    return at == others.end() ? OthersTraffic() : at->second;
  }
};

// What is known of how the nodes hang together. All of it may be empty: unknown.
struct Structure {
  std::vector<int> leaf;        // by node: the switch, or group of switches, that it hangs below; -1: unknown
  int spines = 0;               // paths between two leaves; 0: unknown
  double oversubscription = 1;  // of a leaf's downlinks over its uplinks
  bool guessed = false;         // the leaves, from round trips (infer/leaf_guess.h)
  // Round trips between all nodes are alike: all are below one switch, or each below a leaf of its own.
  bool all_alike = false;
  // By node: bytes per second that its ports can do, as their drivers say, whatever they do now. They tell
  // generations of NICs; 0: unknown.
  std::vector<double> port_rates{};
  std::shared_ptr<const NodeRoutes> routes{};  // of these nodes; nullptr: unknown
  bool one_machine = false;  // no cable or switch is between them: processors and memory carry the data

  // By the number of a leaf: what whoever told it calls it; empty: it has a number alone.
  std::vector<std::string> leaf_names{};

  std::string leaf_name(int number) const {
    return number >= 0 && std::size_t(number) < leaf_names.size() ? leaf_names[std::size_t(number)]
                                                                  : "leaf " + std::to_string(number);
  }
  bool crosses(int a, int b) const { return !leaf.empty() && leaf[std::size_t(a)] != leaf[std::size_t(b)]; }
};

class Measurer {
 public:
  virtual ~Measurer() = default;
  virtual int nodes() const = 0;
  virtual std::string name(int node) const = 0;
  virtual Structure structure() const { return {}; }
  virtual int ranks_a_node() const { return most_ranks_a_node; }  // of an experiment, at most
  // Hops whose ways are not those of structure() any more, or not known any more, where each has its own.
  // What they have read says nothing of trunks then. Asked after all experiments.
  virtual std::vector<std::pair<int, int>> changed_ways() { return {}; }
  virtual Result<Observation> measure(const Experiment& experiment) = 0;
  // Whether further experiments are possible after one that failed.
  virtual bool outlives_failures() const { return true; }
};

}  // namespace ringtrue::diagnosis
