#include "collective/omnireduce/block_worker.h"

namespace ringtrue::collective {

BlockWorker::BlockWorker(Endpoint& self, const Call& call)
    : OmniWorker(self, call), columns_of_(used_), columns_(std::size_t(used_) * shape_.fusion()) {
  for (std::uint32_t j = 0; j < used_; ++j) {
    const std::uint32_t count = shape_.columns_of(j);
    columns_of_[j].open = all_columns(count);
    for (std::uint32_t c = 0; c < count; ++c) column(j, c).rows = shape_.rows_of(j, c);
  }
}

// The columns whose wanted row is my next one. In the first round all of them: the first block of a column is
// sent whatever it holds.
std::uint64_t BlockWorker::wanted_and_held(std::uint32_t index) const {
  std::uint64_t mask = 0;
  for_each_column(columns_of_[index].open, [&](std::uint32_t c) {
    if (column(index, c).held == column(index, c).wanted) mask |= column_bit(c);
  });
  return mask;
}

// Looks for the non-zero rows after those that are about to be sent.
bool BlockWorker::seek_next(std::uint32_t index) {
  Columns& stream = columns_of_[index];
  stream.mine = wanted_and_held(index);
  const std::uint64_t known = non_zero_.known();
  for_each_column(stream.mine, [&](std::uint32_t c) {
    Column& column = this->column(index, c);
    std::uint64_t block = shape_.block(index, c, ++column.held);
    while (column.held < column.rows && block < known && !non_zero_[block]) {
      ++column.held;
      block += shape_.columns();
    }
    if (column.held >= column.rows) {
      column.held = no_row;
    } else if (block >= known) {
      column.sought = true;
      ++stream.sought;
      ++sought_;
    }
  });
  return stream.sought == 0;
}

void BlockWorker::look_at(std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t columns = shape_.columns();
  auto row = std::uint32_t(begin / columns);
  std::uint64_t at = begin % columns;
  for (std::uint64_t block = begin; block < end && sought_ > 0; ++block) {
    if (at < columns_.size() && columns_[at].sought && row >= columns_[at].held && non_zero_[block]) {
      column_found(std::uint32_t(at / shape_.fusion()), columns_[at], row);
    }
    if (++at == columns) {
      at = 0;
      ++row;
    }
  }
  if (end < shape_.blocks()) return;
  for (std::size_t i = 0; i < columns_.size() && sought_ > 0; ++i) {
    if (columns_[i].sought) column_found(std::uint32_t(i / shape_.fusion()), columns_[i], no_row);
  }
}

void BlockWorker::column_found(std::uint32_t index, Column& column, std::uint32_t row) {
  column.held = row;
  column.sought = false;
  --sought_;
  if (--columns_of_[index].sought == 0) found(index);
}

std::span<const std::byte> BlockWorker::compose(std::uint32_t index, bool mine, std::vector<Slice>& parts) {
  OmniHeader packet;
  packet.kind = OmniHeader::Kind::blocks;
  packet.stream = std::uint16_t(index);
  packet.round = round(index);
  packet.mask = mine ? columns_of_[index].mine : 0;
  for_each_column(packet.mask, [&](std::uint32_t c) { packet.row[c] = column(index, c).held; });
  const auto row_of = [&](std::uint32_t c) { return column(index, c).wanted; };
  for_each_run(packet.mask, row_of, [&](std::uint32_t c, std::uint32_t count) {
    parts.push_back(shape_.slice(shape_.block(index, c, row_of(c)), count));
  });
  packets_.counts().blocks += std::uint64_t(std::popcount(packet.mask));
  return {header_.data(), encode(packet, HeaderBytes(header_))};
}

std::optional<PacketStart> BlockWorker::read(std::span<const std::byte> header) {
  const std::optional<OmniHeader> packet = decode(header);
  if (!packet || packet->kind != OmniHeader::Kind::result) return std::nullopt;
  packet_ = *packet;
  return PacketStart{packet_.stream, packet_.round};
}

bool BlockWorker::fits(std::uint32_t index) const {
  if (packet_.mask != columns_of_[index].open) return false;
  bool possible = true;
  for_each_column(packet_.mask, [&](std::uint32_t c) {
    const Column& mine = column(index, c);
    const std::uint32_t row = packet_.row[c];
    possible = possible && row > mine.wanted && row <= mine.held && (row < mine.rows || row == no_row);
  });
  return possible;
}

void BlockWorker::put(std::uint32_t index, Rank, std::vector<PacketPart>& parts) {
  const auto row_of = [&](std::uint32_t c) { return column(index, c).wanted; };
  for_each_run(packet_.mask, row_of, [&](std::uint32_t c, std::uint32_t count) {
    parts.push_back({shape_.slice(shape_.block(index, c, row_of(c)), count), false});
  });
}

bool BlockWorker::take(std::uint32_t index, Rank) {
  std::uint64_t& open = columns_of_[index].open;
  for_each_column(packet_.mask, [&](std::uint32_t c) {
    column(index, c).wanted = packet_.row[c];
    if (packet_.row[c] == no_row) open &= ~column_bit(c);
  });
  return open != 0;
}

}  // namespace ringtrue::collective
