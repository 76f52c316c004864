// The world's part in packets: they need no receive, may get lost, and wait for a handler.
#include <fmt/format.h>

#include <algorithm>

#include "sim/world.h"

namespace ringtrue::sim {

World::Wire& World::packet_wire(Rank from, Rank to) {
  packet_wires_.resize(std::size_t(layout().ranks()));
  std::vector<std::uint32_t>& numbers = packet_wires_[std::size_t(from)];
  if (numbers.empty()) numbers.resize(packet_wires_.size(), none);
  std::uint32_t& number = numbers[std::size_t(to)];
  if (number != none) return wires_[number];
  number = wires_.size();
  return wires_.add();
}

void World::post_packet(Rank from, Rank to, PacketBody::Shared packet, std::uint32_t token) {
  if (report_.error) return;
  Wire& wire = packet_wire(from, to);
  const std::uint32_t sequence = wire.sequence++;
  Connection& way = connection(wire, from, to, collective::packet_lane, sequence);
  if (way.hop->rare) ++way.hop->rare->packets;
  Message message;
  message.way = &way;
  message.from = from;
  message.to = to;
  message.lane = collective::packet_lane;
  message.sequence = sequence;
  message.bytes = packet->header().size() + packet->payload();
  message.load =
      double(message.bytes) * noise_of(options_.seed, from, to, message.lane, sequence, options_.noise);
  message.send_token = token;
  message.posted = message.matched = now_;
  message.packet = std::move(packet);
  if (!admit(message)) return;
  strike(message);
  launch(store(std::move(message)));
}

// What scripted faults do to a share of the packets.
void World::strike(Message& message) {
  using Fault = collective::Fault;
  if (reliable_) return;
  const Connection& way = *message.way;
  const Hop& hop = *way.hop;
  message.lost = way.lost > 0 && noise_of(options_.seed ^ 0x1055, hop.source, hop.destination, message.lane,
                                          message.sequence, 1) < 1 + way.lost;
  if (!hop.rare) return;
  for (const Fault* fault : hop.rare->faults) {
    if (!fault->unreliable() || !fault->strikes(hop.source, hop.destination, hop.rare->packets)) continue;
    if (fault->kind == Fault::Kind::loss) message.lost = true;
    if (fault->kind == Fault::Kind::duplicate) message.doubled = true;
    // Its receiver drops it, so it only takes the ports' time.
    if (fault->kind == Fault::Kind::corrupt) message.vanishes = true;
    if (fault->kind == Fault::Kind::reorder) {
      message.late = std::uint8_t(1 + (fault->draw(hop.source, hop.destination, hop.rare->packets) & 1));
    }
  }
}

void World::deliver_packet(std::uint32_t index) {
  if (reliable_) return hand_over(index);
  if (messages_[index].doubled) {
    Message again = messages_[index];
    again.doubled = false;
    again.copy = true;
    at(now_, Kind::arrive, store(std::move(again)));
  }
  const Message& message = messages_[index];
  Hop& hop = *message.way->hop;
  if (message.late > 0 && !message.vanishes) {
    hop.more().held.push_back({index, message.late});
    return at(now_ + 2 * message.way->route.latency, Kind::release, index);
  }
  hand_over(index);
  if (hop.rare && !hop.rare->held.empty()) release_held(hop);
}

void World::release_held(Hop& hop) {
  std::vector<Held> waiting = std::move(hop.rare->held);
  hop.rare->held.clear();
  for (Held& held : waiting) {
    if (--held.after > 0) {
      hop.rare->held.push_back(held);
    } else {
      hand_over(held.message);
    }
  }
}

// Where nothing follows, a late packet does not wait for ever.
void World::release_late(std::uint32_t index) {
  Connection* way = messages_[index].way;
  if (!way) return;  // over
  std::vector<Held>& held = way->hop->more().held;
  const auto found =
      std::find_if(held.begin(), held.end(), [&](const Held& one) { return one.message == index; });
  if (found == held.end()) return;
  held.erase(found);
  hand_over(index);
}

void World::hand_over(std::uint32_t index) {
  Message& message = messages_[index];
  auto packet = std::move(message.packet);
  const Rank from = message.from, to = message.to;
  const Hop& hop = *message.way->hop;
  message.way = nullptr;
  unused_.push_back(index);
  if (message.vanishes) return;
  if (message.breaks) return fail_on(hop, Cause::corrupted, "a frame arrived broken");
  if (options_.packets) {
    report_.packets.push_back({Seconds(message.posted),
                               Seconds(now_),
                               from,
                               to,
                               {packet->header().begin(), packet->header().end()},
                               packet->payload()});
  }
  players_[std::size_t(to)]->take_packet(from, std::move(packet));
  deliver_mail(to);
}

void World::deliver_mail(Rank rank) {
  Player& player = *players_[std::size_t(rank)];
  player.welcome_packets();
  note_finished(rank);
}

void World::call_for_mail(Rank rank) {
  at(now_, Kind::mail, std::uint32_t(rank));
}

void World::ring(Rank rank, std::uint32_t token, Seconds from_now) {
  timers_.push_back({rank, token});
  at(now_ + from_now.value, Kind::timer, std::uint32_t(timers_.size() - 1));
}

void World::refuse(Rank from, Rank to, std::string what) {
  fail_on(hop_of(from, to), Cause::internal, std::move(what));
}

void World::give_up(Rank rank, Rank peer, std::string what) {
  if (report_.error) return;
  report_.error = Error{Cause::deadline, std::move(what), fmt::format("rank {} > rank {}", rank, peer), {}};
}

}  // namespace ringtrue::sim
