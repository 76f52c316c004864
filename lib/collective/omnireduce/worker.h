// A worker's program: one coroutine a stream, one that finds non-zero blocks ahead of them, and, where
// packets may be lost, the care for those that nobody answers.
#pragma once

#include <memory>
#include <vector>

#include "collective/gate.h"
#include "collective/omnireduce/header.h"
#include "collective/omnireduce/omnireduce.h"
#include "collective/omnireduce/resend.h"

namespace ringtrue::collective {

class OmniWorker final : public PacketHandler {
 public:
  OmniWorker(Endpoint& self, const Call& call);  // both outlive it

  Task run();

  Placed place(Rank from, std::span<const std::byte> header, std::vector<PacketPart>& parts) override;
  void arrived(Rank from, std::span<const std::byte> header) override;
  Rank waiting_for() const override;

 private:
  struct Column {
    std::uint32_t wanted = 0;  // the row of this round; no_row: the column is done
    std::uint32_t held = 0;  // this worker's next non-zero row; while it is sought: the first that may be it
    std::uint32_t rows = 0;
    bool sought = false;
  };
  struct Stream {
    std::uint32_t round = 0;     // whose result comes next
    std::uint64_t open = 0;      // columns that are not done
    bool listening = false;      // that result may come
    std::uint32_t sought = 0;    // columns
    std::uint64_t searches = 0;  // that were not over at once
    Gate found, results;
    Token sent;
  };

  Task stream(std::uint32_t index);
  Task find_blocks();

  std::uint64_t wanted_and_held(std::uint32_t index) const;
  bool seek_next(std::uint32_t index, std::uint64_t mask);
  void tell_found(std::uint64_t begin, std::uint64_t end);
  void found(std::uint32_t index, Column& column, std::uint32_t row);
  void send(std::uint32_t index, std::uint64_t mask);

  Column& column(std::uint32_t index, std::uint32_t c) {
    return columns_[std::size_t(index) * shape_.fusion() + c];
  }
  const Column& column(std::uint32_t index, std::uint32_t c) const {
    return columns_[std::size_t(index) * shape_.fusion() + c];
  }
  bool sends(const OmniHeader& packet, Rank from) const;
  bool fits(const OmniHeader& packet) const;
  Placed reject();

  Endpoint& self_;
  Packets& packets_;
  NonZeroBlocks& non_zero_;
  const Omni omni_;
  const OmniShape shape_;
  const bool reliable_;
  std::uint32_t used_ = 0;  // streams that have columns: the first ones
  std::vector<Stream> streams_;
  std::vector<Column> columns_;
  std::uint64_t sought_ = 0;  // columns, over all streams
  std::vector<Slice> parts_;
  std::unique_ptr<Resender> resender_;  // only where packets may be lost
};

}  // namespace ringtrue::collective
