// The world's part in packets, and in messages served first come, first served.
#include <algorithm>

#include "sim/world.h"

namespace ringtrue::sim {

// To its sender's port.
void World::launch(std::uint32_t index) {
  ports_.resize(std::max(ports_.size(), network_.links()));
  const std::uint32_t number = messages_[index].way->route.link[0];
  Port& port = ports_[number];
  if (port.messages.empty() && port.free_at <= now_) return depart(index);
  port.messages.push_back(index);
  if (!port.wakes) {
    port.wakes = true;
    at(port.free_at, Kind::wake, number);
  }
}

// The sender's port takes the message up now; it goes on as far as the receiver's.
void World::depart(std::uint32_t index) {
  Message& message = messages_[index];
  const Connection& way = *message.way;
  Hop& hop = *way.hop;
  const auto links = way.route.crossed();
  const double overhead = cost_of(way).overhead.value;
  if (options_.events) message.moved = now_;
  double begin = now_;
  for (const std::uint32_t number : links) {
    const Link& link = network_.link(number);
    if (link.flaps() && !link.up(begin)) begin = link.next_change(begin);
  }
  const double stood = begin - now_;
  message.service = overhead + message.load / network_.link(links[0]).rate;
  Port& port = ports_[links[0]];
  port.free_at = message.path_end = begin + message.service;
  const auto cross = [&](std::uint32_t number) {
    const double took = message.load / network_.link(number).rate;
    begin = std::max(begin, ports_[number].free_at);
    ports_[number].free_at = begin + took;
    message.path_end = std::max(message.path_end, ports_[number].free_at);
    message.service = std::max(message.service, took);
  };
  for (std::size_t i = 1; i < links.size(); ++i) {
    // The last but private links is the receiver's port, which serves in order of arrival.
    if (i != way.route.ingress) cross(links[i]);
  }
  if (const std::uint32_t limit = hop.limit(); limit != none) cross(limit);
  message.service += stood;  // on a link that was down: in flight all the same
  agenda_.push(begin + overhead + way.route.latency + hop.delay, Kind::arrive, index, row(links[0], 0));
}

void World::wake(std::size_t number) {
  Port& port = ports_[number];
  const std::uint32_t index = port.messages.front();
  port.messages.pop_front();
  depart(index);
  Port& same = ports_[number];
  same.wakes = !same.messages.empty();
  if (same.wakes) at(same.free_at, Kind::wake, std::uint32_t(number));
}

// Its first byte is at its receiver's port.
void World::arrive(std::uint32_t index) {
  Message& message = messages_[index];
  const Connection& way = *message.way;
  Hop& hop = *way.hop;
  if (message.lost) return at(std::max(message.path_end, now_), Kind::sent, index);
  const std::uint32_t number = way.route.link[way.route.ingress];
  Port& port = ports_[number];
  const double on_the_way = way.route.latency + hop.delay;
  const double took = message.load / network_.link(number).rate;
  port.free_at = std::max(now_, port.free_at) + took;
  message.service = std::max(message.service, took);
  const double end = std::max(message.path_end + on_the_way, port.free_at);

  // What it was carried for, by the sender's clock; before that it stood in a queue.
  const double left = end - on_the_way, began = left - message.service;
  if (!hop.rare || hop.rare->rail_busy.empty()) {
    hop.waited += std::max(0.0, began - std::max(message.matched, hop.busy_until));
    hop.busy += std::max(0.0, left - std::max(began, hop.busy_until));
    hop.busy_until = std::max(hop.busy_until, left);
  } else {
    hop.waited += std::max(0.0, began - message.matched);
    hop.rare->rail_busy[way.rail] += message.service;
  }

  if (message.packet) {
    double& until = receiving_until_[std::size_t(message.to)];
    receiving_[std::size_t(message.to)] += std::max(0.0, end - std::max(until, now_));
    until = std::max(until, end);
  }
  agenda_.push(std::max(left, now_), Kind::sent, index, row(number, 1));
  agenda_.push(end, Kind::deliver, index, row(number, 2));
}

}  // namespace ringtrue::sim
