// The world's part in messages that share links fairly.
#include <algorithm>

#include "base/splitmix64.h"
#include "sim/world.h"

namespace ringtrue::sim {

// The links that routes added since.
void World::add_new_links() {
  for (; shared_links_ < network_.links(); ++shared_links_) {
    const Link& link = network_.link(std::uint32_t(shared_links_));
    sharing_.add_link(link.up(now_) ? link.rate : 0, link.bucket);
    if (!link.flaps()) continue;
    flapping_.push_back(std::uint32_t(shared_links_));
    flaps_armed_ = false;
  }
}

// Links flap only while something moves, so that a run that stands still is seen to.
void World::watch_flapping() {
  if (flaps_armed_ || flapping_.empty()) return;
  flaps_armed_ = true;
  for (const std::uint32_t link : flapping_) {
    sharing_.set_rate(link, network_.link(link).up(now_) ? network_.link(link).rate : 0);
    ++pending_flaps_;
    at(network_.link(link).next_change(now_), Kind::flap, link);
  }
}

void World::flap(std::uint32_t number) {
  const Link& link = network_.link(number);
  --pending_flaps_;
  sharing_.set_rate(number, link.up(now_) ? link.rate : 0);
  if (moving_ == 0) {
    flaps_armed_ = false;
    return;
  }
  ++pending_flaps_;
  at(link.next_change(now_), Kind::flap, number);
}

double World::work(Rank rank, double seconds) {
  double& busy_until = processor_[std::size_t(rank)];
  busy_until = std::max(busy_until, now_) + seconds;
  return busy_until;
}

void World::enqueue(std::uint32_t index) {
  Connection& way = *messages_[index].way;
  (way.last == none ? way.first : messages_[way.last].next) = index;
  way.last = index;
  ++moving_;
  if (!way.moving) begin(way);
}

void World::begin(Connection& way) {
  const std::uint32_t index = way.first;
  Message& message = messages_[index];
  way.first = message.next;
  if (way.first == none) way.last = none;
  way.moving = true;
  message.next = none;
  message.moved = now_;
  const double overhead = cost_of(way).overhead.value;
  message.service = overhead + (message.load > 0 ? message.load / way.route.rate : 0);
  if (overhead > 0) return at(work(message.from, overhead), Kind::enter, index);
  enter(index);
}

void World::enter(std::uint32_t index) {
  const Message& message = messages_[index];
  if (message.load <= 0) return leave_link(index);
  watch_flapping();
  std::array<std::uint32_t, Sharing::max_links> links;
  const auto crossed = message.way->route.crossed();
  auto end = std::copy(crossed.begin(), crossed.end(), links.begin());
  if (const std::uint32_t limit = message.way->hop->limit(); limit != none) *end++ = limit;
  sharing_.start({links.begin(), end}, message.load, index, now_);
}

// Its last byte has left its sender, unless a packet was lost.
void World::leave_link(std::uint32_t index) {
  Message& message = messages_[index];
  const Connection& way = *message.way;
  double resent = 0;
  for (const std::uint32_t link : way.route.crossed())
    resent = std::max(resent, network_.link(link).resent_between(message.moved, now_));
  if (resent > 0) {
    message.service += resent;
    return at(now_ + resent, Kind::leave, index);
  }
  if (way.lost > 0 && message.bytes > 0) {
    double through = 1;  // the share of such messages that all packets of get through
    double square = 1 - way.lost;
    for (std::uint64_t packets = (message.bytes - 1) / std::uint64_t(fabric_.mtu) + 1; packets;
         packets /= 2) {
      if (packets % 2) through *= square;
      square *= square;
    }
    const double drawn =
        noise_of(options_.seed ^ 0x1055, message.from, message.to, message.lane, message.sequence, 1) - 1;
    if (drawn >= through) {
      message.service += way.patience;
      return at(now_ + way.patience, Kind::leave, index);
    }
  }
  left(index);
}

void World::left(std::uint32_t index) {
  Message& message = messages_[index];
  Connection& way = *message.way;
  Hop& hop = *way.hop;
  --moving_;
  // What stands on a link that is down is in flight all the same.
  for (const std::uint32_t link : way.route.crossed())
    message.service += network_.link(link).down_between(message.moved, now_);
  hop.waited += std::max(0.0, now_ - message.moved - message.service);
  (hop.rare && !hop.rare->rail_busy.empty() ? hop.rare->rail_busy[way.rail] : hop.busy) += message.service;
  at(now_ + way.route.latency + hop.delay, Kind::deliver, index);
  sent(index);
  if (way.first == none) {
    way.moving = false;
  } else {
    begin(way);
  }
}

}  // namespace ringtrue::sim
