// The TCP connections of one process: a listener, and one connection per (own seat, peer's seat, lane), kept
// over the runs of a lease.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"
#include "run/reach.h"
#include "transport/address.h"
#include "transport/loop.h"
#include "transport/tcp/channel.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/syn_trace.h"

namespace ringtrue::transport::tcp {

// A connection as this process holds it.
struct ConnectionKey {
  SeatId self, peer;
  Lane lane = 0;
  auto operator<=>(const ConnectionKey&) const = default;
};

class Transport final : public Watcher {
 public:
  struct Setup {
    std::string address;              // to listen on; empty: all
    int port_low = 0, port_high = 0;  // 0: any
    std::string secret;
    std::vector<SeatId> seats;  // of this process
  };
  // Accepts on `loop`'s thread: while connect() runs, and while the loop runs for any other reason, so that
  // strangers are turned away during runs as well.
  static Result<std::unique_ptr<Transport>> make(Setup setup, Loop& loop);
  ~Transport() override;

  int port() const { return listener_.port; }
  void set_seats(std::vector<SeatId> seats) { setup_.seats = std::move(seats); }

  // Makes those of `wanted` that are not there yet: the lower seat calls, the higher one accepts. `stop` is
  // looked at now and then. Errors name the peer that did not come.
  Result<void> connect(const std::map<ConnectionKey, PeerAddress>& wanted, const std::function<bool()>& stop,
                       Deadline deadline);
  int descriptor(const ConnectionKey& key) const;  // -1: not connected

  // What one end of a connection sends the other before its first frame; `node`: the peer's, for errors.
  struct Message {
    std::vector<std::byte> bytes;
    std::string node;
  };
  using Messages = std::map<ConnectionKey, Message>;
  // Sends each connection's message and gives the peers' back, all connections at once; both ends do the
  // same. Reads nothing beyond a message. `max_bytes`: that a peer may send; `what`: of it, in errors, "RDMA
  // addresses". Errors name the peer: deadline, peer_lost, corrupted; cancelled after `stop`.
  Result<Messages> exchange(Messages ours, std::size_t max_bytes, const std::string& what,
                            const std::function<bool()>& stop, Deadline deadline);

  // Traces the ways of connections, and makes them anew for that, so that nothing may be under way on them;
  // both ends do the same. A connection keeps its ports: traced again it shows whether its way has changed.
  // Gives what goes from here to the peer. Errors: as connect() and exchange().
  Result<std::map<ConnectionKey, TracedWay>> trace(const std::map<ConnectionKey, PeerAddress>& wanted,
                                                   const std::function<bool()>& stop, Deadline deadline);

  // Tries whether peers can be connected to at all, before anything else is: each end of a pair calls the
  // other's data port, and sends packets as long as the way takes by the kernel's word. Ends when all is
  // well, or after `patience` with what did not come. `wanted`: one connection a peer, whose lane does not
  // matter. Both ends do the same; what it connects stays until end_reach(). Errors: cancelled after `stop`;
  // unavailable where there is no socket. `others`: whether what else is tried on the loop is well, too.
  Result<std::map<ConnectionKey, run::Reach>> reach(
      const std::map<ConnectionKey, PeerAddress>& wanted, const std::function<bool()>& stop, Seconds patience,
      const std::function<bool()>& others = [] { return true; });
  void end_reach();

  std::uint64_t rejected() const { return rejected_; }
  // The congestion control of the newest connection, as the kernel names it.
  const std::string& congestion() const { return congestion_; }

  void ready(std::uint32_t epoll_events) override;  // the listener

 private:
  class Pending;
  struct Trial;

  Transport(Setup setup, Loop& loop);
  Result<void> listen();
  Result<void> await(const std::map<ConnectionKey, PeerAddress>& wanted, const std::function<bool()>& stop,
                     Deadline deadline);
  Result<void> go_on(Trial& trial, double seconds);
  void drop_calls();  // of ours, that are unproven
  void established(const ConnectionKey& key, OwnedFd fd);
  Result<void> call(const ConnectionKey& key, const PeerAddress& peer);
  Result<void> prove(const ConnectionKey& key, const std::string& node, OwnedFd called);
  void reject(Pending& pending, const std::string& why);
  void sweep();  // deletes what is over, drops those that take too long

  Setup setup_;
  Loop& loop_;
  BoundSocket listener_;
  std::map<ConnectionKey, OwnedFd> connections_;
  std::map<ConnectionKey, int> traced_ports_;  // of calls that were traced: our own
  std::vector<std::unique_ptr<Pending>> pending_;
  std::uint64_t rejected_ = 0;
  std::size_t max_pending_ = 256;  // unproven connections at a time
  std::string congestion_;
  std::string failure_;  // of a call that we made
  std::string failed_node_;
  std::map<ConnectionKey, std::string>* failures_ = nullptr;  // instead, while calls may fail one by one
};

}  // namespace ringtrue::transport::tcp
