// Where a diagnosis measures: over the daemons of the hosts, or between ranks of this process over loopback.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cmd/player.h"
#include "collective/fault.h"
#include "diagnosis/measurer.h"
#include "ideal/rates.h"

namespace ringtrue::cmd {

struct MeasurerFlags {
  PlayerOptions player;
  std::string fault;   // with --local: between "nodes", whatever the order of the ranks
  int warmup = 1;      // calls before those that are timed
  bool paced = false;  // with --local: hold every hop to local_pace()
  transport::verbs::Settings verbs{};
  std::string transport{};  // instead of the configured one
};

// What carries the data.
struct Carrier {
  std::string transport;                                          // "tcp", "verbs"
  std::map<std::string, std::vector<diagnosis::RdmaPort>> rails;  // of RDMA, by node
  std::map<std::string, std::string> gids;                        // of the first rail on Ethernet, by node
  int path_mtu = 0;                                               // bytes, of RDMA, the smallest; 0: unknown
  std::vector<std::string> notes;                                 // why it is not RDMA, a line each

  void pass(int mtu) {
    if (mtu > 0) path_mtu = path_mtu > 0 ? std::min(path_mtu, mtu) : mtu;
  }
};

class LiveMeasurer : public diagnosis::Measurer {
 public:
  // The nodes' part in the last failed measurement; empty where it was not theirs.
  virtual std::vector<report::Failure> failures() const = 0;
  // The first nodes; any others only aggregate.
  virtual int workers() const { return nodes(); }
  // What ran last: "tcp".
  virtual std::string transport() const = 0;
  // What everything will go over, before anything is measured: "auto" is RDMA where all nodes can, else TCP
  // for all, so that hops are alike. Plays a small exchange among these nodes (none: all), unless it is TCP
  // that was asked for.
  virtual Result<Carrier> settle(std::vector<int> who = {}) = 0;
  // From now on: see FleetMeasurer::end_by().
  virtual void end_by(Deadline end) = 0;
};

// What a program can reach of a link's nominal rate over this carrier.
ideal::Efficiency efficiency(const Carrier& carrier);

Played<std::unique_ptr<LiveMeasurer>> make_measurer(const Context& context, const MeasurerFlags& flags);

// Ranks of one process have no wires between them, only processors that they share: what a hop carries then
// says nothing, unless it is held to a rate that these processors reach with ease.
BytesPerSecond local_pace(int ranks);

// The faults between nodes, as faults between the ranks of a run over `order`.
std::string faults_by_rank(const std::vector<collective::Fault>& by_node, const std::vector<int>& order);

// Makes every hop that `experiment` uses as slow as `pace`, or as a throttle among `by_node` has it.
std::vector<collective::Fault> paced(const diagnosis::Experiment& experiment,
                                     const std::vector<collective::Fault>& by_node, BytesPerSecond pace);

}  // namespace ringtrue::cmd
