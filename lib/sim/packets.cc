// The world's part in packets: they need no receive, may get lost, and wait for a handler.
#include <fmt/format.h>

#include <algorithm>

#include "sim/world.h"

namespace ringtrue::sim {

void World::post_packet(Rank from, Rank to, std::shared_ptr<const PacketBody> packet, std::uint32_t token) {
  if (report_.error) return;
  Wire& wire = wires_[std::uint64_t(std::uint32_t(from)) << 40 | std::uint64_t(std::uint32_t(to)) << 16 |
                      collective::packet_lane];
  const std::uint32_t sequence = wire.sequence++;
  Connection& way = connection(wire, from, to, collective::packet_lane, sequence);
  ++way.hop->packets;
  Message message;
  message.way = &way;
  message.lane = collective::packet_lane;
  message.sequence = sequence;
  message.bytes = packet->header.size() + packet->payload;
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
  for (const Fault* fault : hop.faults) {
    if (!fault->unreliable() || !fault->strikes(hop.source, hop.destination, hop.packets)) continue;
    if (fault->kind == Fault::Kind::loss) message.lost = true;
    if (fault->kind == Fault::Kind::duplicate) message.doubled = true;
    // Its receiver drops it, so it only takes the ports' time.
    if (fault->kind == Fault::Kind::corrupt) message.vanishes = true;
    if (fault->kind == Fault::Kind::reorder) {
      message.late = 1 + int(fault->draw(hop.source, hop.destination, hop.packets) & 1);
    }
  }
}

void World::deliver_packet(std::uint32_t index) {
  if (messages_[index].doubled) {
    Message again = messages_[index];
    again.doubled = false;
    again.copy = true;
    at(now_, Kind::arrive, store(std::move(again)));
  }
  const Message& message = messages_[index];
  Hop& hop = *message.way->hop;
  if (message.late > 0 && !message.vanishes) {
    hop.held.push_back({index, message.late});
    return at(now_ + 2 * message.way->route.latency, Kind::release, index);
  }
  hand_over(index);
  if (!hop.held.empty()) release_held(hop);
}

void World::release_held(Hop& hop) {
  std::vector<Held> waiting = std::move(hop.held);
  hop.held.clear();
  for (Held& held : waiting) {
    if (--held.after > 0) {
      hop.held.push_back(held);
    } else {
      hand_over(held.message);
    }
  }
}

// Where nothing follows, a late packet does not wait for ever.
void World::release_late(std::uint32_t index) {
  Connection* way = messages_[index].way;
  if (!way) return;  // over
  Hop* hop = way->hop;
  const auto found = std::find_if(hop->held.begin(), hop->held.end(),
                                  [&](const Held& held) { return held.message == index; });
  if (found == hop->held.end()) return;
  hop->held.erase(found);
  hand_over(index);
}

void World::hand_over(std::uint32_t index) {
  const Message message = std::move(messages_[index]);
  messages_[index] = {};
  unused_.push_back(index);
  const Hop& hop = *message.way->hop;
  if (message.vanishes) return;
  if (message.breaks) return fail_on(hop, Cause::corrupted, "a frame arrived broken");
  if (options_.packets) {
    report_.packets.push_back({Seconds(message.posted), Seconds(now_), hop.source, hop.destination,
                               message.packet->header, message.packet->payload});
  }
  players_[std::size_t(hop.destination)]->take_packet(hop.source, message.packet);
  deliver_mail(hop.destination);
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
