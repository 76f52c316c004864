// A worker that sends blocks: runs of its data, where one of their values is not zero.
#pragma once

#include <array>
#include <vector>

#include "collective/omnireduce/worker.h"

namespace ringtrue::collective {

class BlockWorker final : public OmniWorker {
 public:
  BlockWorker(Endpoint& self, const Call& call);  // both outlive it

 private:
  struct Column {
    std::uint32_t wanted = 0;  // the row of this round; no_row: the column is done
    std::uint32_t held = 0;  // this worker's next non-zero row; while it is sought: the first that may be it
    std::uint32_t rows = 0;
    bool sought = false;
  };
  struct Columns {             // of a stream
    std::uint64_t open = 0;    // those that are not done
    std::uint64_t mine = 0;    // those whose blocks are being sent
    std::uint32_t sought = 0;  // how many
  };

  bool holds_wanted(std::uint32_t stream) const override { return wanted_and_held(stream) != 0; }
  bool seek_next(std::uint32_t stream) override;
  void look_at(std::uint64_t begin, std::uint64_t end) override;
  std::span<const std::byte> compose(std::uint32_t stream, bool mine, std::vector<Slice>& parts) override;
  std::optional<PacketStart> read(std::span<const std::byte> header) override;
  bool fits(std::uint32_t stream) const override;
  void put(std::uint32_t stream, Rank from, std::vector<PacketPart>& parts) override;
  bool take(std::uint32_t stream, Rank from) override;

  std::uint64_t wanted_and_held(std::uint32_t stream) const;
  void column_found(std::uint32_t stream, Column& column, std::uint32_t row);
  Column& column(std::uint32_t stream, std::uint32_t c) {
    return columns_[std::size_t(stream) * shape_.fusion() + c];
  }
  const Column& column(std::uint32_t stream, std::uint32_t c) const {
    return columns_[std::size_t(stream) * shape_.fusion() + c];
  }

  std::vector<Columns> columns_of_;  // by stream
  std::vector<Column> columns_;
  std::uint64_t sought_ = 0;  // columns, over all streams
  OmniHeader packet_;         // read()
  std::array<std::byte, max_block_header_bytes> header_;
};

}  // namespace ringtrue::collective
