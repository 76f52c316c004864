// The simulator's inside: ranks, wires, ports and the queue of events.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "sim/player.h"
#include "sim/simulate.h"

namespace ringtrue::sim {

class World {
 public:
  World(const Fabric& fabric, const SimOptions& options);

  SimReport play(const collective::Algorithm& algorithm, const collective::Call& call);

  const collective::Layout& layout() const { return layout_; }
  void post(bool receive, Rank from, Rank to, Lane lane, std::uint64_t bytes, std::uint32_t token);

  // For packets, see packets.cc.
  bool reliable() const { return reliable_; }
  Seconds now() const { return Seconds(now_); }
  bool wants_rounds() const { return options_.rounds; }
  void keep(const collective::RoundSeen& round) { report_.rounds.push_back(round); }
  void post_packet(Rank from, Rank to, std::shared_ptr<const PacketBody> packet, std::uint32_t token);
  // Counts `token` of `rank` down then.
  void ring(Rank rank, std::uint32_t token, Seconds from_now);
  // Hands waiting packets over, from the loop.
  void call_for_mail(Rank rank);
  void refuse(Rank from, Rank to, std::string what);
  void give_up(Rank rank, Rank peer, std::string what);

 private:
  struct Port {
    double rate = 0;
    double free_at = 0;
    bool wakes = false;                  // an event is under way for the messages below
    std::deque<std::uint32_t> messages;  // waiting, in order
  };
  struct Held {
    std::uint32_t message = 0;
    int after = 0;  // so many packets of the hop
  };
  struct Hop {
    Rank source = 0, destination = 0;
    bool inter = false;
    double path_rate = 0;  // 0: no limit of its own
    double path_free_at = 0;
    double delay = 0;
    std::vector<const collective::Fault*> faults;  // those that count messages or bytes
    std::uint64_t messages = 0, bytes = 0;
    double busy = 0, busy_until = 0, waited = 0;
    bool stuck = false;
    std::uint64_t packets = 0;
    std::vector<Held> held;  // packets that let others pass
  };
  struct Message {
    Hop* hop = nullptr;
    Lane lane = 0;
    std::uint32_t sequence = 0, send_token = 0, receive_token = 0;
    std::uint64_t bytes = 0;
    double load = 0;  // bytes, with noise
    double posted = 0, matched = 0, moved = 0;
    double path_end = 0;  // when its last byte has left the path
    double service = 0;   // what it takes on the slowest part of its way, alone
    bool vanishes = false, breaks = false;
    std::shared_ptr<const PacketBody> packet;  // null: a message that somebody posted a receive for
    bool lost = false, doubled = false, copy = false;
    int late = 0;
  };
  struct Posted {
    std::uint64_t bytes = 0;
    std::uint32_t token = 0;
    double at = 0;
  };
  // Posts that wait for their other half: all sends, or all receives.
  struct Wire {
    bool receives = false;
    std::uint32_t sequence = 0;
    std::size_t first = 0;
    std::vector<Posted> posts;
  };
  enum class Kind : std::uint8_t { wake, arrive, deliver, sent, timer, mail, release };
  struct Event {
    double time = 0;
    std::uint64_t order = 0;
    Kind kind = Kind::wake;
    std::uint32_t index = 0;  // of a port (wake), a timer (timer), a rank (mail) or a message

    bool operator>(const Event& o) const { return time != o.time ? time > o.time : order > o.order; }
  };

  Hop& hop_of(Rank from, Rank to);
  std::size_t egress_of(const Hop& hop) const;
  std::size_t ingress_of(const Hop& hop) const;
  const HopCost& cost_of(const Hop& hop) const { return hop.inter ? fabric_.inter : fabric_.intra; }
  void at(double time, Kind kind, std::uint32_t index) { events_.push({time, order_++, kind, index}); }
  double noise();

  void match(Hop& hop, Lane lane, std::uint32_t sequence, const Posted& send, const Posted& receive);
  bool admit(Message& message);
  std::uint32_t store(Message message);
  void launch(std::uint32_t index);
  void leave(std::uint32_t index);
  void wake(std::size_t port);
  void arrive(std::uint32_t index);
  void finish(Rank rank, std::uint32_t token);
  void note_finished(Rank rank);
  void strike(Message& message);
  void deliver_packet(std::uint32_t index);
  void hand_over(std::uint32_t index);
  void release_held(Hop& hop);
  void release_late(std::uint32_t index);
  void deliver_mail(Rank rank);
  void handle(const Event& event);
  void resume_all();
  void fail_on(const Hop& hop, Cause cause, std::string what);
  void explain_standstill(bool late);
  void fill_trace();

  const Fabric& fabric_;
  const SimOptions& options_;
  collective::Layout layout_;
  std::vector<std::unique_ptr<Player>> players_;
  std::vector<Port> ports_;  // nodes' egress, ingress, then ranks' egress, ingress
  std::unordered_map<std::uint64_t, Hop> hops_;
  std::unordered_map<std::uint64_t, Wire> wires_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> unused_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::deque<std::pair<Rank, std::coroutine_handle<>>> ready_;
  std::vector<double> receiving_, receiving_until_;     // by rank
  std::vector<std::pair<Rank, std::uint32_t>> timers_;  // rank and token
  bool reliable_ = true;
  std::uint64_t order_ = 0, random_ = 0;
  double now_ = 0;
  Rank finished_ = 0;
  std::size_t nodes_ = 0;
  SimReport report_;
};

}  // namespace ringtrue::sim
