#include "engine/session/endpoint.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "run/trace.h"

namespace ringtrue::engine {

namespace {

// A token is a generation and the index of its operation, so that an index can be used again while old tokens
// still read as done.
constexpr int index_bits = 24;
constexpr std::uint64_t index_mask = (1u << index_bits) - 1;

}  // namespace

RankEndpoint::RankEndpoint(Rank rank, const collective::Layout& layout, Memory memory, transport::Loop& loop,
                           FailureListener& listener)
    : rank_(rank), layout_(layout), memory_(memory), loop_(loop), listener_(listener) {}

void RankEndpoint::add_channel(transport::Channel& channel) {
  const Link link{channel.hop().peer, channel.hop().lane, &channel, channel.gatherer()};
  const auto at = std::upper_bound(links_.begin(), links_.end(), link, [](const Link& a, const Link& b) {
    return std::pair(a.peer, a.lane) < std::pair(b.peer, b.lane);
  });
  links_.insert(at, link);
}

const RankEndpoint::Link& RankEndpoint::link(Rank peer, Lane lane) const {
  const auto at = std::lower_bound(
      links_.begin(), links_.end(), std::pair(peer, lane),
      [](const Link& l, const std::pair<Rank, Lane>& key) { return std::pair(l.peer, l.lane) < key; });
  assert(at != links_.end() && at->peer == peer && at->lane == lane &&
         "an edge that edges_of() does not name");
  return *at;
}

std::uint64_t RankEndpoint::open(Kind kind, Rank peer, std::uint32_t parts) {
  if (free_.empty()) {
    free_.push_back(std::uint32_t(operations_.size()));
    operations_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Operation& operation = operations_[index];
  operation.left = parts;
  operation.kind = kind;
  operation.peer = peer;
  operation.waiter = nullptr;
  return operation.generation << index_bits | index;
}

bool RankEndpoint::done(Token token) const {
  return token.id == 0 || operations_[token.id & index_mask].generation != token.id >> index_bits;
}

void RankEndpoint::resume_when_done(Token token, std::coroutine_handle<> waiter) {
  operations_[token.id & index_mask].waiter = waiter;
}

void RankEndpoint::post_done(std::uint64_t token) {
  Operation& operation = operations_[token & index_mask];
  assert(operation.generation == token >> index_bits);
  if (--operation.left > 0) {
    if (!chains_.empty())
      if (const auto chain = chains_.find(token); chain != chains_.end()) post_next(token, chain->second);
    return;
  }
  if (!chains_.empty()) chains_.erase(token);
  ++operation.generation;
  free_.push_back(std::uint32_t(token & index_mask));
  if (operation.waiter) loop_.resume_soon(operation.waiter);
}

void RankEndpoint::drop(std::uint64_t token) {
  Operation& operation = operations_[token & index_mask];
  assert(operation.generation == token >> index_bits && operation.left == 1);
  operation.left = 0;
  operation.waiter = nullptr;
  ++operation.generation;
  free_.push_back(std::uint32_t(token & index_mask));
}

Token RankEndpoint::send_all(std::span<const Rank> to, Lane lane, Slice from) {
  if (to.empty()) return Token{};
  const std::uint64_t token = open(Kind::send, to.front(), std::uint32_t(to.size()));
  for (const Rank peer : to) link(peer, lane).channel->send(token, address(from), from.length);
  return Token{token};
}

Token RankEndpoint::receive_reduce(Rank from, Lane lane, Slice into, Slice with, Arrival how) {
  const std::uint64_t token = open(Kind::receive, from, 1);
  link(from, lane).channel->receive(token, {address(into), address(with), into.length, how});
  return Token{token};
}

Token RankEndpoint::receive_reduce_all(std::span<const Rank> from, Lane lane, Slice into, Arrival how) {
  if (from.empty()) return Token{};
  transport::Gatherer* const gatherer = link(from.front(), lane).gatherer;
  const auto gathered = [&](Rank peer) { return link(peer, lane).gatherer == gatherer; };
  if (gatherer && std::all_of(from.begin(), from.end(), gathered)) {
    std::vector<transport::Channel*> channels;
    for (const Rank peer : from) channels.push_back(link(peer, lane).channel);
    const std::uint64_t token = open(Kind::receive, from.front(), 1);
    gatherer->receive_all(channels, token, {address(into), address(into), into.length, how});
    return Token{token};
  }
  const std::uint64_t token = open(Kind::receive, from.front(), std::uint32_t(from.size()));
  Chain& chain = chains_[token];
  chain = {{from.begin(), from.end()}, 0, lane, into, how};
  post_next(token, chain);
  return Token{token};
}

void RankEndpoint::post_next(std::uint64_t token, Chain& chain) {
  const Rank peer = chain.from[chain.next++];
  const bool last = chain.next == chain.from.size();
  operations_[token & index_mask].peer = peer;
  std::byte* into = address(chain.into);
  link(peer, chain.lane)
      .channel->receive(token, {into, into, chain.into.length, last ? chain.how : Arrival::reduce});
}

void RankEndpoint::copy(Slice into, Slice from) {
  if (!memory_.copier) {
    std::memcpy(address(into), address(from), from.length);
    return;
  }
  std::vector<std::byte> through(from.length);
  auto done = memory_.copier->to_host(through.data(), address(from), from.length);
  if (done) done = memory_.copier->from_host(address(into), through.data(), from.length);
  if (!done) listener_.failed(done.error());
}

void RankEndpoint::reset_counters() {
  began_ = now_ns();
  events_.clear();
  for (const Link& l : links_) l.channel->reset_counters();
  if (packets_) packets_->reset_counters();
}

void RankEndpoint::add_hops(std::vector<run::Hop>& hops) const {
  const Seconds timed(double(now()) * 1e-9);
  for (std::size_t i = 0; i < links_.size();) {
    run::Hop hop;
    hop.source = rank_;
    hop.destination = links_[i].peer;
    // Lanes work side by side: the hop is busy as long as its busiest lane.
    for (; i < links_.size() && links_[i].peer == hop.destination; ++i) {
      if (links_[i].lane == collective::barrier_lane) continue;
      const transport::Traffic* const datagrams = packets_ ? packets_->sent_to(hop.destination) : nullptr;
      if (datagrams) {  // what else goes there is beside the point
        hop.messages = datagrams->messages;
        hop.bytes = Bytes(datagrams->bytes);
        hop.busy = Seconds(double(datagrams->busy_ns) * 1e-9);
        continue;
      }
      const transport::Traffic& sent = links_[i].channel->sent();
      if (sent.messages == 0) continue;
      hop.messages += sent.messages;
      hop.bytes += Bytes(sent.bytes);
      Seconds busy(double(sent.busy_ns) * 1e-9);
      const transport::HopStatistics statistics = links_[i].channel->statistics();
      if (const auto* tcp = std::get_if<run::TcpHop>(&statistics)) {
        // The kernel counts until the last acknowledgement, but in ticks of some milliseconds.
        constexpr Seconds many_ticks(0.05);
        busy = tcp->busy < many_ticks ? std::max(tcp->busy, busy) : tcp->busy;
        run::join_lane(hop.tcp, *tcp);
      }
      if (const auto* rdma = std::get_if<run::RdmaHop>(&statistics)) {
        run::join_lane(hop.rdma, *rdma);
        busy = rdma->busy;
      }
      hop.busy = std::max(hop.busy, busy);
    }
    hop.busy = std::min(hop.busy, timed);  // the kernel's ticks overshoot
    if (hop.messages > 0) hops.push_back(hop);
  }
  if (!packets_ || !packets_->aggregates()) return;
  for (const PacketsReceived& received : packets_->received()) {
    if (received.packets == 0) continue;
    run::Hop hop;
    hop.source = received.peer;
    hop.destination = rank_;
    hop.receiver = true;
    hop.messages = received.packets;
    hop.bytes = Bytes(received.bytes);
    hop.busy = Seconds(double(received.span_ns) * 1e-9);
    hops.push_back(hop);
  }
}

RankEndpoint::Waiting RankEndpoint::waiting() const {
  if (packets_)
    if (const Rank peer = packets_->waiting_for(); peer >= 0) return {peer, "to answer"};
  for (const Operation& operation : operations_) {
    if (operation.left == 0 || !operation.waiter || operation.kind == Kind::other) continue;
    return {operation.peer, operation.kind == Kind::send ? "to take its message" : "to send"};
  }
  return {};
}

}  // namespace ringtrue::engine
