#include "collective/omnireduce/worker.h"

#include <algorithm>
#include <array>

namespace ringtrue::collective {

namespace {

std::uint32_t used_streams(const OmniShape& shape) {
  std::uint32_t used = 0;
  while (used < shape.streams() && shape.columns_of(used) > 0) ++used;
  return used;
}

}  // namespace

OmniWorker::OmniWorker(Endpoint& self, const Call& call)
    : self_(self),
      packets_(*self.packets()),
      non_zero_(packets_.non_zero()),
      omni_(call.omni),
      shape_(call),
      reliable_(packets_.reliable()),
      used_(used_streams(shape_)),
      streams_(used_),
      columns_(std::size_t(used_) * shape_.fusion()) {
  for (std::uint32_t j = 0; j < used_; ++j) {
    const std::uint32_t count = shape_.columns_of(j);
    streams_[j].open = all_columns(count);
    for (std::uint32_t c = 0; c < count; ++c) column(j, c).rows = shape_.rows_of(j, c);
  }
  parts_.reserve(max_packet_parts);
  if (!reliable_) resender_ = std::make_unique<Resender>(self, shape_, omni_.workers, omni_.aggregators);
}

Task OmniWorker::run() {
  packets_.handle(this);
  if (resender_) resender_->start();
  {
    Group all;
    for (std::uint32_t j = 0; j < used_; ++j) all.add(stream(j));
    all.add(find_blocks());
    co_await all;
  }
  if (resender_) {
    const Task stopped = resender_->stop();
    co_await stopped;
  }
  if (omni_.acked) {
    // The aggregators need no longer keep results for us.
    std::vector<Token> told;
    for (Rank a = 0; a < omni_.aggregators; ++a) {
      told.push_back(self_.send(omni_.workers + a, farewell_lane, Slice{}));
    }
    for (const Token token : told) co_await self_.wait(token);
  }
  packets_.handle(nullptr);
}

// Round by round: if my next non-zero block is the one that is wanted, send it and say which one follows.
Task OmniWorker::stream(std::uint32_t index) {
  Stream& self = streams_[index];
  std::uint64_t results = 0;
  while (self.open != 0) {
    const std::uint64_t mine = wanted_and_held(index);
    if (mine != 0 || omni_.acked) {
      const bool known = seek_next(index, mine);
      if (!known) co_await self.found.reaches(++self.searches);
      if (resender_) {
        co_await self_.wait(resender_->sent(index));
        co_await resender_->admitted(index);
      } else {
        co_await self_.wait(self.sent);
      }
      send(index, mine);
    }
    self.listening = true;
    co_await self.results.reaches(++results);
  }
  const Token last = resender_ ? resender_->sent(index) : self.sent;
  co_await self_.wait(last);
}

// Runs ahead of the streams and beside them.
Task OmniWorker::find_blocks() {
  const std::uint64_t blocks = shape_.blocks();
  while (non_zero_.known() < blocks) {
    const std::uint64_t before = non_zero_.known();
    non_zero_.look_further();
    tell_found(before, non_zero_.known());
    const Token idle = packets_.idle();
    co_await self_.wait(idle);
  }
}

// The columns whose wanted row is my next one. In the first round all of them: the first block of a column is
// sent whatever it holds.
std::uint64_t OmniWorker::wanted_and_held(std::uint32_t index) const {
  std::uint64_t mask = 0;
  for_each_column(streams_[index].open, [&](std::uint32_t c) {
    if (column(index, c).held == column(index, c).wanted) mask |= column_bit(c);
  });
  return mask;
}

// Looks for the non-zero rows after those of `mask` that are about to be sent. False: the search goes on in
// find_blocks(), which raises the stream's gate at its end.
bool OmniWorker::seek_next(std::uint32_t index, std::uint64_t mask) {
  Stream& stream = streams_[index];
  const std::uint64_t known = non_zero_.known();
  for_each_column(mask, [&](std::uint32_t c) {
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

// Blocks [begin, end) were looked at.
void OmniWorker::tell_found(std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t columns = shape_.columns();
  auto row = std::uint32_t(begin / columns);
  std::uint64_t at = begin % columns;
  for (std::uint64_t block = begin; block < end && sought_ > 0; ++block) {
    if (at < columns_.size() && columns_[at].sought && row >= columns_[at].held && non_zero_[block]) {
      found(std::uint32_t(at / shape_.fusion()), columns_[at], row);
    }
    if (++at == columns) {
      at = 0;
      ++row;
    }
  }
  if (end < shape_.blocks()) return;
  for (std::size_t i = 0; i < columns_.size() && sought_ > 0; ++i) {
    if (columns_[i].sought) found(std::uint32_t(i / shape_.fusion()), columns_[i], no_row);
  }
}

void OmniWorker::found(std::uint32_t index, Column& column, std::uint32_t row) {
  column.held = row;
  column.sought = false;
  --sought_;
  if (--streams_[index].sought == 0) streams_[index].found.raise();
}

void OmniWorker::send(std::uint32_t index, std::uint64_t mask) {
  OmniHeader packet;
  packet.kind = OmniHeader::Kind::blocks;
  packet.stream = std::uint16_t(index);
  packet.round = streams_[index].round;
  packet.mask = mask;
  for_each_column(mask, [&](std::uint32_t c) { packet.row[c] = column(index, c).held; });
  parts_.clear();
  const auto row_of = [&](std::uint32_t c) { return column(index, c).wanted; };
  for_each_run(mask, row_of, [&](std::uint32_t c, std::uint32_t count) {
    parts_.push_back(shape_.slice(shape_.block(index, c, row_of(c)), count));
  });
  std::array<std::byte, max_header_bytes> bytes;
  const std::span<const std::byte> header(bytes.data(), encode(packet, HeaderBytes(bytes)));

  PacketCounts& counts = packets_.counts();
  ++counts.packets;
  counts.blocks += std::uint64_t(std::popcount(mask));
  if (resender_) {
    resender_->send(index, header, parts_);
  } else {
    const Rank to = shape_.aggregator_of(index);
    streams_[index].sent = packets_.send_packet({&to, 1}, header, parts_);
  }
}

// Nobody sends what does not fit; a duplicate or a late packet does not either, where there can be such.
Placed OmniWorker::reject() {
  if (reliable_) return Placed::broken;
  ++packets_.counts().dropped;
  return Placed::dropped;
}

bool OmniWorker::sends(const OmniHeader& packet, Rank from) const {
  return packet.kind == OmniHeader::Kind::result && packet.stream < used_ &&
         shape_.aggregator_of(packet.stream) == from;
}

// Whether it is the result that the stream waits for, and asks for nothing impossible.
bool OmniWorker::fits(const OmniHeader& packet) const {
  const Stream& stream = streams_[packet.stream];
  if (!stream.listening || packet.round != stream.round || packet.mask != stream.open) return false;
  bool possible = true;
  for_each_column(packet.mask, [&](std::uint32_t c) {
    const Column& mine = column(packet.stream, c);
    const std::uint32_t row = packet.row[c];
    possible = possible && row > mine.wanted && row <= mine.held && (row < mine.rows || row == no_row);
  });
  return possible;
}

Placed OmniWorker::place(Rank from, std::span<const std::byte> header, std::vector<PacketPart>& parts) {
  const std::optional<OmniHeader> packet = decode(header);
  if (!packet || !sends(*packet, from)) return reject();
  if (resender_) resender_->heard(from);
  if (!fits(*packet)) return reject();
  streams_[packet->stream].listening = false;
  const auto row_of = [&](std::uint32_t c) { return column(packet->stream, c).wanted; };
  for_each_run(packet->mask, row_of, [&](std::uint32_t c, std::uint32_t count) {
    parts.push_back({shape_.slice(shape_.block(packet->stream, c, row_of(c)), count), false});
  });
  return Placed::accepted;
}

void OmniWorker::arrived(Rank, std::span<const std::byte> header) {
  const std::optional<OmniHeader> packet = decode(header);
  const std::uint32_t index = packet->stream;
  Stream& stream = streams_[index];
  ++stream.round;
  for_each_column(packet->mask, [&](std::uint32_t c) {
    column(index, c).wanted = packet->row[c];
    if (packet->row[c] == no_row) stream.open &= ~column_bit(c);
  });
  if (resender_) resender_->answered(index);
  stream.results.raise();  // the program may end in it
}

Rank OmniWorker::waiting_for() const {
  std::vector<std::uint32_t> owed(std::size_t(omni_.aggregators), 0);
  for (std::uint32_t j = 0; j < used_; ++j) {
    if (streams_[j].open != 0 && streams_[j].listening) ++owed[j % std::uint32_t(omni_.aggregators)];
  }
  const auto max_owed = std::max_element(owed.begin(), owed.end());
  return *max_owed > 0 ? Rank(omni_.workers + (max_owed - owed.begin())) : -1;
}

}  // namespace ringtrue::collective
