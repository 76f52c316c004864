#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "transport/verbs/channel.h"

namespace ringtrue::transport::verbs {

void Channel::send(std::uint64_t token, const std::byte* from, std::uint64_t length, bool more) {
  if (over_) return;
  Outgoing message;
  message.token = token;
  message.from = from;
  message.length = length;
  message.number = next_message_++;
  message.slices = std::max<std::uint64_t>(1, (length + setup_.slice_bytes - 1) / setup_.slice_bytes);
  message.posted = owner_.now();
  const faulty::Fate fate = script_.empty() ? faulty::Fate{} : script_.next(length, now_ns());
  if (fate.breaks) {
    ::shutdown(setup_.control, SHUT_RDWR);
    ++delayed_;  // for ever
    return lost("the connection was cut");
  }
  if (fate.vanishes) return owner_.post_done(token);
  if (busy_since_ == 0) busy_since_ = now_ns();
  if (fate.silent) {
    ++delayed_;
    return;
  }
  message.broken_frame = fate.broken_frame;
  if (fate.broken_value && length > 0) {
    message.broken.resize(length);
    if (const auto read = setup_.ranks.read(message.broken.data(), from, length); !read)
      return cannot_copy(read.error());
    message.broken[reducer_.element_bytes() - 1] ^= std::byte{0x41};
  }
  if (head_bytes + length <= std::uint64_t(max_inline_) && message.slices == 1 &&
      (length == 0 || !setup_.ranks.by_copier(from))) {
    message.way = Way::inlined;
  } else if (message.broken.empty() && setup_.own && setup_.own->holds(from, length)) {
    message.way = Way::direct;
  } else {
    message.way = Way::copied;
  }
  if (fate.not_before == 0) return enqueue(std::move(message), more);
  ++delayed_;
  loop_.at(fate.not_before, [this, message = std::move(message)] {
    --delayed_;
    enqueue(message, false);
  });
}

void Channel::enqueue(Outgoing message, bool more) {
  outgoing_.push_back(std::move(message));
  if (waiting_) return fail(*waiting_, true);
  if (!more) flush();
}

// Whoever hears that a message is gone may send the next one.
void Channel::flush() {
  if (flushing_) return;
  flushing_ = true;
  do finish_sent();
  while (write_some());
  flushing_ = false;
  settle();
}

bool Channel::write_some() {
  constexpr std::uint64_t long_copy = 16 * 1024;  // bytes: worth a doorbell, so that the next one overlaps it
  const std::uint64_t before = next_slice_;
  while (!over_ && write_slice()) {
    Sending& line = lines_[std::size_t((next_slice_ - 1) % lines_.size())];
    if (line.posted.back().staging >= 0 && line.batch.front().parts[0].bytes >= long_copy) post(line);
  }
  for (Sending& line : lines_) post(line);
  return !over_ && next_slice_ != before;
}

bool Channel::write_slice() {
  if (next_unwritten_ == outgoing_.size()) {
    limited_by(Limit::none);
    return false;
  }
  Outgoing& message = outgoing_[next_unwritten_];
  Sending& line = lines_[std::size_t(next_slice_ % lines_.size())];
  const bool copied = message.way == Way::copied;
  // A ring that is full of slices on their way shows a slow wire, not a slow receiver.
  const bool full = next_slice_ - acknowledged_ >= setup_.peer_slots;
  const bool no_room = room(line) < 2 || (copied && free_staging_.empty());
  limited_by(full ? unconfirmed_ == 0 ? Limit::credit : Limit::none : no_room ? Limit::queue : Limit::none);
  if (full || no_room) return false;
  if (message.moved == 0) message.moved = owner_.now();
  int staging = -1;
  if (copied) {
    staging = free_staging_.back();
    free_staging_.pop_back();
  }
  if (!build(line, message, staging)) return false;
  ++next_slice_;
  ++message.in_flight;
  if (++message.written == message.slices) ++next_unwritten_;
  return true;
}

// One write a slice; two where adaptive routing may reorder the payload.
bool Channel::build(Sending& line, const Outgoing& message, int slot) {
  const bool first = message.written == 0, last = message.written + 1 == message.slices;
  const std::uint64_t offset = message.written * setup_.slice_bytes;
  const auto bytes = std::uint32_t(std::min<std::uint64_t>(setup_.slice_bytes, message.length - offset));
  const std::byte* payload = (message.broken.empty() ? message.from : message.broken.data()) + offset;
  const std::uint32_t pool_key = setup_.staging_keys->local_key(line.device);
  std::uint32_t payload_key = pool_key;
  std::byte* head = head_place(line);
  if (message.way == Way::direct) payload_key = setup_.own->local_key(line.device);
  if (slot >= 0) {
    std::byte* const copy = staging(slot) + before_payload;
    if (const auto read = bytes > 0 ? setup_.ranks.read(copy, payload, bytes) : Result<void>(); !read) {
      cannot_copy(read.error());
      return false;
    }
    payload = copy;
    head = copy - head_bytes;
  }
  if (first) {
    auto encoded = encode(Head{message.length, message.number}, hop_.lane);
    if (message.broken_frame) encoded[1] ^= std::byte{0x40};
    std::memcpy(head, encoded.data(), head_bytes);
  }

  const std::uint64_t place =
      setup_.peer_ring + next_slice_ % setup_.peer_slots * setup_.peer_slot_bytes + before_payload;
  const bool apart = setup_.adaptive_routing_threshold > 0 &&
                     message.length >= setup_.adaptive_routing_threshold && message.way != Way::inlined;
  const auto add = [](Write& write, const std::byte* from, std::uint32_t count, std::uint32_t key) {
    if (count == 0) return;
    if (write.part_count == 1 && write.parts[0].from + write.parts[0].bytes == from &&
        write.parts[0].local_key == key) {
      write.parts[0].bytes += count;
    } else {
      write.parts[std::size_t(write.part_count++)] = {from, count, key};
    }
  };
  Write write;
  write.remote_address = place - (first ? head_bytes : 0);
  write.remote_key = line.ring_key;
  write.inlined = message.way == Way::inlined;
  if (apart) {
    Write alone = write;
    alone.remote_address = place;
    alone.work = ++line.written;
    add(alone, payload, bytes, payload_key);
    line.batch.push_back(alone);
  }
  if (first) add(write, head, head_bytes, pool_key);
  if (!apart) add(write, payload, bytes, payload_key);
  write.immediate =
      encode(Immediate{last ? Immediate::Kind::last : Immediate::Kind::slice, std::uint32_t(next_slice_)});
  write.work = ++line.written;
  const int writes = apart ? 2 : 1;
  writes_ += std::uint64_t(writes);
  line.unsignaled += writes;
  line.unsignaled_staging += slot >= 0;
  write.signaled = wants_signal(line, message);
  if (write.signaled) {
    line.unsignaled = line.unsignaled_staging = 0;
    ++unconfirmed_;
  }
  line.batch.push_back(write);
  Rail& rail = rails_[line.rail];
  const bool alone = rail.in_flight++ == 0;
  if (alone) rail.since = now_ns();
  constexpr std::uint32_t short_write = 4096;  // bytes: a packet
  const bool times = alone && write.signaled && !apart && bytes <= short_write;
  line.posted.push_back(
      {line.written, first_ + next_unwritten_, slot, write.signaled, bytes, times ? rail.since : 0});
  return true;
}

// A message's last write on each queue pair, where its memory is given back with its completion or nothing
// follows; the one that fills the ring, to know when it has arrived; and often enough that queue and staging
// never fill up without one under way.
// Of several rails each slice that is worth it, to know when which of them rests.
bool Channel::wants_signal(const Sending& line, const Outgoing& message) const {
  constexpr std::uint32_t worth_it = 32 * 1024;
  if (rails_.size() > 1 && setup_.slice_bytes >= worth_it) return true;
  const bool last_here = message.written + lines_.size() >= message.slices;
  if (last_here && (message.way == Way::direct || next_unwritten_ + 1 == outgoing_.size())) return true;
  if (next_slice_ + 1 - acknowledged_ >= setup_.peer_slots) return true;
  const auto staging_share = std::max<std::size_t>(1, setup_.staging_slots / (2 * lines_.size()));
  return line.unsignaled >= std::max(1, line.queues->sends() / 4) ||
         std::size_t(line.unsignaled_staging) >= staging_share;
}

void Channel::post(Sending& line) {
  if (line.batch.empty()) return;
  const auto posted = line.pair->post(line.batch);
  line.batch.clear();
  if (posted) return;
  fail(Error{posted.error().cause,
             fmt::format("rank {} cannot send to rank {} on {} through {}: {}", hop_.self, hop_.peer,
                         hop_.peer_node, to_text(line.port), posted.error().what),
             setup_.node, posted.error().next},
       true);
}

// There are as many as places in the send queues, so that none is in use twice.
std::byte* Channel::head_place(const Sending& line) const {
  const std::uint64_t sends = std::uint64_t(line.queues->sends());
  const auto number = std::uint64_t(&line - lines_.data());
  return staging(int(setup_.staging_slots)) + (number * sends + line.written % sends) * head_bytes;
}

void Channel::finish_sent() {
  for (std::size_t i = 0; i < next_unwritten_ && !over_; ++i) {
    Outgoing& message = outgoing_[i];
    if (message.over || (message.way == Way::direct && message.in_flight > 0)) continue;
    message.over = true;
    ++sent_.messages;
    sent_.bytes += message.length;
    record_sent(message.number, message.length, message.posted, message.moved);
    owner_.post_done(message.token);
  }
  for (; next_unwritten_ > 0 && outgoing_.front().over; --next_unwritten_, ++first_) outgoing_.pop_front();
}

void Channel::completed_send(Sending& line, const Completion& completion) {
  line.completed = completion.work;
  Rail& rail = rails_[line.rail];
  std::int64_t alone_since = 0;
  for (; !line.posted.empty() && line.posted.front().work <= completion.work; line.posted.pop_front()) {
    const Posted& slice = line.posted.front();
    if (slice.staging >= 0) free_staging_.push_back(slice.staging);
    if (slice.signaled) --unconfirmed_;
    // Another one may have been posted meanwhile, behind it.
    alone_since = slice.work == completion.work ? slice.alone_since : 0;
    --rail.in_flight;
    rail.bytes += slice.bytes;
    if (slice.message >= first_) --outgoing_[std::size_t(slice.message - first_)].in_flight;
  }
  const std::int64_t now = now_ns();
  const std::int64_t time = completion.time_ns ? line.clock.ours(*completion.time_ns, now) : now;
  if (alone_since > 0 && time > alone_since)
    min_rtt_ns_ = min_rtt_ns_ == 0 ? time - alone_since : std::min(min_rtt_ns_, time - alone_since);
  if (rail.in_flight == 0) rail.busy_ns += std::max<std::int64_t>(0, time - rail.since);
  last_completion_ = std::max(last_completion_, time);
  flush();
  give_credits();
}

void Channel::credited(std::uint32_t number) {
  const std::uint64_t fresh = (number - std::uint32_t(acknowledged_)) & number_mask;
  if (fresh > next_slice_ - acknowledged_)
    return corrupted(
        fmt::format("credits for {} slices where {} were sent", fresh, next_slice_ - acknowledged_));
  acknowledged_ += fresh;
  flush();
}

// For half a ring at a time. Where the queue is full it goes with the next completion.
void Channel::give_credits() {
  Sending& line = lines_.front();
  if (over_ || credits_to_return_ < std::max(1u, setup_.slots / 2) || room(line) == 0) return;
  credits_to_return_ = 0;
  Write write;
  write.remote_address = setup_.peer_ring;
  write.remote_key = line.ring_key;
  write.immediate = encode(Immediate{Immediate::Kind::credits, std::uint32_t(next_)});
  write.work = ++line.written;
  write.signaled = ++line.unsignaled >= std::max(1, line.queues->sends() / 4);
  if (write.signaled) line.unsignaled = line.unsignaled_staging = 0;
  line.batch.push_back(write);
  post(line);
}

void Channel::settle() {
  if (busy_since_ == 0 || !outgoing_.empty() || delayed_ > 0 || unconfirmed_ > 0) return;
  sent_.busy_ns += std::max<std::int64_t>(0, last_completion_ - busy_since_);
  busy_since_ = 0;
}

void Channel::limited_by(Limit limit) {
  if (limit == limit_) return;
  const std::int64_t now = now_ns();
  limited_ns_[std::size_t(limit_)] += now - limited_since_;
  limited_since_ = now;
  limit_ = limit;
}

}  // namespace ringtrue::transport::verbs
