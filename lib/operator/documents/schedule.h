// The steps of an algorithm on paper.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "collective/recorder.h"

namespace ringtrue::ops {

struct TreeNode {
  int rank = 0;
  std::optional<int> parent;
  std::vector<int> children;
};

struct StepRow {
  int rank = 0;
  std::uint32_t step = 0;
  collective::Step::Kind kind{};
  int peer = 0, lane = 0;
  bool scratch = false;
  std::uint64_t offset = 0, length = 0;
};

struct ScheduleDocument {
  collective::AlgorithmId algorithm{};
  int ranks = 0;
  std::uint64_t bytes = 0;
  std::vector<std::vector<TreeNode>> trees;  // double-tree: two
  bool steps_omitted = false;
  // Calls its argument for every step, rank by rank. There may be millions: they are never held at once.
  std::function<void(const std::function<void(const StepRow&)>&)> each_step;
};

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
