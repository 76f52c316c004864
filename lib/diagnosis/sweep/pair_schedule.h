// Who measures with whom in a sweep over RDMA: rounds in which each node meets one other at most, through one
// port each, so that no port is shared.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "diagnosis/measurer.h"

namespace ringtrue::diagnosis {

// Two ends that send to each other, both ways at once.
struct PairTest {
  int node = 0;
  int peer = 0;  // may be the same node
  // nullopt: all rails of both, as the transport chooses them.
  std::optional<std::pair<RdmaPort, RdmaPort>> ports{};
  bool operator==(const PairTest&) const = default;
};
using Round = std::vector<PairTest>;

using Ports = std::vector<std::vector<RdmaPort>>;  // by node

// Every node with every other, all rails together: n - 1 rounds, n where n is odd.
std::vector<Round> pair_nodes(int nodes);
// The same through single ports: each with the one of its name, and the others in their order (`all` false);
// or every port with every port.
std::vector<Round> pair_ports(const Ports& ports, bool all);
// Each port with itself, then each two ports of a node.
std::vector<Round> loopback_pairs(const Ports& ports);

// Ordered pairs of ports of different nodes.
long port_pairs(const Ports& ports);

// Plays rounds so that a dead port costs no other one's numbers: a round that fails is played again, each
// test by itself, and an end that never met anybody, two that others can meet among them, is left alone
// from then on.
class PairSchedule {
 public:
  struct World {
    std::function<Result<void>(const Round&)> play;
    std::function<Result<void>()> renew;  // after a failure, before anything else is played
    std::function<void(const PairTest&, const Error&)> failed;
  };
  explicit PairSchedule(World world) : world_(std::move(world)) {}
  // Errors: a cancellation, and what renew() says.
  Result<void> play(const Round& round);

 private:
  using End = std::pair<int, std::optional<RdmaPort>>;
  static std::array<End, 2> ends_of(const PairTest& test);
  const Error* unreachable(const PairTest& test) const;
  bool has_met(const End& end) const;

  struct Record {
    bool met = false;
    std::set<End> missed;  // those that it did not meet
    Error last;
  };
  World world_;
  std::map<End, Record> ends_;
};

// Rank r and rank r + half of the ranks are a test's two ends.
Experiment experiment_of(const Round& round, Bytes bytes, int iterations);

// Half of the round trip of an exchange: both send at once and wait for each other's message, so that both
// ends' times of a call together are one way there and one way back, whoever began first. The smallest of the
// samples' means; nullopt where a sample is missing.
std::optional<Seconds> one_way(const Observation& observation, std::size_t test);

}  // namespace ringtrue::diagnosis
