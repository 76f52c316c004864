// The datagrams of one process: one socket, all ranks of the process, all of their peers. One thread.
//
// A packet (collective/packets.h) is one datagram (datagram.h) to each of its receivers. It may be lost, come
// twice or out of order; one that was broken on its way is dropped. What recovers is the collective.
//
// Only while some rank of the process listens is the socket read: what comes earlier waits in the kernel's
// buffer.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "collective/fault.h"
#include "collective/packets.h"
#include "run/trace.h"
#include "transport/faulty/script.h"
#include "transport/loop.h"
#include "transport/transport.h"
#include "transport/udp/datagram.h"
#include "transport/udp/reach.h"
#include "transport/udp/socket.h"

namespace ringtrue::transport::udp {

// A rank of this process.
struct Player {
  Rank rank = 0;
  collective::PacketReceiver* receiver = nullptr;  // its packets are of its call(); others are dropped
  const Reducer* reducer = nullptr;
  Owner* clock = nullptr;  // records the trace's events; null: nobody wants any
};

class Transport final : public Watcher {
 public:
  struct Setup {
    std::string address;  // to receive on; empty: all
    int port = 0;
    std::string secret;  // the lease's
  };
  // Cause::unavailable where the port is taken.
  static Result<std::unique_ptr<Transport>> make(const Setup& setup, Loop& loop);
  ~Transport() override;

  // From here to end_run() the ranks that are opened exchange packets. `max_packet`: bytes of the longest
  // packet, header and payload.
  // `run`: its number, which all ranks agree on; what was signed for another one is dropped.
  void begin_run(std::vector<collective::Fault> faults, std::uint64_t max_packet, std::uint64_t run = 0);
  // Between a rank of this process and a peer, which may be of this process, too. Errors: the peer cannot be
  // resolved or reached, or the path is too narrow for the longest packet.
  Result<void> open(const Player& player, Rank peer, const PeerAddress& where);
  void end_run();

  // Tries whether datagrams reach these peers, as long as this run's will be, until end_reach(); the loop has
  // to run meanwhile. Errors: as open().
  Result<void> begin_reach(const std::map<Ends, PeerAddress>& peers, std::uint64_t max_packet,
                           std::uint64_t run);
  bool reaches_all() const { return !trials_ || trials_->well(); }
  std::vector<run::Reach> end_reach();  // what has come by then

  // The player listens to this peer from here on. What the peer has sent for the call already is placed
  // before this returns.
  void listen(Rank self, Rank peer);
  // The receiver is to expect one message, and hears sent(id) when the packet has left: possibly before this
  // returns. The parts are copied at once: until then what they were taken from may change, since a result of
  // the same round that was asked for twice may arrive in the same place.
  void send(Rank self, Rank peer, std::uint32_t id, std::span<const std::byte> header,
            std::span<const std::span<const std::byte>> parts);

  // Messages are packets, bytes those of headers and payloads without the framing. A direction is busy from a
  // packet until the peer has sent as many as it was sent, or nothing more comes of either in this call: a
  // reply may wait for others, so a rate of this is a lower bound of the wire's.
  const Traffic& sent(Rank self, Rank peer);
  void reset_counters(Rank self, Rank peer);

  // Since the transport was made.
  std::uint64_t rejected() const { return rejected_; }    // datagrams that do not come from the run
  std::uint64_t corrupted() const { return corrupted_; }  // broken ones, from a peer's address
  std::uint64_t late() const { return late_; }            // of earlier calls

  void ready(std::uint32_t epoll_events) override;

 private:
  static constexpr std::size_t batch = 32;  // datagrams a system call

  struct Peer {
    PeerAddress where;
    SocketAddress address;
  };
  struct Held {  // by a script, until so many further datagrams of the hop were sent
    std::uint32_t sequence = 0;
    int left = 0;
    std::vector<std::byte> datagram;
  };
  struct Hop {
    Player player;
    Rank peer = 0;
    const Peer* to = nullptr;
    faulty::Script script;
    std::uint32_t next_sequence = 0;
    std::vector<Held> held;
    std::deque<std::vector<std::byte>> early;  // for the player's next call
    Traffic sent;
    std::uint64_t unanswered = 0;
    std::int64_t busy_since = 0, last = 0;
  };
  struct Outgoing {
    const Peer* to = nullptr;
    collective::PacketReceiver* owner = nullptr;  // null: nobody waits for it
    std::uint32_t id = 0;
    std::vector<std::byte> datagram;
    Owner* clock = nullptr;  // null: no event is wanted
    run::Event event;
  };

  Transport(Socket socket, const std::string& secret, Loop& loop);
  // Errors: it cannot be resolved or reached, or not by the longest packet.
  Result<SocketAddress> way_to(const PeerAddress& where) const;
  void queue_scripted(Hop& hop, std::vector<std::byte> datagram, std::uint64_t bytes, std::uint32_t sequence);
  void queue_copy(const Hop& hop, std::vector<std::byte> datagram);
  void release_held(Hop& hop, std::uint32_t sequence);
  Outgoing fresh();
  void queue(Outgoing message);
  void flush();
  void finish_front();
  bool stopped(int error);
  void read();
  void take(std::span<const std::byte> datagram, const SocketAddress& from);
  void take_known(Hop& hop, const Head& head, std::span<const std::byte> datagram);
  void deliver(Hop& hop, const Head& head, std::span<const std::byte> datagram);
  void reject(const SocketAddress& from);
  bool take_network_errors();
  void settle(Hop& hop);
  void later(std::int64_t when, std::function<void()> action);
  bool anyone_listens() const;
  void update_interest();
  void fail_run(Error error);
  Hop& hop(Rank self, Rank peer) { return hops_.at({self, peer}); }

  Socket socket_;
  const std::string secret_;
  std::uint64_t run_ = 0;
  Tagger tagger_;   // of this run
  Tagger earlier_;  // of the one before, whose packets may still come
  Loop& loop_;
  std::map<Rank, Peer> peers_;
  std::vector<collective::Fault> faults_;
  std::vector<collective::PacketReceiver*> receivers_;
  std::map<std::pair<Rank, Rank>, Hop> hops_;  // (self, peer)
  std::uint64_t max_packet_ = 0;
  std::unique_ptr<Trials> trials_;  // instead of a run

  std::deque<Outgoing> outgoing_;
  std::vector<Outgoing> spare_;  // for their buffers
  std::optional<Loop::TimerId> flush_soon_, pause_;
  std::set<Loop::TimerId> script_timers_;
  bool taking_ = false;    // packets off the socket
  bool flushing_ = false;  // which makes senders go on
  bool reading_ = false;   // asked for
  bool blocked_ = false;   // the socket takes no more for now
  std::uint32_t interest_ = 0;
  std::vector<std::byte> arrivals_;  // room for a batch of datagrams, each of stride_ bytes
  std::size_t stride_ = 0;
  std::vector<collective::PacketPart> parts_;
  std::uint64_t rejected_ = 0, corrupted_ = 0, late_ = 0;
};

}  // namespace ringtrue::transport::udp
