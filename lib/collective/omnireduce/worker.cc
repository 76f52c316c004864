#include "collective/omnireduce/worker.h"

#include <algorithm>

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
      used_(used_streams(shape_)),
      reliable_(packets_.reliable()),
      streams_(used_) {
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

// Round by round: if I hold what is wanted, send it and say what I hold after it.
Task OmniWorker::stream(std::uint32_t index) {
  Stream& self = streams_[index];
  std::uint64_t results = 0;
  while (self.open) {
    const bool mine = holds_wanted(index);
    if (mine || omni_.acked) {
      const bool known = !mine || seek_next(index);
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
    look_at(before, non_zero_.known());
    const Token idle = packets_.idle();
    co_await self_.wait(idle);
  }
}

void OmniWorker::send(std::uint32_t index, bool mine) {
  parts_.clear();
  const std::span<const std::byte> header = compose(index, mine, parts_);
  ++packets_.counts().packets;
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

Placed OmniWorker::place(Rank from, std::span<const std::byte> header, std::vector<PacketPart>& parts) {
  const std::optional<PacketStart> packet = read(header);
  if (!packet || packet->stream >= used_ || shape_.aggregator_of(packet->stream) != from) return reject();
  if (resender_) resender_->heard(from);
  Stream& stream = streams_[packet->stream];
  if (!stream.listening || packet->round != stream.round || !fits(packet->stream)) return reject();
  stream.listening = false;
  put(packet->stream, from, parts);
  return Placed::accepted;
}

void OmniWorker::arrived(Rank from, std::span<const std::byte> header) {
  const std::uint32_t index = read(header)->stream;
  Stream& stream = streams_[index];
  ++stream.round;
  stream.open = take(index, from);
  if (resender_) resender_->answered(index);
  stream.results.raise();  // the program may end in it
}

Rank OmniWorker::waiting_for() const {
  std::vector<std::uint32_t> owed(std::size_t(omni_.aggregators), 0);
  for (std::uint32_t j = 0; j < used_; ++j) {
    if (streams_[j].open && streams_[j].listening) ++owed[j % std::uint32_t(omni_.aggregators)];
  }
  const auto max_owed = std::max_element(owed.begin(), owed.end());
  return *max_owed > 0 ? Rank(omni_.workers + (max_owed - owed.begin())) : -1;
}

}  // namespace ringtrue::collective
