#include "collective/omnireduce/aggregator.h"

#include <algorithm>
#include <array>
#include <string>

namespace ringtrue::collective {

OmniAggregator::OmniAggregator(Endpoint& self, const Call& call)
    : self_(self), packets_(*self.packets()), omni_(call.omni), shape_(call), reliable_(packets_.reliable()) {
  for (Rank w = 0; w < omni_.workers; ++w) workers_.push_back(w);
  std::vector<std::uint32_t> mine;
  for (std::uint32_t j = 0; j < shape_.streams() && shape_.columns_of(j) > 0; ++j) {
    if (shape_.aggregator_of(j) == self.rank()) mine.push_back(j);
  }
  slots_ = std::vector<Slot>(mine.size());
  columns_.resize(mine.size() * omni_.fusion);
  next_.resize(columns_.size() * workers_.size(), 0);
  seen_.resize(mine.size() * workers_.size(), 0);
  std::uint64_t scratch = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    Slot& slot = slots_[i];
    slot.stream = mine[i];
    slot.columns = shape_.columns_of(mine[i]);
    slot.open = all_columns(slot.columns);
    slot.scratch = scratch;
    slot.left = omni_.workers;
    scratch += 2 * slot.columns * shape_.block_bytes();
    for (std::uint32_t c = 0; c < slot.columns; ++c) column(i, c).rows = shape_.rows_of(slot.stream, c);
  }
  if (!reliable_) {
    heard_.resize(workers_.size(), packets_.now());
    ticker_ = std::make_unique<Ticker>(self, [this] { return look_for_silence(); });
  }
}

Task OmniAggregator::run() {
  for (Slot& slot : slots_) {
    clear(slot);
    if (!reliable_) slot.began = packets_.now();
  }
  packets_.handle(this);
  if (ticker_) ticker_->start(silence);
  if (omni_.acked) {
    for (const Rank w : workers_) farewells_.push_back(self_.receive(w, farewell_lane, Slice{}));
  }
  {
    Group all;
    for (std::size_t i = 0; i < slots_.size(); ++i) all.add(serve(i));
    co_await all;
  }
  // Until then a worker may still ask for the last result of a slot.
  for (const Token token : farewells_) co_await self_.wait(token);
  packets_.handle(nullptr);
  for (Slot& slot : slots_) {
    for (const Token token : slot.sent) co_await self_.wait(token);
    for (const auto& again : slot.again) co_await self_.wait(again.second);
  }
  if (ticker_) {
    const Task stopped = ticker_->stop();
    co_await stopped;
  }
}

// Round by round: when every worker that has one of the wanted blocks has sent it, send the sums to all and
// say which blocks come next.
Task OmniAggregator::serve(std::size_t index) {
  Slot& slot = slots_[index];
  for (std::uint64_t rounds = 1; slot.open != 0; ++rounds) {
    co_await slot.complete.reaches(rounds);
    const OmniHeader result = finish_round(index);
    ++slot.round;
    if (slot.open != 0) {
      // Who gets this result may answer at once, into the version that holds the result before it. All who
      // had to have that one have answered it.
      const Token before = slot.sent[slot.round % 2];
      co_await self_.wait(before);
      for (const auto& again : slot.again) co_await self_.wait(again.second);
      slot.again.clear();
      clear(slot);
    }
    begin_round(index);
    send_result(index, result);
  }
}

// The sums are complete; the smallest next row of all workers is the one wanted next.
OmniHeader OmniAggregator::finish_round(std::size_t index) {
  Slot& slot = slots_[index];
  OmniHeader result;
  result.kind = OmniHeader::Kind::result;
  result.stream = std::uint16_t(slot.stream);
  result.round = slot.round;
  result.mask = slot.open;
  slot.parts.clear();
  const auto row_of = [&](std::uint32_t c) { return column(index, c).row; };
  for_each_run(slot.open, row_of,
               [&](std::uint32_t c, std::uint32_t count) { slot.parts.push_back(sum(index, c, count)); });
  for_each_column(result.mask, [&](std::uint32_t c) {
    packets_.conclude(sum(index, c, 1), omni_.workers - column(index, c).present);
    result.row[c] = no_row;
    for (const Rank w : workers_) result.row[c] = std::min(result.row[c], next_[next_at(index, c, w)]);
    if (result.row[c] == no_row) slot.open &= ~column_bit(c);
  });
  if (packets_.wants_rounds()) report(index, result);
  for_each_column(result.mask, [&](std::uint32_t c) { column(index, c).row = result.row[c]; });
  return result;
}

void OmniAggregator::begin_round(std::size_t index) {
  Slot& slot = slots_[index];
  for (std::uint32_t c = 0; c < slot.columns; ++c) column(index, c).present = 0;
  slot.left = 0;
  for (const Rank w : workers_) {
    seen_[seen_at(index, w)] = 0;
    if (omni_.acked || due(index, w) != 0) ++slot.left;
  }
  if (!reliable_) slot.began = packets_.now();
  slot.collecting = true;
}

void OmniAggregator::send_result(std::size_t index, const OmniHeader& result) {
  Slot& slot = slots_[index];
  std::array<std::byte, max_header_bytes> bytes;
  const std::span<const std::byte> header(bytes.data(), encode(result, HeaderBytes(bytes)));
  if (!reliable_) slot.header.assign(header.begin(), header.end());
  ++packets_.counts().multicasts;
  slot.sent[result.round % 2] = packets_.send_packet(workers_, header, slot.parts);
}

void OmniAggregator::send_again(Slot& slot, Rank to) {
  const auto last =
      std::find_if(slot.again.begin(), slot.again.end(), [to](const auto& sent) { return sent.first == to; });
  if (last != slot.again.end() && !self_.done(last->second)) return;  // it is on its way
  ++packets_.counts().resent;
  const Token token = packets_.send_packet({&to, 1}, slot.header, slot.parts);
  if (last != slot.again.end()) {
    last->second = token;
  } else {
    slot.again.emplace_back(to, token);
  }
}

void OmniAggregator::clear(const Slot& slot) {
  for_each_run(
      slot.open, [](std::uint32_t) { return 0; },
      [&](std::uint32_t c, std::uint32_t count) {
        packets_.neutral({Space::scratch, sum_at(slot, c), count * shape_.block_bytes()});
      });
}

Slice OmniAggregator::sum(std::size_t index, std::uint32_t first, std::uint32_t count) const {
  const Slot& slot = slots_[index];
  const std::uint64_t block = shape_.block(slot.stream, first, column(index, first).row);
  return {Space::scratch, sum_at(slot, first), shape_.slice(block, count).length};
}

void OmniAggregator::report(std::size_t index, const OmniHeader& result) {
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
std::uint64_t OmniAggregator::due(std::size_t index, Rank worker) const {
  std::uint64_t mask = 0;
  for_each_column(slots_[index].open, [&](std::uint32_t c) {
    if (next_[next_at(index, c, worker)] == column(index, c).row) mask |= column_bit(c);
  });
  return mask;
}

Placed OmniAggregator::reject() {
  if (reliable_) return Placed::broken;
  ++packets_.counts().dropped;
  return Placed::dropped;
}

// Whether it is the worker's packet of this round, with the blocks that it announced.
bool OmniAggregator::fits(std::size_t index, const OmniHeader& packet, Rank from) const {
  const Slot& slot = slots_[index];
  if (slot.open == 0 || !slot.collecting || packet.round != slot.round || seen_[seen_at(index, from)] ||
      packet.mask != due(index, from) || (packet.mask == 0 && !omni_.acked)) {
    return false;
  }
  bool possible = true;
  for_each_column(packet.mask, [&](std::uint32_t c) {
    const std::uint32_t row = packet.row[c];
    possible = possible && row > column(index, c).row && (row < column(index, c).rows || row == no_row);
  });
  return possible;
}

Placed OmniAggregator::place(Rank from, std::span<const std::byte> header, std::vector<PacketPart>& parts) {
  const std::optional<OmniHeader> packet = decode(header);
  if (!packet || packet->kind != OmniHeader::Kind::blocks || packet->stream >= shape_.streams() ||
      shape_.columns_of(packet->stream) == 0 || shape_.aggregator_of(packet->stream) != self_.rank() ||
      from < 0 || from >= omni_.workers) {
    return reject();
  }
  const std::size_t index = index_of(packet->stream);
  Slot& slot = slots_[index];
  if (!reliable_) {
    heard_[std::size_t(from)] = packets_.now();
    // A packet of the round before: this worker has not got the result.
    if (slot.collecting && slot.round > 0 && packet->round == slot.round - 1) send_again(slot, from);
  }
  if (!fits(index, *packet, from)) return reject();
  seen_[seen_at(index, from)] = 1;
  const auto row_of = [&](std::uint32_t c) { return column(index, c).row; };
  for_each_run(packet->mask, row_of, [&](std::uint32_t c, std::uint32_t count) {
    parts.push_back({sum(index, c, count), true});
  });
  return Placed::accepted;
}

void OmniAggregator::arrived(Rank from, std::span<const std::byte> header) {
  const std::optional<OmniHeader> packet = decode(header);
  const std::size_t index = index_of(packet->stream);
  for_each_column(packet->mask, [&](std::uint32_t c) {
    next_[next_at(index, c, from)] = packet->row[c];
    ++column(index, c).present;
  });
  Slot& slot = slots_[index];
  if (--slot.left > 0) return;
  slot.collecting = false;
  slot.complete.raise();  // the program may end in it
}

Rank OmniAggregator::waiting_for() const {
  std::vector<std::uint32_t> owed(workers_.size(), 0);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].open == 0 || !slots_[i].collecting) continue;
    for (const Rank w : workers_) owed[std::size_t(w)] += missing(i, w);
  }
  const auto max_owed = std::max_element(owed.begin(), owed.end());
  if (*max_owed > 0) return Rank(max_owed - owed.begin());
  for (std::size_t w = 0; w < farewells_.size(); ++w) {
    if (!self_.done(farewells_[w])) return Rank(w);
  }
  return -1;
}

Seconds OmniAggregator::look_for_silence() {
  const Seconds now = packets_.now();
  const Rank silent = given_up_ ? -1 : silent_worker(now);
  if (silent >= 0) {
    given_up_ = true;
    packets_.give_up(silent, "the worker has sent nothing for " + to_text(silence));
  }
  return silence * 0.125;
}

// A worker that a round waits for. If nobody at all is heard, it is this rank that is cut off, and no worker
// is to blame.
Rank OmniAggregator::silent_worker(Seconds now) const {
  const auto quiet = [&](Rank w, Seconds since) {
    return now - std::max(heard_[std::size_t(w)], since) > silence;
  };
  const bool heard = std::any_of(workers_.begin(), workers_.end(),
                                 [&](Rank w) { return now - heard_[std::size_t(w)] < silence * 0.5; });
  if (!heard) return -1;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].open == 0 || !slots_[i].collecting) continue;
    for (const Rank w : workers_) {
      if (missing(i, w) && quiet(w, slots_[i].began)) return w;
    }
  }
  return -1;
}

}  // namespace ringtrue::collective
