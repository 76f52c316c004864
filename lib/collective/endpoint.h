// The narrow interface between a collective and its world.
//
// A collective is a coroutine per rank that knows no sockets and no wall clock: all it does to the world
// goes through one Endpoint. The engine implements it on wires, the simulator on a model in virtual time,
// the recorder on paper.
//
// Contract
// - Slices name bytes of the rank's own buffers, never addresses.
// - Everything is posted first and awaited later; any number may be outstanding. Posting never blocks.
// - Between one ordered pair of ranks and on one lane, the k-th send meets the k-th receive; their lengths
//   are equal. Lanes are independent of each other (the two trees of a double tree use one each).
// - A receive is posted with its destination and with what to do on arrival, so that a peer that shares
//   memory can reduce in place.
// - A send is done when its slice may be overwritten; a receive when its destination holds the result.
//   A destination must not be read, sent or made the target of another post before that, except that several
//   receives that reduce into the same slice may be outstanding if they come from one receive_reduce_all.
//   One more exception: a slice that is being sent to a rank may already be the destination of a receive from
//   that rank, where that rank sends the bytes only after it has received the slice (two-shot: lend a slice,
//   take the result back in its place). The transport needs no care for it; what follows cannot come first.
// - wait() resumes the rank only on success. The first error ends the rank's program: the coroutine is
//   never resumed, and its frames are destroyed once the transport no longer touches the buffers.
#pragma once

#include <coroutine>
#include <cstdint>
#include <span>

#include "collective/task.h"
#include "collective/types.h"

namespace ringtrue::collective {

using Lane = std::uint16_t;

enum class Space : std::uint8_t { data, scratch };

struct Slice {
  Space space = Space::data;
  std::uint64_t offset = 0;  // bytes
  std::uint64_t length = 0;  // bytes

  bool operator==(const Slice&) const = default;
};

// What happens to bytes that arrive.
enum class Arrival : std::uint8_t {
  store,        // into = incoming
  reduce,       // into = with (op) incoming
  reduce_last,  // the same, and the sum is complete: avg divides here, once
};

// Names one posted operation until it has been waited for. 0 is a token that is done from the start.
struct Token {
  std::uint64_t id = 0;
};

class Packets;

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual Rank rank() const = 0;
  virtual const Layout& layout() const = 0;
  Rank ranks() const { return layout().ranks(); }

  Token send(Rank to, Lane lane, Slice from) { return send_all({&to, 1}, lane, from); }
  // The same bytes to several ranks; one token for all of them. A world that can multicast does.
  virtual Token send_all(std::span<const Rank> to, Lane lane, Slice from) = 0;

  // into = incoming
  Token receive(Rank from, Lane lane, Slice into) {
    return receive_reduce(from, lane, into, {}, Arrival::store);
  }
  // into = with (op) incoming. `with` may be `into` itself; receive() has none.
  virtual Token receive_reduce(Rank from, Lane lane, Slice into, Slice with, Arrival how) = 0;
  // into = into (op) incoming[0] (op) incoming[1] ..., in the order of `from`; one token for all of them.
  // `how` is reduce or reduce_last.
  virtual Token receive_reduce_all(std::span<const Rank> from, Lane lane, Slice into, Arrival how) = 0;

  // Packets, timers and the view on the data (collective/packets.h); nullptr where the world has none of it.
  virtual Packets* packets() { return nullptr; }

  // into = from, both the rank's own; done on return.
  virtual void copy(Slice into, Slice from) = 0;

  // True if the token is done (or was waited for already).
  virtual bool done(Token token) const = 0;
  // Resumes `waiter` once the token is done. At most one waiter a token, and only while it is not done.
  virtual void resume_when_done(Token token, std::coroutine_handle<> waiter) = 0;

  struct Wait {
    Endpoint& endpoint;
    Token token;
    bool await_ready() const { return endpoint.done(token); }
    void await_suspend(std::coroutine_handle<> waiter) const { endpoint.resume_when_done(token, waiter); }
    void await_resume() const {}
  };
  // co_await endpoint.wait(token)
  Wait wait(Token token) { return Wait{*this, token}; }
};

}  // namespace ringtrue::collective
