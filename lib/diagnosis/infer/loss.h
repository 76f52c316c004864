// Packets that were lost on the way, from what the ports at both ends of RDMA count, and of TCP from what its
// senders sent again. To lose some is how TCP finds its rate: there it is a fault only where the rate
// suffers.
//
// Of lost packets of data the receiving port counts what is out of sequence and the sending port the negative
// acknowledgement that answers it. In an experiment in which each node sends to one other alone, both counts
// are those of one pair. So losses are told by pair, and whose link loses follows from how they are spread:
// of all paths, sides and nodes the one is named under which the counts are likeliest, where its pairs lose
// at one rate and all others at another. What is spread over all is nobody's, and neither does what was
// lost in one burst: without the worst experiment the rest must show it too. Of TCP, which loses some
// everywhere, it must be most of all losses, in three quarters of at least three experiments.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/counters.h"
#include "diagnosis/findings/report.h"
#include "diagnosis/infer/inference.h"
#include "diagnosis/measurer.h"

namespace ringtrue::diagnosis {

using Rails = std::map<std::string, std::vector<RdmaPort>>;  // by name of the node

// Lost packets over those sent. Ethernet's own errors stay below 1e-7; from one in ten thousand on RoCE's
// rate suffers, from one in a hundred it collapses.
inline constexpr double loss_warning = 1e-4, loss_critical = 1e-2;
inline constexpr double min_losses = 20;  // over a check; fewer may be chance

struct Lost {
  double lost = 0, packets = 0;
  double share() const { return packets > 0 ? lost / packets : 0; }
  Lost operator+(const Lost& o) const { return {lost + o.lost, packets + o.packets}; }
  Lost operator-(const Lost& o) const { return {lost - o.lost, packets - o.packets}; }
};

// What is likeliest to lose.
struct Culprit {
  Scope scope;  // without names
  Lost inside;  // of its pairs
  // Another one is nearly as likely: more packets between other pairs would tell.
  std::optional<Scope> alternative;
};

class Losses {
 public:
  // `segment`: bytes that TCP carries in a packet.
  explicit Losses(double segment = 1448) : segment_(segment) {}
  // Of RDMA, experiments in which a node sends to several at once say nothing.
  void add(const Observation& observation, const std::vector<std::string>& nodes, int run);
  void add(int source, int destination, Lost lost, int run);
  Lost all() const;
  // nullopt: few losses, or nothing stands out.
  std::optional<Culprit> culprit() const;
  // Whether most experiments show it, and most losses are its own.
  bool steady(const Culprit& culprit) const;

 private:
  struct Seen {
    int source = 0, destination = 0, run = 0;
    Lost lost;
  };
  std::map<int, Lost> by_run(const Scope& scope) const;
  bool repeated(const Culprit& culprit) const;

  double segment_;
  std::vector<Seen> seen_;
};

// How a place did: what a quarter of its readings reach.
struct Pace {
  double rate = 0, reference = 0;  // bytes per second; 0: unknown
  double share() const { return reference > 0 ? rate / reference : 0; }
};

// Adds what loses packets to `diagnosis` and raises its verdict: as evidence to a finding of slowness that
// names the same node, else as a finding of its own ("lossy-sender", "lossy-receiver", "lossy-node",
// "lossy-path"), with the counters of both ends' ports by their own names. Where losses are many and nobody
// stands out: to not_checked. Slow paths that are all of one end which loses are that end's. Without rails,
// of TCP: where `pace` of the place is below `warning`.
void add_losses(const Losses& losses, const Windows& windows, const Rails& rails,
                const std::function<Pace(const Scope&)>& pace, const Thresholds& thresholds,
                Diagnosis& diagnosis);
// Whether a pair of nodes is part of a path, a side or a node.
bool covers(const Scope& scope, int source, int destination);

}  // namespace ringtrue::diagnosis
