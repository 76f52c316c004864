// How long a sparse allreduce can take: OmniReduce's model beside the ring's and the sparse all-gather's.
// Pure functions of sizes and rates.
//
// N workers of S bytes each, A aggregators, every node with one port of B bytes per second each way; a: one
// message's latency; D, Du: the shares of the blocks that are not zero on the densest worker and on any.
//   ring         2(N-1) (a + S / (N B))
//   dedicated    a + max(D, Du) max(1, N/A) S / B      Fei et al., SIGCOMM 2021, for A = N and D = Du; else:
//                a worker sends D S and receives Du S, an aggregator receives N/A of the one and sends N/A
//                of the other
//   colocated    a + max over ports and directions of the bytes / B. Aggregator i is on the node of worker
//                i mod N; with k aggregators a node
//                  sends     D (1 - k/A) + Du k (N-1)/A      and receives    Du (1 - k/A) + D k (N-1)/A
//                of S; for A = N both are (N-1)/N (D + Du)
//   all-gather   (N-1) (a + 2 D S / B)                 of values and as many bytes of indices
// Only the share `payload` of a packet of OmniReduce is values: B is that much less for it.
//   on the wire  2a + (2N-1) P/B + the same load x S / (B payload), every density d as d + (1-d) F
// The last counts what the model leaves out: the way back; headers; F, the share of the blocks that are the
// first of their columns, which go out whatever they hold; and packets of P bytes, of which all workers' pass
// an aggregator's port before the first result and after the last block. For blocks dealt evenly over
// columns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace ringtrue::ideal {

struct OmniInputs {
  int workers = 1;           // N
  int aggregators = 1;       // A
  double density = 1;        // D
  double density_union = 1;  // Du
  Bytes bytes;               // S
  BytesPerSecond rate;       // B
  Seconds latency;           // a
  double payload = 1;        // share of a packet, 0 < payload <= 1; see payload_share()
  double first = 0;          // F
  Bytes packet;              // P
};

struct OmniTime {
  Seconds time;
  std::optional<double> speedup;  // over the ring; nullopt where either takes no time
  std::string arithmetic;         // "a + max(D, Du) x max(1, N/A) x S/B = ... = 53.7 ms"
};

struct OmniModel {
  OmniTime ring, dedicated, colocated, all_gather;
};

// Errors: bad_input for fewer than one worker or aggregator, densities outside [0, 1] or Du < D, a rate or a
// payload that is none.
Result<OmniModel> omnireduce_model(const OmniInputs& inputs);

// On the wire; errors as above, and an F that is not a share.
Result<Seconds> omnireduce_on_the_wire(const OmniInputs& inputs, bool colocated);

// Blocks of `block_bytes`, `fusion` of them in a packet: with a header of 16 bytes, 4 a block, and what the
// transport puts around a packet.
double payload_share(std::uint64_t block_bytes, std::uint32_t fusion, std::uint64_t around_packet = 0);

// Du of workers whose blocks are drawn independently: 1 - (1 - D)^N. Eight workers: 1 % becomes 7.7 %.
double union_of_random(double density, int workers);

}  // namespace ringtrue::ideal
