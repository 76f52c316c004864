#include "collective/omnireduce/resend.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace ringtrue::collective {

Resender::Resender(Endpoint& self, const OmniShape& shape, Rank first_aggregator, Rank aggregators)
    : self_(self),
      packets_(*self.packets()),
      first_(first_aggregator),
      packets_of_(shape.streams()),
      peers_(std::size_t(aggregators)),
      ticker_(self, [this] { return tick(); }) {
  for (std::size_t i = 0; i < peers_.size(); ++i) peers_[i].rank = first_ + Rank(i);
  for (std::uint32_t stream = 0; stream < shape.streams(); ++stream) {
    packets_of_[stream].aggregator = shape.aggregator_of(stream);
    if (shape.columns_of(stream) > 0) peer(shape.aggregator_of(stream)).max_window += 1;
  }
}

bool Resender::take_place(std::uint32_t stream) {
  Packet& packet = packets_of_[stream];
  Peer& to = peer(packet.aggregator);
  if (!to.queue.empty() || to.places + 1 > to.window) return false;
  ++to.places;
  return packet.has_place = true;
}

void Resender::queue(std::uint32_t stream, std::coroutine_handle<> waiter) {
  Packet& packet = packets_of_[stream];
  packet.waiter = waiter;
  peer(packet.aggregator).queue.emplace(packet.round, stream);
}

void Resender::free_place(Packet& packet) {
  if (!std::exchange(packet.has_place, false)) return;
  Peer& to = peer(packet.aggregator);
  --to.places;
  while (!to.queue.empty() && to.places + 1 <= to.window) {
    Packet& next = packets_of_[to.queue.begin()->second];
    to.queue.erase(to.queue.begin());
    ++to.places;
    next.has_place = true;
    std::exchange(next.waiter, nullptr).resume();
  }
}

void Resender::send(std::uint32_t stream, std::span<const std::byte> header, std::span<const Slice> parts) {
  Packet& packet = packets_of_[stream];
  Peer& to = peer(packet.aggregator);
  packet.header.assign(header.begin(), header.end());
  packet.parts.assign(parts.begin(), parts.end());
  packet.tries = 0;
  ++packet.round;
  packet.posted = packets_.now();
  packet.deadline = packet.posted + to.timeout;
  packet.unanswered = true;
  if (to.unanswered++ == 0) to.asked = packet.posted;
  packet.sent = packets_.send_packet({&packet.aggregator, 1}, header, parts);
}

void Resender::answered(std::uint32_t stream) {
  Packet& packet = packets_of_[stream];
  Peer& to = peer(packet.aggregator);
  packet.unanswered = false;
  --to.unanswered;
  const Seconds round_trip = packets_.now() - packet.posted;
  to.min_round_trip = std::min(to.min_round_trip * 1.01, round_trip);
  if (packet.tries == 0) {
    measure(to, round_trip);
    to.window = std::min(to.max_window, to.window + (to.window < to.threshold ? 1 : 1 / to.window));
  }
  free_place(packet);
}

// RFC 6298, 2.2 and 2.3.
void Resender::measure(Peer& peer, Seconds round_trip) {
  if (!peer.measured) {
    peer.measured = true;
    peer.smoothed = round_trip;
    peer.variation = round_trip / 2;
  } else {
    const Seconds off(std::fabs(peer.smoothed.value - round_trip.value));
    peer.variation = peer.variation * 0.75 + off * 0.25;
    peer.smoothed = peer.smoothed * 0.875 + round_trip * 0.125;
  }
  set_timeout(peer, peer.smoothed + peer.variation * 4);
}

void Resender::set_timeout(Peer& peer, Seconds timeout) {
  peer.timeout = std::clamp(std::min(timeout, peer.min_round_trip * 12), min_timeout, max_timeout);
}

void Resender::slow_down(Peer& peer, Seconds now) {
  if (now < peer.calm_until) return;
  peer.threshold = peer.window = std::max(1.0, peer.window / 2);
  set_timeout(peer, peer.timeout * 2);
  peer.calm_until = now + peer.timeout;
}

Seconds Resender::tick() {
  if (given_up_) return max_timeout;
  const Seconds now = packets_.now();
  Seconds next = max_timeout;
  for (Peer& to : peers_) {
    next = std::min(next, to.timeout);
    const Seconds quiet = now - std::max(to.asked, to.heard);
    if (to.unanswered == 0 || quiet < silence) continue;
    given_up_ = true;
    packets_.give_up(to.rank, "the aggregator has not answered for " + to_text(silence));
    return max_timeout;
  }
  // No more at once than the window allows to be on their way.
  left_.resize(peers_.size());
  for (std::size_t i = 0; i < peers_.size(); ++i) left_[i] = std::uint32_t(std::max(1.0, peers_[i].window));

  due_.clear();
  for (std::uint32_t stream = 0; stream < packets_of_.size(); ++stream) {
    const Packet& packet = packets_of_[stream];
    if (!packet.unanswered) continue;
    if (packet.deadline > now) {
      next = std::min(next, packet.deadline - now);
    } else {
      due_.push_back(stream);
    }
  }
  // The longest overdue first: what was repeated goes behind all others of its aggregator.
  std::stable_sort(due_.begin(), due_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return packets_of_[a].deadline < packets_of_[b].deadline;
  });
  for (const std::uint32_t stream : due_) {
    Packet& packet = packets_of_[stream];
    Peer& to = peer(packet.aggregator);
    if (!self_.done(packet.sent)) {  // it has not even left
      packet.deadline = now + to.timeout;
      continue;
    }
    std::uint32_t& more = left_[std::size_t(packet.aggregator - first_)];
    if (more == 0) {
      next = min_timeout;
      continue;
    }
    --more;
    slow_down(to, now);
    ++packet.tries;
    const Seconds pause = to.timeout * double(1 << std::min(packet.tries, max_doublings));
    packet.deadline = now + std::min(pause, max_timeout);
    ++packets_.counts().resent;
    packet.sent = packets_.send_packet({&packet.aggregator, 1}, packet.header, packet.parts);
    free_place(packet);
  }
  return std::max(next, min_timeout * 0.25);
}

}  // namespace ringtrue::collective
