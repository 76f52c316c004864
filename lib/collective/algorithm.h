// The list of algorithms, and what a world must know of one to play it.
//
// To add one: write lib/collective/NAME.cc with a coroutine in it, declare it below, add it to AlgorithmId
// (types.h) and to the table in algorithm.cc. The shared test suite then plays it in every world.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collective/endpoint.h"

namespace ringtrue::collective {

// A connection that a transport has to make for this rank: it sends to or receives from `peer` on `lane`.
struct Edge {
  Rank peer = 0;
  Lane lane = 0;
  auto operator<=>(const Edge&) const = default;
};

struct Algorithm {
  AlgorithmId id;
  std::string_view summary;  // one line for --help
  // One rank's program. The endpoint and the call outlive it.
  Task (*program)(Endpoint&, const Call&);
  // Bytes of scratch that this rank needs.
  std::uint64_t (*scratch_bytes)(const Layout&, Rank, const Call&);
  bool allreduce;  // false for pairwise: the result is the neighbour's data
  // The connections of an algorithm whose messages depend on the data, so that it cannot be recorded; nullptr
  // for all others.
  std::vector<Edge> (*edges)(const Layout&, Rank, const Call&) = nullptr;
  std::string_view name = key_of(id);  // as typed: "double-tree"

  bool uses_packets() const { return edges != nullptr; }
};

std::span<const Algorithm> algorithms();
Result<const Algorithm*> find_algorithm(std::string_view name);  // the error lists the names
const Algorithm& algorithm_of(AlgorithmId id);                   // of all but barrier

// The edges of one rank, rising, without doubles, whatever the size of the call (found by recording a call
// that is large enough for all of them to occur). The barrier's edges are not among them.
std::vector<Edge> edges_of(const Algorithm& algorithm, const Layout& layout, Rank rank, const Call& call);

Task ring(Endpoint& self, const Call& call);
Task double_tree(Endpoint& self, const Call& call);
Task recursive_doubling(Endpoint& self, const Call& call);
Task halving_doubling(Endpoint& self, const Call& call);
Task hierarchical(Endpoint& self, const Call& call);
Task two_shot(Endpoint& self, const Call& call);
Task one_shot(Endpoint& self, const Call& call);
Task naive(Endpoint& self, const Call& call);
Task pairwise(Endpoint& self, const Call& call);
// Dissemination barrier: nobody leaves before all have come. Zero bytes; lane `barrier_lane`.
Task barrier(Endpoint& self);

inline constexpr Lane barrier_lane = 0xffff;

}  // namespace ringtrue::collective
