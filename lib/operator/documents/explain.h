// An omnireduce as it happened, stream by stream and round by round, for those who want to understand it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ringtrue::ops {

using BlockIndex = std::uint64_t;

// A block in a worker's packet, and the one that the worker has next in that column; nothing: it has no more.
struct ExplainBlock {
  BlockIndex block = 0;
  std::optional<BlockIndex> next;
  bool zeros = false;  // sent because it is the column's first
};

// What a worker does in a round: no blocks is an empty answer where it `answers`, else silence.
struct ExplainPacket {
  int worker = 0;
  bool answers = true;
  std::vector<ExplainBlock> blocks;
};

// What the aggregator makes of a column.
struct ExplainSum {
  BlockIndex block = 0;
  std::vector<int> workers;                      // whose blocks are in the sum
  std::vector<std::optional<BlockIndex>> nexts;  // by worker, as far as the aggregator knows
  std::optional<BlockIndex> wanted;              // the least of them; nothing: the column is done
};

struct ExplainRound {
  std::uint64_t stream = 0, round = 0;
  int aggregator = 0;  // rank
  std::vector<ExplainPacket> packets;
  std::vector<ExplainSum> sums;  // multicast together
};

struct ExplainDocument {
  int workers = 0, aggregators = 0;
  std::uint64_t blocks = 0, block = 1, element_bytes = 4, streams = 1, fusion = 1;
  bool acked = false;
  std::vector<std::vector<bool>> bitmaps;  // by worker
  std::vector<ExplainRound> rounds;        // by stream, then round
  std::vector<std::uint64_t> worker_packets, worker_blocks;
  std::uint64_t multicasts = 0;
  bool steps_omitted = false;
};

}  // namespace ringtrue::ops
