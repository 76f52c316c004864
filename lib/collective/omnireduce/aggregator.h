// An aggregator's program: one coroutine a slot. A slot adds up one block of each of its stream's columns,
// sends the sums to all workers and goes on with the blocks that come next.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "collective/gate.h"
#include "collective/omnireduce/header.h"
#include "collective/omnireduce/omnireduce.h"
#include "collective/omnireduce/ticker.h"

namespace ringtrue::collective {

class OmniAggregator final : public PacketHandler {
 public:
  OmniAggregator(Endpoint& self, const Call& call);  // both outlive it

  Task run();

  Placed place(Rank from, std::span<const std::byte> header, std::vector<PacketPart>& parts) override;
  void arrived(Rank from, std::span<const std::byte> header) override;
  Rank waiting_for() const override;

 private:
  // A worker that says nothing for so long while others do is given up: before the workers, who cannot know
  // whom a round waits for, give up the aggregator (Resender::silence).
  static constexpr Seconds silence{4};

  struct Column {
    std::uint32_t row = 0;  // of this round
    std::uint32_t rows = 0;
    Rank present = 0;  // workers whose blocks are in the sum
  };
  struct Slot {
    std::uint32_t stream = 0, columns = 0;
    std::uint64_t scratch = 0;  // offset of its two versions; round k is summed up in version k mod 2
    std::uint32_t round = 0;
    std::uint64_t open = 0;  // columns that are not done
    // False from the moment a round is complete until its result is sent: then versions change hands, and
    // nothing may come in or be sent again.
    bool collecting = true;
    Rank left = 0;  // workers whose packets are missing in this round
    Gate complete;
    Token sent[2];  // by version
    // The last result; a worker that missed it may ask again, where packets may be lost.
    std::vector<std::byte> header;
    std::vector<Slice> parts;
    std::vector<std::pair<Rank, Token>> again;
    Seconds began;  // the round
  };

  Task serve(std::size_t index);
  OmniHeader finish_round(std::size_t index);
  void begin_round(std::size_t index);
  void send_result(std::size_t index, const OmniHeader& result);
  void send_again(Slot& slot, Rank to);
  void clear(const Slot& slot);
  void report(std::size_t index, const OmniHeader& result);

  std::uint64_t due(std::size_t index, Rank worker) const;
  bool fits(std::size_t index, const OmniHeader& packet, Rank from) const;
  Placed reject();
  Seconds look_for_silence();
  Rank silent_worker(Seconds now) const;

  Column& column(std::size_t index, std::uint32_t c) { return columns_[index * omni_.fusion + c]; }
  const Column& column(std::size_t index, std::uint32_t c) const {
    return columns_[index * omni_.fusion + c];
  }
  std::size_t next_at(std::size_t index, std::uint32_t c, Rank worker) const {
    return (index * workers_.size() + std::size_t(worker)) * omni_.fusion + c;
  }
  std::size_t seen_at(std::size_t index, Rank worker) const {
    return index * workers_.size() + std::size_t(worker);
  }
  bool missing(std::size_t index, Rank worker) const {
    return !seen_[seen_at(index, worker)] && (omni_.acked || due(index, worker) != 0);
  }
  std::size_t index_of(std::uint32_t stream) const { return stream / std::uint32_t(omni_.aggregators); }
  // Where the blocks of neighbouring columns in one row are summed up.
  Slice sum(std::size_t index, std::uint32_t first, std::uint32_t count) const;
  std::uint64_t sum_at(const Slot& slot, std::uint32_t column) const {
    return slot.scratch + (slot.round % 2 * std::uint64_t(slot.columns) + column) * shape_.block_bytes();
  }

  Endpoint& self_;
  Packets& packets_;
  const Omni omni_;
  const OmniShape shape_;
  const bool reliable_;
  std::vector<Rank> workers_;
  std::vector<Slot> slots_;
  std::vector<Column> columns_;      // by slot and column
  std::vector<std::uint32_t> next_;  // by slot, worker and column: its next non-zero row
  std::vector<std::uint8_t> seen_;   // by slot and worker: its packet of this round was placed
  std::vector<Token> farewells_;     // by worker
  std::vector<Seconds> heard_;       // by worker: its last packet
  std::unique_ptr<Ticker> ticker_;   // only where packets may be lost
  bool given_up_ = false;
};

}  // namespace ringtrue::collective
