#include "engine/packets/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/clock.h"
#include "collective/omnireduce/omnireduce.h"
#include "engine/packets/arithmetic.h"
#include "engine/packets/channel.h"
#include "engine/packets/scattered.h"
#include "engine/session/endpoint.h"

namespace ringtrue::engine {

namespace {

std::uint64_t buffer_bytes_of(const collective::Call& call) {
  return (max_enveloped(call) + 63) / 64 * 64;
}

}  // namespace

std::uint64_t packet_room(const collective::Algorithm& algorithm, const collective::Layout& layout, Rank rank,
                          const collective::Call& call) {
  if (!algorithm.uses_packets()) return 0;
  std::uint64_t peers = 0;
  for (const collective::Edge& edge : algorithm.edges(layout, rank, call))
    peers += edge.lane == collective::packet_lane;
  // One to receive into for each peer. To send from: a stream has two packets on their way at most, and as
  // many again that have arrived but whose senders do not know yet; answers to those that ask again come on
  // top. Where that is not enough, a packet waits for a buffer.
  return (2 * peers + 4 * std::uint64_t(call.omni.streams)) * buffer_bytes_of(call);
}

PacketEndpoint::PacketEndpoint(RankEndpoint& self, transport::Loop& loop, Setup setup)
    : self_(self), loop_(loop), setup_(std::move(setup)), buffer_bytes_(buffer_bytes_of(*setup_.call)) {
  const auto ranks = std::size_t(self_.ranks());
  routes_.resize(ranks);
  received_.resize(ranks);
  first_.resize(ranks);
  last_.resize(ranks);
  for (std::size_t r = 0; r < ranks; ++r) received_[r].peer = Rank(r);
}

std::span<std::byte> PacketEndpoint::take_buffer() {
  assert(taken_ + buffer_bytes_ <= setup_.room_bytes);
  std::byte* buffer = setup_.room + taken_;
  taken_ += buffer_bytes_;
  return {buffer, max_enveloped(*setup_.call)};
}

void PacketEndpoint::add_route(std::unique_ptr<PacketRoute> route) {
  reliable_ &= route->reliable();
  auto& place = routes_[std::size_t(route->peer())];
  assert(!place);
  place = std::move(route);
}

bool PacketEndpoint::aggregates() const {
  return self_.rank() >= setup_.call->omni.workers;
}

PacketRoute& PacketEndpoint::route(Rank peer) {
  const auto& route = routes_[std::size_t(peer)];
  assert(route && "an edge that the algorithm does not name");
  return *route;
}

void PacketEndpoint::begin_call(collective::NonZeroBlocks* non_zero) {
  non_zero_ = non_zero;
  counts_ = {};
  // What no peer needs to arrive in is there to send from.
  while (taken_ + buffer_bytes_ <= setup_.room_bytes) buffers_.push_back(take_buffer().data());
}

void PacketEndpoint::reset_counters() {
  for (PacketsReceived& r : received_) r.packets = r.bytes = 0, r.span_ns = 0;
  for (const auto& route : routes_)
    if (route) route->reset_counters();
}

const transport::Traffic* PacketEndpoint::sent_to(Rank peer) const {
  const auto& route = routes_[std::size_t(peer)];
  return route ? route->sent_traffic() : nullptr;
}

void PacketEndpoint::handle(collective::PacketHandler* handler) {
  handler_ = handler;
  if (!handler) {
    for (std::size_t r = 0; r < received_.size(); ++r) {
      if (first_[r] != 0) received_[r].span_ns += last_[r] - first_[r];
      first_[r] = last_[r] = 0;
    }
    return;
  }
  ++calls_;
  // Not from here: who calls us does not expect its handler to be called before this returns.
  loop_.at(now_ns(), [this] {
    for (const auto& route : routes_)
      if (route && handler_) route->listen();
  });
}

// ---- sending ----

collective::Token PacketEndpoint::send_packet(std::span<const Rank> to, std::span<const std::byte> header,
                                              std::span<const collective::Slice> parts) {
  if (to.empty()) return {};
  assert(header.size() <= collective::max_header(*setup_.call) &&
         parts.size() <= collective::max_packet_parts);
  if (free_.empty()) {
    free_.push_back(std::uint32_t(packets_.size()));
    packets_.emplace_back();
  }
  const std::uint32_t id = free_.back();
  free_.pop_back();
  Packet& packet = packets_[id];
  packet.token = self_.open_packet_token(to.front());
  packet.parts.clear();
  for (const collective::Slice& part : parts) packet.parts.push_back({self_.address(part), part.length});
  const collective::Token token{packet.token};
  if (buffers_.empty() || !waiting_.empty()) {
    packet.to.assign(to.begin(), to.end());
    waiting_.push_back({id, {header.begin(), header.end()}});
  } else {
    post(id, to, header);
  }
  return token;
}

void PacketEndpoint::post(std::uint32_t id, std::span<const Rank> to, std::span<const std::byte> header) {
  Packet& packet = packets_[id];
  packet.buffer = buffers_.back();
  buffers_.pop_back();
  packet.left = 1;  // so that it is not done before all is posted
  std::memcpy(packet.buffer, header.data(), header.size());
  const std::size_t enveloped = put_envelope(packet.buffer, header.size(), packet.parts);
  const PacketToSend out{id, {packet.buffer, header.size()}, {packet.buffer, enveloped}, packet.parts};
  for (const Rank peer : to) route(peer).send(out);
  sent(id);
}

void PacketEndpoint::sent(std::uint32_t id) {
  Packet& packet = packets_[id];
  if (--packet.left > 0) return;
  buffers_.push_back(packet.buffer);
  free_.push_back(id);
  self_.post_done(packet.token);
  if (waiting_.empty()) return;
  const Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  const std::vector<Rank> to = std::move(packets_[next.id].to);
  post(next.id, to, next.header);
}

// ---- receiving ----

std::byte* PacketEndpoint::address(const collective::Slice& slice) const {
  return self_.address(slice);
}

Placed PacketEndpoint::place(Rank from, std::span<const std::byte> header,
                             std::vector<collective::PacketPart>& parts) {
  const Placed placed = handler_->place(from, header, parts);
  if (placed == Placed::broken) {
    failed(Error{
        Cause::corrupted,
        fmt::format("rank {} got a packet from {} that no program writes", self_.rank(), describe(from)),
        setup_.node(from),
        {}});
    return placed;
  }
  if (placed == Placed::dropped) return placed;
  PacketsReceived& received = received_[std::size_t(from)];
  if (first_[std::size_t(from)] == 0) first_[std::size_t(from)] = now_ns();
  ++received.packets;
  for (const collective::PacketPart& part : parts) {
    if (note_written_ && part.into.space == collective::Space::data) note_written_(part.into);
    received.bytes += part.into.length;
  }
  return placed;
}

void PacketEndpoint::arrived(Rank from, std::span<const std::byte> header) {
  last_[std::size_t(from)] = now_ns();
  handler_->arrived(from, header);  // which may end the program
}

void PacketEndpoint::failed(Error error) {
  self_.failed(std::move(error));
}

void PacketEndpoint::give_up(Rank peer, std::string what) {
  failed(Error{Cause::peer_lost,
               fmt::format("{} does not answer rank {}: {}", describe(peer), self_.rank(), what),
               setup_.node(peer), "see the log of ringtrued there"});
}

// ---- arithmetic, time ----

void PacketEndpoint::neutral(collective::Slice into) {
  const collective::Call& call = *setup_.call;
  fill_neutral(call.type, call.operation, self_.address(into), into.length / size_of(call.type));
}

void PacketEndpoint::conclude(collective::Slice into, Rank missing) {
  const collective::Call& call = *setup_.call;
  engine::conclude(call.type, call.operation, self_.address(into), into.length / size_of(call.type),
                   call.omni.workers, missing);
}

void PacketEndpoint::collect(collective::Slice into, std::span<const std::uint64_t> elements) {
  engine::collect(size_of(setup_.call->type), self_.address(into), self_.address({}), elements);
}

void PacketEndpoint::distribute(std::span<const std::uint64_t> elements, collective::Slice from) {
  const std::uint64_t size = size_of(setup_.call->type);
  engine::distribute(size, self_.address({}), elements, self_.address(from));
  if (!note_written_) return;
  for (const std::uint64_t element : elements) note_written_({collective::Space::data, element * size, size});
}

void PacketEndpoint::combine(collective::Slice into, std::span<const std::uint32_t> places,
                             collective::Slice from) {
  engine::combine(setup_.call->type, setup_.call->operation, self_.address(into), places,
                  self_.address(from));
}

Seconds PacketEndpoint::now() const {
  return Seconds(double(now_ns()) * 1e-9);
}

collective::Token PacketEndpoint::timer(Seconds from_now) {
  const std::uint64_t token = self_.open_other_token();
  const std::int64_t when = now_ns() + std::int64_t(std::max(0.0, from_now.value) * 1e9);
  timers_[token] = loop_.at(when, [this, token] {
    timers_.erase(token);
    self_.post_done(token);
  });
  return collective::Token{token};
}

void PacketEndpoint::cancel(collective::Token timer) {
  const auto at = timers_.find(timer.id);
  if (at == timers_.end()) return;
  loop_.cancel(at->second);
  timers_.erase(at);
  self_.drop(timer.id);
}

collective::Token PacketEndpoint::idle() {
  const std::uint64_t token = self_.open_other_token();
  loop_.when_idle([this, token] { self_.post_done(token); });
  return collective::Token{token};
}

}  // namespace ringtrue::engine
