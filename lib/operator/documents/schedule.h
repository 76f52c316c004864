// The steps of an algorithm on paper.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "collective/double_tree.h"
#include "collective/recorder.h"
#include "operator/documents/run.h"

namespace ringtrue::ops {

struct ScheduleDocument {
  collective::AlgorithmId algorithm{};
  int ranks = 0;
  std::uint64_t bytes = 0;
  std::vector<std::vector<collective::TreeRole>> trees;  // double-tree: two, each by rank
  bool steps_omitted = false;
  // Calls its argument for every step, rank by rank. There may be millions: they are never held at once.
  std::function<void(const collective::Recorder::Sink&)> each_step;
};

using BlockIndex = std::uint64_t;

// A block of a worker's packet or of a result, and the one that is next in that column: of the worker, or as
// the aggregator wants it; nothing: there is none.
struct ExplainBlock {
  BlockIndex block = 0;
  std::optional<BlockIndex> next;
  bool zeros = false;  // a worker's, sent because it is the column's first
  // Of a result: whose blocks are in the sum, and by worker what is next there, as far as the aggregator
  // knows.
  std::vector<int> workers{};
  std::vector<std::optional<BlockIndex>> nexts{};
};

// What a rank does in a round: each worker, then the aggregator, whose multicast ends it.
struct ExplainStep {
  enum class Kind : std::uint8_t {
    send,    // a worker's blocks
    answer,  // a packet without blocks
    silent,  // no packet
    multicast,
  };
  std::uint64_t stream = 0, round = 0;
  int rank = 0, aggregator = 0;
  Kind kind = Kind::send;
  std::vector<ExplainBlock> blocks{};
};

struct ExplainDocument {
  collective::Omni omni;
  std::uint64_t blocks = 0, element_bytes = 4;
  std::vector<std::vector<bool>> bitmaps;  // by worker
  std::vector<ExplainStep> steps;          // by stream, then round
  OmniCounts counts;
  bool steps_omitted = false;
};

}  // namespace ringtrue::ops

namespace ringtrue {

template <>
inline constexpr const char* keys_of<ops::ExplainStep::Kind>[] = {"send", "answer", "silent", "multicast"};

}  // namespace ringtrue
