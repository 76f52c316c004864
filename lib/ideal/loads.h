// How much of a call each algorithm puts through the busiest port, from its schedule alone.
//
// For long calls every algorithm here is pipelined in slices, so its time is that of its busiest port:
//   T = max( inter x S / I, intra x S / B ),
// or, where rounds inside nodes and rounds between them take turns, the sum, less what of them goes on at
// once:
//   T = inter x S / I + intra x S / B - min( both.inter x S / I, both.intra x S / B )
// with S the bytes of the call, I a node's one-way rate to the network and B a GPU's one-way rate inside its
// node; ports are full duplex, and the busier direction counts. Latency is left out: these are ideals.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "collective/types.h"

namespace ringtrue::ideal {

// In units of S, the bytes of the call.
struct Loads {
  double inter = 0;  // through the busiest node's network port
  double intra = 0;  // through the busiest GPU's port inside its node
  struct Part {
    double inter = 0, intra = 0;
  };
  std::optional<Part> both{};  // they take turns, but for these parts
};

// Seconds for a call of one byte, where both rates are above zero.
double seconds_a_byte(const Loads& loads, double inter, double intra);

// Q nodes of P GPUs each, ranks contiguous by node, N = P x Q.
struct Shape {
  int nodes = 1;          // Q
  int gpus_per_node = 1;  // P
  long ranks() const { return long(nodes) * gpus_per_node; }
};

struct Schedule {
  collective::AlgorithmId algorithm;
  // nullopt where the algorithm does not apply to the shape.
  std::optional<Loads> (*loads)(const Shape&);
  std::string_view formula;   // of the loads, for display
  std::string_view not_here;  // why loads() gave nullopt
};

// Sources of the formulas, N ranks:
//   ring                2(N-1)/N everywhere: N chunks, N-1 steps of reduce-scatter and N-1 of all-gather.
//   double-tree         over nodes 1, 1.5, 2 for Q = 2, 3, >= 4 (Sanders, Speck, Traff 2009, in NCCL's shape:
//   at
//                       most two children over both trees); a chain inside the node, whose middle passes all
//                       data up and all down: 2, or 1 for P = 2 which has no middle.
//   recursive-doubling  each of log2 N steps sends all of S; ranks beyond a power of two fold in before and
//                       get the result after (Thakur, Rabenseifner, Gropp 2005).
//   halving-doubling    Rabenseifner 2004: reduce-scatter by vector halving, distance doubling, then the
//                       mirror; the same fold. Of these two, no rank sends to another node before the round
//                       inside its node has given it the data, so rounds take turns (2^n ranks on 2^m nodes;
//                       others are taken to overlap): of recursive doubling a whole round flows into the
//                       next, of halving-doubling half of the last round inside, there and back, because the
//                       half that one of two partners sends first is what it has got last.
//   hierarchical        reduce-scatter inside, ring between same-index GPUs, all-gather inside, overlapped:
//                       2(Q-1)/Q between nodes and 2(P-1)/P inside: exactly the bound.
//   two-shot            each rank sends a P-th to every other, twice: 2(P-1)/P; one node only.
//   one-shot            each rank sends all of S to every other: N-P a rank to other nodes, P-1 inside: 2B/P
//                       on one node.
//   naive               everything into rank 0 and out again: N-1.
//   pairwise            1: rank r sends S to rank r+1.
std::span<const Schedule> schedules();

// Bytes that all ranks together send in a call of one byte; of an omnireduce with as many aggregators as
// workers, whose data decide, at most so many.
double sent_by_all(collective::AlgorithmId algorithm, long ranks);

// busbw = algbw x factor (nccl-tests, PERFORMANCE.md): 2(N-1)/N for every allreduce, 1 for pairwise.
// 0 for an allreduce over one rank, which moves nothing: its busbw is unknown, not zero.
double busbw_factor(collective::AlgorithmId algorithm, long ranks);

}  // namespace ringtrue::ideal
