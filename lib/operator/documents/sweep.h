// Every pair of nodes (sweep), or every GPU (sweep --gpu).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/sweep/gpu_limits.h"
#include "operator/documents/trouble.h"
#include "run/counter_window.h"
#include "run/rdma.h"

namespace ringtrue::ops {

struct SweepEnd {
  std::string node;
  std::optional<run::RdmaPort> port;  // nullopt: whatever the transport takes
  bool operator==(const SweepEnd&) const = default;
};

struct SweepPair {
  SweepEnd source, destination;
  Maybe rate_Bps;   // a port to itself: of both of its flows together
  Maybe latency_s;  // as SweepDocument::latency_origin has it
  Maybe ratio;      // of rate_Bps: over what it is held against
  // By node: what was no traffic, of its port or its rails, while the pair was measured.
  std::map<std::string, run::CounterWindow> counters;
  std::string error{};  // why it has no numbers; empty: it has
};

struct SweepDocument {
  std::vector<run::Network> networks;  // that TCP's data goes over
  std::vector<std::string> nodes;
  std::uint64_t bytes = 0;
  std::string transport;
  Maybe expected_Bps;  // what a healthy link is held against: declared, or the median
  std::string expected_origin;
  std::vector<std::vector<Maybe>> rate_Bps;   // row sends to column; unknown on the diagonal
  std::vector<std::vector<Maybe>> latency_s;  // see latency_origin
  std::string latency_origin;                 // "smallest round trip (the kernel's)"
  std::vector<SweepEnd> ports;                // those that were measured by themselves
  std::vector<SweepPair> pairs;               // in the order of measurement
  long port_pairs = 0;                        // ordered pairs of these ports, of different nodes
  std::vector<std::string> notes;
  double warning = 0.95, critical = 0.85;
  std::optional<Trouble> error;

  long port_pairs_measured() const {
    return std::count_if(pairs.begin(), pairs.end(), [](const SweepPair& p) {
      return p.source.port && p.source.node != p.destination.node && p.rate_Bps;
    });
  }
};

// What GPUs and the ways to them carry.
struct GpuSweepDocument {
  std::vector<std::string> nodes;
  std::uint64_t bytes = 0;  // of a copy
  diagnosis::GpuLimits limits;
  std::vector<std::string> notes;
  double warning = 0.95, critical = 0.85;
  std::optional<Trouble> error;
  bool interrupted = false;  // not all was measured, or looked at
};

}  // namespace ringtrue::ops
