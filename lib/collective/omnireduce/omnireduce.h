// OmniReduce (Fei et al., SIGCOMM 2021): streaming aggregation that sends only the blocks which are not zero.
// docs/omnireduce.md tells the protocol.
//
// Ranks 0 .. workers-1 are workers, the following ones aggregators. The data is cut into blocks of `block`
// elements, the last one shorter. Block k lies in column k mod (streams x fusion); stream j owns the columns
// j x fusion .. j x fusion + fusion - 1 and is served by aggregator j mod aggregators.
//
// Of pairs (call.omni.pairs > 0) a stream has one column, and its values travel as a list, sorted by their
// keys: the elements' indices.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "collective/algorithm.h"
#include "collective/packets.h"

namespace ringtrue::collective {

inline constexpr std::uint32_t max_fusion = 64, max_streams = 4096, max_pairs = 4096;

// Names of a call's places. All in blocks unless said otherwise.
class OmniShape {
 public:
  explicit OmniShape(const Call& call);

  std::uint64_t blocks() const { return blocks_; }
  std::uint64_t columns() const { return columns_; }  // streams x fusion, also those without blocks
  std::uint32_t streams() const { return streams_; }  // also those without blocks
  std::uint32_t fusion() const { return fusion_; }
  // Columns of stream j that have blocks; 0: there is nothing to do for it.
  std::uint32_t columns_of(std::uint32_t stream) const;
  // Blocks of a column.
  std::uint32_t rows_of(std::uint32_t stream, std::uint32_t column) const;
  std::uint64_t block_bytes() const { return block_bytes_; }  // of all blocks but the last
  // Whether all of the rising elements lie in the stream's blocks.
  bool owns(std::uint32_t stream, std::span<const std::uint64_t> elements) const;
  Rank aggregator_of(std::uint32_t stream) const { return Rank(workers_ + stream % aggregators_); }
  std::uint64_t block(std::uint32_t stream, std::uint32_t column, std::uint64_t row) const {
    return row * columns_ + std::uint64_t(stream) * fusion_ + column;
  }
  Slice slice(std::uint64_t first_block, std::uint64_t count) const;  // of the data

 private:
  std::uint64_t blocks_, columns_, block_, block_bytes_, elements_, bytes_;
  std::uint32_t streams_, fusion_;
  std::uint32_t workers_, aggregators_;
};

// One rank's program, worker or aggregator. The endpoint must have packets().
Task omnireduce(Endpoint& self, const Call& call);

// Bytes of scratch. Blocks: an aggregator's slots, two versions each. Pairs: an aggregator's slots, with the
// values of one packet of each worker and two results; a worker's packet of each stream, and a result of each
// aggregator.
std::uint64_t omnireduce_scratch(const Layout& layout, Rank rank, const Call& call);

// Every worker with every aggregator, on packet_lane (and farewell_lane where call.omni.acked).
std::vector<Edge> omnireduce_edges(const Layout& layout, Rank rank, const Call& call);

// Bytes of the longest packet, header and payload, and of the longest header.
std::uint64_t max_packet(const Call& call);
std::uint64_t max_header(const Call& call);

// Bad input: no workers or aggregators, a layout of other ranks, a shape out of its limits.
Result<void> check_omni(const Layout& layout, const Call& call);

}  // namespace ringtrue::collective
