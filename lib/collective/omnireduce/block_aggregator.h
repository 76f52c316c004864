// An aggregator of blocks: a slot adds up one block of each of its stream's columns, each round in the
// version of the slot that the last but one has left.
#pragma once

#include <vector>

#include "collective/omnireduce/aggregator.h"

namespace ringtrue::collective {

class BlockAggregator final : public OmniAggregator {
 public:
  BlockAggregator(Endpoint& self, const Call& call);  // both outlive it

 private:
  struct Column {
    std::uint32_t row = 0;  // of this round
    std::uint32_t rows = 0;
    Rank present = 0;  // workers whose blocks are in the sum
  };
  struct Columns {  // of a slot
    std::uint32_t count = 0;
    std::uint64_t scratch = 0;  // offset of the slot's two versions
    std::uint64_t open = 0;     // those that are not done
  };

  void clear(std::size_t slot) override;
  void finish_round(std::size_t slot) override;
  void begin_round(std::size_t slot) override;
  bool due(std::size_t slot, Rank worker) const override { return due_columns(slot, worker) != 0; }
  std::optional<PacketStart> read(std::span<const std::byte> header) override;
  bool fits(std::size_t slot, Rank from) const override;
  void put(std::size_t slot, Rank from, std::vector<PacketPart>& parts) override;
  void take(std::size_t slot, Rank from) override;

  void report(std::size_t slot, const OmniHeader& result);
  std::uint64_t due_columns(std::size_t slot, Rank worker) const;
  Column& column(std::size_t slot, std::uint32_t c) { return columns_[slot * omni_.fusion + c]; }
  const Column& column(std::size_t slot, std::uint32_t c) const { return columns_[slot * omni_.fusion + c]; }
  std::size_t next_at(std::size_t slot, std::uint32_t c, Rank worker) const {
    return (slot * workers_.size() + std::size_t(worker)) * omni_.fusion + c;
  }
  // Where the blocks of neighbouring columns in one row are summed up.
  Slice sum(std::size_t slot, std::uint32_t first, std::uint32_t count) const;
  std::uint64_t sum_at(std::size_t slot, std::uint32_t column) const {
    const Columns& all = columns_of_[slot];
    return all.scratch + (slots_[slot].round % 2 * std::uint64_t(all.count) + column) * shape_.block_bytes();
  }

  std::vector<Columns> columns_of_;  // by slot
  std::vector<Column> columns_;      // by slot and column
  std::vector<std::uint32_t> next_;  // by slot, worker and column: its next non-zero row
  OmniHeader packet_;                // read()
};

}  // namespace ringtrue::collective
