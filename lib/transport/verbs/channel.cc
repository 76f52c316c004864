// Receiving, and what both directions share; sending.cc has the other half.
#include "transport/verbs/channel.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "transport/verbs/errors.h"

namespace ringtrue::transport::verbs {

Channel::Channel(Setup setup, Loop& loop, Owner& owner, const Reducer& reducer, faulty::Script script)
    : transport::Channel(setup.hop, owner, reducer, std::move(script)),
      setup_(std::move(setup)),
      loop_(loop),
      ring_(setup_.slots) {
  max_inline_ = setup_.lines.front().pair->max_inline();
  for (const Line& line : setup_.lines) {
    const auto known =
        std::find_if(rails_.begin(), rails_.end(), [&](const Rail& r) { return r.port == line.port; });
    Sending& sending = lines_.emplace_back();
    sending.Line::operator=(line);
    sending.rail = std::size_t(known - rails_.begin());
    if (known == rails_.end()) rails_.push_back({line.port});
    max_inline_ = std::min(max_inline_, line.pair->max_inline());
  }
  for (int slot = int(setup_.staging_slots); slot-- > 0;) free_staging_.push_back(slot);
  const auto watched = loop_.watch(setup_.control, EPOLLRDHUP, this);
  watched_ = watched.has_value();
  if (!watched) fail(watched.error(), true);
  for (std::size_t i = 0; i < lines_.size(); ++i) lines_[i].queues->open(lines_[i].pair->number(), this, i);
}

Channel::~Channel() {
  if (watched_) loop_.forget(setup_.control, this);
  lines_.front().queues->forget(this);
  for (const Sending& line : lines_) line.queues->close(line.pair->number());
}

void Channel::ready(std::uint32_t) {
  watched_ = false;
  loop_.forget(setup_.control, this);
  lost("its process is gone");
}

void Channel::completed(std::size_t number, const Completion& completion) {
  if (over_) return;
  Sending& line = lines_[number];
  if (completion.status != 0) {
    const bool on_their_way =
        std::any_of(lines_.begin(), lines_.end(), [](const Sending& l) { return !l.posted.empty(); });
    return fail(completion_error(setup_.node, {hop_, line.port, line.peer_port}, completion),
                due() || on_their_way);
  }
  if (completion.received) return arrived(completion);
  completed_send(line, completion);
}

void Channel::receive(std::uint64_t token, const Destination& destination) {
  if (over_) return;
  incoming_.push_back({token, destination, owner_.now()});
  if (waiting_) return fail(*waiting_, true);
  take_soon();
}

// Notes that a slice is here; take() moves it.
void Channel::arrived(const Completion& completion) {
  const auto immediate = decode(completion.immediate);
  if (!immediate) return corrupted(fmt::format("an immediate of {:#x}", completion.immediate));
  if (immediate->kind == Immediate::Kind::credits) return credited(immediate->number);
  const std::uint32_t ahead = (immediate->number - std::uint32_t(next_)) & number_mask;
  Slot* const slot = ahead < setup_.slots ? &ring_[std::size_t((next_ + ahead) % setup_.slots)] : nullptr;
  if (!slot || slot->full)
    return corrupted(fmt::format("slice {} where slice {} was due", immediate->number, next_ & number_mask));
  *slot = {true, immediate->kind == Immediate::Kind::last, completion.bytes};
  take_soon();
}

void Channel::take_soon() {
  if (queued_ || !can_take()) return;
  queued_ = true;
  lines_.front().queues->soon(this);
}

// Some slices at a time, so that programs that have what they waited for go on meanwhile.
bool Channel::take() {
  constexpr std::uint64_t some = 64 * 1024;
  std::uint64_t before = received_bytes_;
  while (can_take() && received_bytes_ - before < some) take_slice();
  return queued_ = can_take();
}

bool Channel::begin_message(const std::byte* slot) {
  std::array<std::byte, head_bytes> bytes;  // once: the peer could still change it
  std::memcpy(bytes.data(), slot + before_payload - head_bytes, head_bytes);
  const auto head = decode(bytes, hop_.lane);
  const Destination& to = incoming_.front().destination;
  if (!head) {
    corrupted("its head does not match its checksum");
  } else if (head->number != expected_message_) {
    corrupted(fmt::format("message {} where message {} was due", head->number, expected_message_));
  } else if (to.up_to ? head->length > to.length : head->length != to.length) {
    corrupted(fmt::format("{} bytes where {} were due", head->length, to.length));
  } else {
    ++expected_message_;
    in_message_ = true;
    length_ = head->length;
    arrived_ = 0;
    message_began_ = now_ns();
  }
  return in_message_;
}

void Channel::take_slice() {
  Slot& slot = ring_[std::size_t(next_ % setup_.slots)];
  const std::byte* const from = setup_.ring + next_ % setup_.slots * setup_.slot_bytes;
  const std::uint64_t head = in_message_ ? 0 : head_bytes;
  if (!in_message_ && !begin_message(from)) return;
  const std::uint64_t bytes = std::min<std::uint64_t>(setup_.slice_bytes, length_ - arrived_);
  // Where adaptive routing may reorder payload, it came with a write of its own.
  if (slot.bytes != head + bytes && slot.bytes != head)
    return corrupted(fmt::format("{} bytes where {} were due", slot.bytes, head + bytes));
  if (slot.last != (arrived_ + bytes == length_))
    return corrupted(fmt::format("{} after {} of {} bytes", slot.last ? "the last slice" : "one more slice",
                                 arrived_ + bytes, length_));
  const Destination& to = incoming_.front().destination;
  if (!to.discard && bytes > 0)
    if (const auto placed = place(to, from + before_payload, bytes); !placed)
      return cannot_copy(placed.error());
  slot.full = false;
  arrived_ += bytes;
  received_bytes_ += head_bytes + bytes;
  ++next_;
  ++credits_to_return_;
  give_credits();
  if (arrived_ == length_) finish_message();
}

Result<void> Channel::place(const Destination& to, const std::byte* from, std::uint64_t bytes) {
  std::byte* const into = to.into + arrived_;
  if (to.how == Arrival::store) return setup_.ranks.write(into, from, bytes);
  const std::byte* const with = to.with + arrived_;
  if (!setup_.ranks.by_copier(into) && !setup_.ranks.by_copier(with)) {
    reducer_.reduce(into, with, from, bytes, to.how);
    return {};
  }
  reduced_.resize(std::max<std::size_t>(reduced_.size(), bytes));
  if (const auto read = setup_.ranks.read(reduced_.data(), with, bytes); !read) return read;
  reducer_.reduce(reduced_.data(), reduced_.data(), from, bytes, to.how);
  return setup_.ranks.write(into, reduced_.data(), bytes);
}

void Channel::finish_message() {
  const Incoming message = incoming_.front();
  incoming_.pop_front();
  in_message_ = false;
  ++received_.messages;
  received_.bytes += length_;
  if (message.destination.came) *message.destination.came = length_;
  const std::int64_t took = now_ns() - message_began_;
  received_.busy_ns += took;
  record_received(expected_message_ - 1, length_, message.posted, took);
  owner_.post_done(message.token);
}

// What concerns nobody now is an error for whoever sends or receives later.
void Channel::fail(Error error, bool concerns_us) {
  if (over_) return;
  over_ = concerns_us;
  if (concerns_us) return owner_.failed(std::move(error));
  if (!waiting_) waiting_ = std::move(error);
}

void Channel::corrupted(const std::string& why) {
  fail(Error{Cause::corrupted,
             fmt::format("a broken slice from rank {} on {} to rank {}: {}", hop_.peer, hop_.peer_node,
                         hop_.self, why),
             hop_.peer_node, "look for faulty memory or a faulty adapter on either node"},
       true);
}

void Channel::cannot_copy(const Error& why) {
  fail(Error{why.cause,
             fmt::format("rank {} on {} cannot copy its memory: {}", hop_.self, setup_.node, why.what),
             setup_.node, why.next},
       true);
}

void Channel::reset_counters() {
  transport::Channel::reset_counters();
  writes_ = 0;
  min_rtt_ns_ = 0;
  std::fill(std::begin(limited_ns_), std::end(limited_ns_), 0);
  const std::int64_t now = now_ns();
  if (busy_since_ != 0) busy_since_ = now;
  for (Rail& rail : rails_) rail.bytes = 0, rail.busy_ns = 0, rail.since = now;
  limited_since_ = now;
}

HopStatistics Channel::statistics() const {
  const std::int64_t now = now_ns();
  const auto limited = [&](Limit limit) {
    return Seconds(double(limited_ns_[std::size_t(limit)] + (limit == limit_ ? now - limited_since_ : 0)) *
                   1e-9);
  };
  run::RdmaHop hop;
  hop.busy = Seconds(double(sent_.busy_ns + (busy_since_ != 0 ? now - busy_since_ : 0)) * 1e-9);
  hop.credit_limited = limited(Limit::credit);
  hop.queue_limited = limited(Limit::queue);
  hop.writes = writes_;
  hop.min_rtt = Seconds(double(min_rtt_ns_) * 1e-9);
  for (const Rail& rail : rails_) {
    if (rails_.size() == 1) break;
    const std::int64_t busy = rail.busy_ns + (rail.in_flight > 0 ? now - rail.since : 0);
    hop.rails.push_back({rail.port, Bytes(rail.bytes), Seconds(double(busy) * 1e-9)});
  }
  return hop;
}

}  // namespace ringtrue::transport::verbs
