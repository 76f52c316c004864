// The shape of an omnireduce - block, streams, fusion, aggregators - from what the link can hold in flight.
//
// What is chosen, where the user fixes nothing (W workers, A aggregators, s bytes an element):
//   aggregators  as many as workers
//   block        256 elements, the paper's. Datagrams: with fusion, the pair of at most 256 elements that
//                fills the datagram best
//   fusion       packets of about 16 KiB: less work per byte, and slots that still turn around quickly
//   streams      at least two for each aggregator, so that it adds one slot while another is on the wire, and
//                as many as hold twice the bandwidth-delay product of a worker's share of the aggregators'
//                ports in flight: streams x packet >= 2 x rate x min(1, A/W) x round trip
// held back by
//   incast       all workers' packets into one aggregator's port drain within 20 ms, where the rate is known:
//                W x streams/A x packet <= rate x 20 ms; fusion gives way before streams
//   first rows   every column's first block is sent whatever it holds: columns <= blocks / 16, or where the
//                density is known blocks x density / 16 but no fewer than the bandwidth-delay product asks
//                for; dense data: columns <= blocks
// Pairs travel in packets as long as those of blocks, and have no first rows: there are no more streams than
// packets were all values there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "collective/types.h"

namespace ringtrue::collective {

struct Tuning {
  Rank workers = 1;
  Rank aggregators = 0;  // 0: as many as workers
  std::uint64_t elements = 0;
  Type type = Type::float32;
  std::optional<BytesPerSecond> rate;  // of a node's port; unknown: 10 Gbit/s is assumed for the streams
  Seconds round_trip{200e-6};          // between two nodes
  Seconds allowance{1e-3};             // for hosts that do not run a thread the moment its packet comes
  std::uint64_t datagram = 0;          // most bytes of a packet, its header included; 0: any length
  bool acked = false;                  // for Omni::acked; datagrams that may be lost need it
  std::optional<double> density;       // of blocks, all workers' together
  std::uint32_t key_bytes = 0;         // of (key, value) pairs; 0: blocks
  // Fixed by the user.
  std::optional<std::uint32_t> block, streams, fusion;
};

struct Tuned {
  Omni omni;
  std::vector<std::string> reasons;  // one line for each of aggregators, block, fusion, streams
};

// Errors, bad_input: no workers, a fixed value out of its limits, a block that no datagram holds.
Result<Tuned> tune(const Tuning& tuning);

}  // namespace ringtrue::collective
