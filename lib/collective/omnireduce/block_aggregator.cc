#include "collective/omnireduce/block_aggregator.h"

#include <algorithm>
#include <array>

namespace ringtrue::collective {

BlockAggregator::BlockAggregator(Endpoint& self, const Call& call)
    : OmniAggregator(self, call),
      columns_of_(slots_.size()),
      columns_(slots_.size() * omni_.fusion),
      next_(columns_.size() * workers_.size(), 0) {
  std::uint64_t scratch = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::uint32_t stream = slots_[i].stream, count = shape_.columns_of(stream);
    columns_of_[i] = {count, scratch, all_columns(count)};
    scratch += 2 * count * shape_.block_bytes();
    for (std::uint32_t c = 0; c < count; ++c) column(i, c).rows = shape_.rows_of(stream, c);
  }
}

void BlockAggregator::clear(std::size_t index) {
  for_each_run(
      columns_of_[index].open, [](std::uint32_t) { return 0; },
      [&](std::uint32_t c, std::uint32_t count) {
        packets_.neutral({Space::scratch, sum_at(index, c), count * shape_.block_bytes()});
      });
}

// The sums are complete; the smallest next row of all workers is the one wanted next.
void BlockAggregator::finish_round(std::size_t index) {
  Slot& slot = slots_[index];
  std::uint64_t& open = columns_of_[index].open;
  OmniHeader result;
  result.kind = OmniHeader::Kind::result;
  result.stream = std::uint16_t(slot.stream);
  result.round = slot.round;
  result.mask = open;
  slot.parts.clear();
  const auto row_of = [&](std::uint32_t c) { return column(index, c).row; };
  for_each_run(open, row_of,
               [&](std::uint32_t c, std::uint32_t count) { slot.parts.push_back(sum(index, c, count)); });
  for_each_column(result.mask, [&](std::uint32_t c) {
    packets_.conclude(sum(index, c, 1), omni_.workers - column(index, c).present);
    result.row[c] = no_row;
    for (const Rank w : workers_) result.row[c] = std::min(result.row[c], next_[next_at(index, c, w)]);
    if (result.row[c] == no_row) open &= ~column_bit(c);
  });
  if (packets_.wants_rounds()) report(index, result);
  for_each_column(result.mask, [&](std::uint32_t c) { column(index, c).row = result.row[c]; });
  slot.open = open != 0;
  std::array<std::byte, max_block_header_bytes> bytes;
  slot.header.assign(bytes.begin(), bytes.begin() + std::ptrdiff_t(encode(result, HeaderBytes(bytes))));
}

void BlockAggregator::begin_round(std::size_t index) {
  for (std::uint32_t c = 0; c < columns_of_[index].count; ++c) column(index, c).present = 0;
}

Slice BlockAggregator::sum(std::size_t index, std::uint32_t first, std::uint32_t count) const {
  const std::uint64_t block = shape_.block(slots_[index].stream, first, column(index, first).row);
  return {Space::scratch, sum_at(index, first), shape_.slice(block, count).length};
}

void BlockAggregator::report(std::size_t index, const OmniHeader& result) {
  RoundSeen round;
  round.stream = result.stream;
  round.round = result.round;
  for_each_column(result.mask, [&](std::uint32_t c) {
    const std::uint32_t next = result.row[c];
    round.blocks.push_back(shape_.block(result.stream, c, column(index, c).row));
    round.wanted.push_back(next == no_row ? no_block : shape_.block(result.stream, c, next));
    round.present.push_back(column(index, c).present);
  });
  packets_.seen(round);
}

// The columns whose wanted row the worker said it would send.
std::uint64_t BlockAggregator::due_columns(std::size_t index, Rank worker) const {
  std::uint64_t mask = 0;
  for_each_column(columns_of_[index].open, [&](std::uint32_t c) {
    if (next_[next_at(index, c, worker)] == column(index, c).row) mask |= column_bit(c);
  });
  return mask;
}

std::optional<PacketStart> BlockAggregator::read(std::span<const std::byte> header) {
  const std::optional<OmniHeader> packet = decode(header);
  if (!packet || packet->kind != OmniHeader::Kind::blocks) return std::nullopt;
  packet_ = *packet;
  return PacketStart{packet_.stream, packet_.round};
}

// With the blocks that the worker announced.
bool BlockAggregator::fits(std::size_t index, Rank from) const {
  if (packet_.mask != due_columns(index, from) || (packet_.mask == 0 && !omni_.acked)) return false;
  bool possible = true;
  for_each_column(packet_.mask, [&](std::uint32_t c) {
    const std::uint32_t row = packet_.row[c];
    possible = possible && row > column(index, c).row && (row < column(index, c).rows || row == no_row);
  });
  return possible;
}

void BlockAggregator::put(std::size_t index, Rank, std::vector<PacketPart>& parts) {
  const auto row_of = [&](std::uint32_t c) { return column(index, c).row; };
  for_each_run(packet_.mask, row_of, [&](std::uint32_t c, std::uint32_t count) {
    parts.push_back({sum(index, c, count), true});
  });
}

void BlockAggregator::take(std::size_t index, Rank from) {
  for_each_column(packet_.mask, [&](std::uint32_t c) {
    next_[next_at(index, c, from)] = packet_.row[c];
    ++column(index, c).present;
  });
}

}  // namespace ringtrue::collective
