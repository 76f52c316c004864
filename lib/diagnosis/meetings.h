// Who measures with whom in a sweep over RDMA: rounds in which each node meets one other at most, through one
// port each, so that no port is shared.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "diagnosis/measurer.h"

namespace ringtrue::diagnosis {

// Two ends that send to each other, both ways at once.
struct Meeting {
  int node = 0;
  int peer = 0;  // may be the same node
  // nullopt: all rails of both, as the transport chooses them.
  std::optional<std::pair<RdmaPort, RdmaPort>> ports{};
  bool operator==(const Meeting&) const = default;
};
using Round = std::vector<Meeting>;

using Ports = std::vector<std::vector<RdmaPort>>;  // by node

// Every node with every other, all rails together: n - 1 rounds, n where n is odd.
std::vector<Round> meet_nodes(int nodes);
// The same through single ports: the k-th port of one with the k-th of the other (`all` false), or every port
// with every port.
std::vector<Round> meet_ports(const Ports& ports, bool all);
// Each port with itself, then each two ports of a node.
std::vector<Round> meet_at_home(const Ports& ports);

// Ordered pairs of ports of different nodes.
long port_pairs(const Ports& ports);

// Rank r and rank r + half of the ranks are a meeting's two ends.
Experiment experiment_of(const Round& round, Bytes bytes, int iterations);

// Half of the round trip of an exchange: both send at once and wait for each other's message, so that both
// ends' times of a call together are one way there and one way back, whoever began first. The smallest of the
// samples' means; nullopt where a sample is missing.
std::optional<Seconds> one_way(const Observation& observation, std::size_t meeting);

}  // namespace ringtrue::diagnosis
