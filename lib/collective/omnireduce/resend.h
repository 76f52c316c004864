// What a worker does about packets that may be lost.
//
// - How many of its packets are on their way to one aggregator: a window that grows by one packet a round
//   trip (twice as fast as it can at first) and is halved when an answer does not come, so that all workers
//   together do not drown the aggregator's port.
// - When a packet is sent again: retransmission timeout from the round trips (RFC 6298), not measured on
//   packets that were sent twice (Karn), doubled with each try. A result waits for the slowest worker of its
//   round, so that round trips hold the others' timeouts, which hold ours: where much is lost, they would
//   drive each other to the cap. So no timeout is more than 12 times the shortest of late round trips.
// - When to give up: an aggregator that was asked and says nothing for `silence`.
//
// A packet waits for its answer as long as the slowest worker of its round. So a timeout also frees the
// packet's place in the window: workers whose windows hold different streams cannot block each other. And
// places go to the streams that are furthest behind, so that small windows hold the same ones everywhere: in
// the order of asking they drift apart, until hardly a round has all of its packets.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "collective/omnireduce/header.h"
#include "collective/omnireduce/ticker.h"

namespace ringtrue::collective {

class Resender {
 public:
  static constexpr Seconds min_timeout{1e-3}, max_timeout{0.2}, first_timeout{20e-3}, silence{5};
  // A packet may be repeated because others of its round are late: then its own timeout must not grow so long
  // that the loss of its result is noticed late. The window is what keeps a drowning port alive.
  static constexpr int max_doublings = 1;

  Resender(Endpoint& self, const OmniShape& shape, Rank first_aggregator, Rank aggregators);

  void start() { ticker_.start(min_timeout); }
  Task stop() { return ticker_.stop(); }

  // co_await admitted(stream): until the window has a place for its packet.
  struct Admission {
    Resender& resender;
    std::uint32_t stream;
    bool await_ready() const { return resender.take_place(stream); }
    void await_suspend(std::coroutine_handle<> waiter) const { resender.queue(stream, waiter); }
    void await_resume() const {}
  };
  Admission admitted(std::uint32_t stream) { return Admission{*this, stream}; }

  void send(std::uint32_t stream, std::span<const std::byte> header, std::span<const Slice> parts);
  Token sent(std::uint32_t stream) const { return packets_of_[stream].sent; }
  void heard(Rank aggregator) { peer(aggregator).heard = packets_.now(); }
  // The result for the stream's packet is here. May resume other streams.
  void answered(std::uint32_t stream);
  bool waits(std::uint32_t stream) const { return packets_of_[stream].unanswered; }

 private:
  // The last packet of a stream.
  struct Packet {
    Rank aggregator = 0;
    bool unanswered = false, has_place = false;
    int tries = 0;
    std::uint64_t round = 0;  // of the stream: every round has one packet
    Seconds posted, deadline;
    std::vector<std::byte> header;
    std::vector<Slice> parts;
    Token sent;
    std::coroutine_handle<> waiter;
  };
  struct Peer {
    Rank rank = 0;
    double window = 16, threshold = 1e9, max_window = 0;  // packets
    std::uint32_t places = 0;                             // taken
    std::uint32_t unanswered = 0;
    std::set<std::pair<std::uint64_t, std::uint32_t>> queue;  // for a place: round and stream
    bool measured = false;
    Seconds smoothed, variation, timeout = first_timeout;
    Seconds min_round_trip = max_timeout;  // forgotten by a hundredth with each further one
    Seconds asked, heard;                  // since when packets are unanswered; the last packet from there
    Seconds calm_until;                    // one loss halves once
  };

  Peer& peer(Rank aggregator) { return peers_[std::size_t(aggregator - first_)]; }
  bool take_place(std::uint32_t stream);
  void queue(std::uint32_t stream, std::coroutine_handle<> waiter);
  void free_place(Packet& packet);
  void measure(Peer& peer, Seconds round_trip);
  static void set_timeout(Peer& peer, Seconds timeout);
  void slow_down(Peer& peer, Seconds now);
  Seconds tick();

  Endpoint& self_;
  Packets& packets_;
  Rank first_;
  std::vector<Packet> packets_of_;  // by stream
  std::vector<Peer> peers_;
  std::vector<std::uint32_t> left_;  // of a tick, by peer
  std::vector<std::uint32_t> due_;   // streams whose packets a tick finds overdue
  bool given_up_ = false;
  Ticker ticker_;
};

}  // namespace ringtrue::collective
