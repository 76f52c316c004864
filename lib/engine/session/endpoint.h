// One rank's endpoint on wires: tokens, buffers, and the channels to its peers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collective/algorithm.h"
#include "collective/endpoint.h"
#include "engine/packets/endpoint.h"
#include "run/trace.h"
#include "transport/loop.h"
#include "transport/transport.h"
#include "transport/verbs/memory.h"

namespace ringtrue::engine {

using collective::Arrival;
using collective::Lane;
using collective::Rank;
using collective::Slice;
using collective::Space;
using collective::Token;

// Told of the first error of any rank of this process, on any thread.
class FailureListener {
 public:
  virtual ~FailureListener() = default;
  virtual void failed(Error error) = 0;
};

class RankEndpoint final : public collective::Endpoint, public transport::Owner {
 public:
  struct Memory {
    std::byte* data = nullptr;
    std::byte* scratch = nullptr;
    transport::verbs::Copier* copier = nullptr;  // of memory that this processor does not reach
  };
  RankEndpoint(Rank rank, const collective::Layout& layout, Memory memory, transport::Loop& loop,
               FailureListener& listener);

  void add_channel(transport::Channel& channel);
  // For algorithms that use packets.
  void set_packets(std::unique_ptr<PacketEndpoint> packets) { packets_ = std::move(packets); }
  PacketEndpoint* packets() override { return packets_.get(); }

  // Endpoint
  Rank rank() const override { return rank_; }
  const collective::Layout& layout() const override { return layout_; }
  Token send_all(std::span<const Rank> to, Lane lane, Slice from) override;
  Token receive_reduce(Rank from, Lane lane, Slice into, Slice with, Arrival how) override;
  Token receive_reduce_all(std::span<const Rank> from, Lane lane, Slice into, Arrival how) override;
  void copy(Slice into, Slice from) override;
  bool done(Token token) const override;
  void resume_when_done(Token token, std::coroutine_handle<> waiter) override;

  // Owner
  void post_done(std::uint64_t token) override;
  void failed(Error error) override { listener_.failed(std::move(error)); }
  std::int64_t now() const override { return now_ns() - began_; }
  void record(const run::Event& event) override { events_.push_back(event); }
  bool wants_events() const override { return events_.size() < keep_events_; }

  std::byte* data() const { return memory_.data; }
  // An awaitable: goes on from the loop, with nothing of the program's callers below it on the stack.
  struct Turn {
    transport::Loop& loop;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> program) const { loop.resume_soon(program); }
    void await_resume() const {}
  };
  Turn turn() { return Turn{loop_}; }
  void keep_events(std::size_t most) { keep_events_ = most; }
  void reset_counters();  // the timed part begins
  void add_hops(std::vector<run::Hop>& hops) const;
  bool too_many_events() const { return keep_events_ > 0 && events_.size() >= keep_events_; }
  std::vector<run::Event> take_events() { return std::move(events_); }

  // Whom the rank's program waits for; for the error that names a deadline's culprit.
  struct Waiting {
    Rank peer = -1;  // -1: for nobody
    std::string what;
  };

  // For PacketEndpoint.
  std::byte* address(const Slice& slice) const {
    return (slice.space == Space::data ? memory_.data : memory_.scratch) + slice.offset;
  }
  std::uint64_t open_packet_token(Rank to) { return open(Kind::send, to, 1); }
  std::uint64_t open_other_token() { return open(Kind::other, -1, 1); }  // for nobody's message
  void drop(std::uint64_t token);  // of one part; who waits for it is forgotten

  Waiting waiting() const;

 private:
  enum class Kind : std::uint8_t { send, receive, other };
  struct Operation {
    std::uint64_t generation = 1;
    std::uint32_t left = 0;  // parts not done; 0: free
    Kind kind = Kind::send;
    Rank peer = 0;
    std::coroutine_handle<> waiter;
  };
  // The rest of a receive_reduce_all whose peers share no memory with us: one after the other.
  struct Chain {
    std::vector<Rank> from;
    std::size_t next = 0;
    Lane lane = 0;
    Slice into;
    Arrival how = Arrival::reduce;
  };
  struct Link {
    Rank peer = 0;
    Lane lane = 0;
    transport::Channel* channel = nullptr;
    transport::Gatherer* gatherer = nullptr;
  };

  const Link& link(Rank peer, Lane lane) const;
  std::uint64_t open(Kind kind, Rank peer, std::uint32_t parts);
  void post_next(std::uint64_t token, Chain& chain);

  Rank rank_;
  const collective::Layout& layout_;
  Memory memory_;
  transport::Loop& loop_;
  FailureListener& listener_;
  std::vector<Link> links_;  // by peer and lane, rising
  std::vector<Operation> operations_;
  std::vector<std::uint32_t> free_;
  std::map<std::uint64_t, Chain> chains_;
  std::vector<run::Event> events_;
  std::int64_t began_ = now_ns();
  std::size_t keep_events_ = 0;  // at most
  std::unique_ptr<PacketEndpoint> packets_;
};

}  // namespace ringtrue::engine
