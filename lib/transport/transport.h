// What the engine asks of a transport, and what a transport asks of the engine.
//
// A transport moves bytes between ranks. It knows addresses and how to reduce, but neither algorithms nor
// what the bytes mean. Each rank holds one Channel per (peer, lane); a channel belongs to one Loop and is
// used on that loop's thread only.
//
// Every transport lives in a folder of its own with the same file names (channel.h, transport.h) and passes
// tests/unit/transport/suite_test.cc. To add one: write the folder, make its channels in
// engine/session/connect.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "base/result.h"
#include "collective/endpoint.h"
#include "run/trace.h"
#include "transport/faulty/script.h"

namespace ringtrue::transport {

using collective::Arrival;
using collective::Lane;
using collective::Rank;

// Element-wise arithmetic of the call in progress, on whole elements.
class Reducer {
 public:
  virtual ~Reducer() = default;
  virtual std::uint64_t element_bytes() const = 0;
  // into = with (op) incoming, and the final division for reduce_last.
  virtual void reduce(std::byte* into, const std::byte* with, const std::byte* incoming, std::uint64_t bytes,
                      Arrival how) const = 0;
  // into = into (op) incoming[0] (op) ...: one pass.
  virtual void reduce_many(std::byte* into, const std::byte* const* incoming, int count, std::uint64_t bytes,
                           Arrival how) const = 0;
};

// Where an arriving message goes. `with` is unused for Arrival::store.
struct Destination {
  std::byte* into = nullptr;
  const std::byte* with = nullptr;
  std::uint64_t length = 0;
  Arrival how = Arrival::store;
  // A shorter message is welcome, too (only with Arrival::store).
  bool up_to = false;
  // The receiver's thread moves the bytes: for several senders that reduce into one slice.
  bool receiver_moves = false;
  // Nobody wants the bytes: they are counted and dropped, and `into` is not looked at.
  bool discard = false;
  std::uint64_t* came = nullptr;  // where to say how long the message was; may be null
};

// The rank's side of a channel: told on the loop's thread.
class Owner {
 public:
  virtual ~Owner() = default;
  virtual void post_done(std::uint64_t token) = 0;
  virtual void failed(Error error) = 0;              // the run is over
  virtual std::int64_t now() const = 0;              // of the trace's clock, nanoseconds
  virtual void record(const run::Event& event) = 0;  // called only if wants_events()
  virtual bool wants_events() const = 0;
};

// Sums over one direction of a channel, since the last reset.
struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::int64_t busy_ns = 0;  // time with bytes of this direction on the move at this end
};

// A channel's two ends, by rank and by the name an operator knows.
struct Hop {
  Rank self = 0;
  Rank peer = 0;
  Lane lane = 0;
  std::string peer_node;  // name of the peer's node, for errors
};

class Channel;

// Receives from several peers in one pass over memory.
class Gatherer {
 public:
  virtual ~Gatherer() = default;
  // into = into (op) ...: `from` are channels of one owner whose gatherer() this is; one post_done(token).
  virtual void receive_all(std::span<Channel* const> from, std::uint64_t token,
                           const Destination& destination) = 0;
};

// What the connection itself tells of its use since reset_counters(): the kernel of TCP, an RDMA device's
// completions; nothing where neither is in between.
using HopStatistics = std::variant<std::monostate, run::TcpHop, run::RdmaHop>;

class Channel {
 public:
  virtual ~Channel() = default;

  // The k-th send here meets the k-th receive at the peer. Never blocks; the owner hears post_done(token),
  // possibly before this returns. `more`: another send follows at once, and the two may leave together.
  virtual void send(std::uint64_t token, const std::byte* from, std::uint64_t length, bool more = false) = 0;
  virtual void receive(std::uint64_t token, const Destination& destination) = 0;

  // Null where messages of several peers have to be received one after the other.
  virtual Gatherer* gatherer() { return nullptr; }

  const Hop& hop() const { return hop_; }
  const Traffic& sent() const { return sent_; }
  const Traffic& received() const { return received_; }
  // Starts counting anew, at the beginning of the timed part of a run.
  virtual void reset_counters() { sent_ = received_ = {}; }
  virtual HopStatistics statistics() const { return {}; }

 protected:
  Channel(Hop hop, Owner& owner, const Reducer& reducer, faulty::Script script)
      : hop_(std::move(hop)), owner_(owner), reducer_(reducer), script_(std::move(script)) {}

  // Where the owner keeps the trace's events.
  void record_sent(std::uint32_t sequence, std::uint64_t bytes, std::int64_t posted, std::int64_t moved) {
    if (owner_.wants_events())
      owner_.record({hop_.self, hop_.peer, hop_.lane, sequence, bytes, posted, moved, owner_.now()});
  }
  void record_received(std::uint32_t sequence, std::uint64_t bytes, std::int64_t posted, std::int64_t took) {
    if (!owner_.wants_events()) return;
    const std::int64_t done = owner_.now();
    owner_.record({hop_.peer, hop_.self, hop_.lane, sequence, bytes, posted, done - took, done});
  }

  const Hop hop_;
  Owner& owner_;
  const Reducer& reducer_;
  faulty::Script script_;
  Traffic sent_, received_;
};

// "rank 2 lost its connection to rank 3 on node3: WHY"
Error connection_lost(const Hop& hop, const std::string& why);

}  // namespace ringtrue::transport
