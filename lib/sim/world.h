// The simulator's inside: ranks, connections, links and the queue of events.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/agenda.h"
#include "sim/index.h"
#include "sim/network.h"
#include "sim/player.h"
#include "sim/sharing.h"
#include "sim/simulate.h"

namespace ringtrue::sim {

// What a message is lengthened by: 1 to 1 + `most`, the same for the nth message of a hop and lane whenever
// it moves and whoever plays it.
double noise_of(std::uint64_t seed, Rank from, Rank to, Lane lane, std::uint64_t nth, double most);

class World {
 public:
  World(const Fabric& fabric, const SimOptions& options, Discipline discipline);

  SimReport play(const collective::Algorithm& algorithm, const collective::Call& call);

  const collective::Layout& layout() const { return network_.layout(); }
  // `adds`: the bytes of a receive are added to what is there.
  void post(bool receive, Rank from, Rank to, Lane lane, std::uint64_t bytes, std::uint32_t token, bool adds);

  // For packets, see packets.cc.
  bool reliable() const { return reliable_; }
  Seconds now() const { return Seconds(now_); }
  bool wants_rounds() const { return options_.rounds; }
  void keep(const collective::RoundSeen& round) { report_.rounds.push_back(round); }
  void post_packet(Rank from, Rank to, PacketBody::Shared packet, std::uint32_t token);
  // Counts `token` of `rank` down then.
  void ring(Rank rank, std::uint32_t token, Seconds from_now);
  // Hands waiting packets over, from the loop.
  void call_for_mail(Rank rank);
  void refuse(Rank from, Rank to, std::string what);
  void give_up(Rank rank, Rank peer, std::string what);

 private:
  static constexpr std::uint32_t none = ~0u;

  // A link as packets see it: what it is busy with until when, and who waits for it (of the first on the
  // way).
  struct Port {
    double free_at = 0;
    bool wakes = false;                  // an event is under way for the messages below
    std::deque<std::uint32_t> messages;  // waiting, in order
  };
  struct Held {
    std::uint32_t message = 0;
    int after = 0;  // so many packets of the hop
  };
  // What few hops have.
  struct Rarities {
    std::uint32_t limit = none;  // a link of its own that throttles it
    bool stuck = false;
    std::uint64_t packets = 0;
    std::vector<const collective::Fault*> faults;  // those that count messages, packets or bytes
    std::vector<double> rail_busy;                 // where there are several
    std::string why;                               // it is stuck, where the fabric is to blame
    std::vector<Held> held;                        // packets that let others pass
  };
  // There may be millions of hops, connections and messages, which are met in no order: what every message
  // needs of each comes first, in one line of the cache.
  struct alignas(64) Hop {
    Rank source = 0, destination = 0;
    std::uint64_t messages = 0, bytes = 0;
    double delay = 0;
    double busy = 0, busy_until = 0, waited = 0;
    std::unique_ptr<Rarities> rare;

    std::uint32_t limit() const { return rare ? rare->limit : none; }
    bool stuck() const { return rare && rare->stuck; }
    Rarities& more() {
      if (!rare) rare = std::make_unique<Rarities>();
      return *rare;
    }
  };
  // Messages of a connection move in order.
  struct alignas(64) Connection {
    Route route;
    Hop* hop = nullptr;
    double lost = 0, patience = 0;            // of all links together
    std::uint32_t first = none, last = none;  // messages that wait
    std::uint8_t rail = 0;
    bool moving = false;
  };
  struct alignas(64) Message {
    Connection* way = nullptr;
    PacketBody::Shared packet;  // null: a message that somebody posted a receive for
    double load = 0;            // bytes, with noise
    double path_end = 0;        // when its last byte has left the links between the ports
    double service = 0;         // what it takes on the slowest part of its way, alone
    double matched = 0;
    Rank from = 0, to = 0;
    std::uint32_t send_token = 0;
    std::uint8_t late = 0;
    bool adds : 1 = false, vanishes : 1 = false, breaks : 1 = false;
    bool lost : 1 = false, doubled : 1 = false, copy : 1 = false;
    Lane lane = 0;
    std::uint32_t sequence = 0, receive_token = 0;
    std::uint32_t next = none;  // of those that wait with it
    std::uint64_t bytes = 0;
    double posted = 0, moved = 0;
  };
  struct Posted {
    std::uint64_t bytes = 0;
    std::uint32_t token = 0;
    double at = 0;
    bool adds = false;
  };
  // Posts that wait for their other half: all sends, or all receives.
  struct Wire {
    bool receives = false;
    std::uint32_t sequence = 0;
    std::uint32_t connections = none;  // the first of them, by rail; one without a hop was not used yet
    std::size_t first = 0;
    std::vector<Posted> posts;
  };
  using Kind = Event::Kind;

  Hop& hop_of(Rank from, Rank to);
  Connection& connection(Wire& wire, Rank from, Rank to, Lane lane, std::uint64_t nth);
  Wire& wire(Rank from, Rank to, Lane lane);
  Wire& packet_wire(Rank from, Rank to);
  void at(double time, Kind kind, std::uint32_t index) { agenda_.push(time, kind, index); }
  const HopCost& cost_of(const Connection& way) const {
    return way.route.inter ? fabric_.inter : fabric_.intra;
  }

  void match(Wire& wire, Rank from, Rank to, Lane lane, const Posted& send, const Posted& receive);
  bool admit(Message& message);
  std::uint32_t store(Message message);
  void finish(Rank rank, std::uint32_t token);
  void note_finished(Rank rank);
  void handle(const Event& event);
  void sent(std::uint32_t message);
  void deliver(std::uint32_t message);
  void resume_all();
  void fail_on(const Hop& hop, Cause cause, std::string what);
  void explain_standstill(bool late);
  void fill_trace();
  double next_time();
  void advance();

  // Fair sharing, flows.cc.
  void enqueue(std::uint32_t message);
  void begin(Connection& way);
  void enter(std::uint32_t message);
  void leave_link(std::uint32_t message);
  void left(std::uint32_t message);
  double work(Rank rank, double seconds);  // when its processor is done with it
  void add_new_links();
  void watch_flapping();
  void flap(std::uint32_t link);

  // First come, first served, ports.cc.
  static std::uint32_t row(std::uint32_t link, std::uint32_t which) { return 3 * link + which; }
  void launch(std::uint32_t message);
  void depart(std::uint32_t message);
  void wake(std::size_t port);
  void arrive(std::uint32_t message);

  void strike(Message& message);
  void deliver_packet(std::uint32_t index);
  void hand_over(std::uint32_t index);
  void release_held(Hop& hop);
  void release_late(std::uint32_t index);
  void deliver_mail(Rank rank);

  const Fabric& fabric_;
  const SimOptions& options_;
  const bool fair_;
  Network network_;
  Sharing sharing_;
  std::size_t shared_links_ = 0;
  std::vector<std::uint32_t> ended_;
  std::vector<double> processor_;  // by rank: busy until
  std::vector<std::unique_ptr<Player>> players_;
  std::vector<Port> ports_;  // by link
  Index hop_numbers_, wire_numbers_;
  std::vector<std::vector<std::uint32_t>> packet_wires_;  // by source and destination
  StableVector<Hop> hops_;
  StableVector<Wire> wires_;
  StableVector<Connection> connections_;
  StableVector<Message> messages_;
  std::vector<std::uint32_t> unused_;
  Agenda agenda_;
  std::deque<std::pair<Rank, std::coroutine_handle<>>> ready_;
  std::vector<double> receiving_, receiving_until_;     // by rank
  std::vector<std::pair<Rank, std::uint32_t>> timers_;  // rank and token
  std::vector<std::uint32_t> flapping_;                 // links
  bool flaps_armed_ = false;
  std::size_t pending_flaps_ = 0;
  std::uint64_t moving_ = 0;  // messages on connections
  bool reliable_ = true;
  double now_ = 0;
  Rank finished_ = 0;
  SimReport report_;
};

}  // namespace ringtrue::sim
