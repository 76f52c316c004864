// One end of an RDMA hop between two ranks on one lane, for one run.
//
// Messages are cut into slices. A slice is written (RDMA WRITE WITH IMM) into the next slot of a ring that
// the receiver has registered; the immediate says which slice it is, so that slices may come over several
// queue pairs and rails in any order and are taken in order. The sender needs a credit for each slot; the
// receiver gives them back as it takes slices, in batches, with an empty write of its own.
//
//   slot       16-byte head on a message's first slice: its length and number; then payload (slice.h)
//   immediate  2 bits what: slice, message's last slice, credits; 30 bits: number of the slice, or of credits
//
// Payload leaves from the ranks' registered memory, or is copied into the pool first; short messages are sent
// inline. Only the last write of a message, and now and then one in between, asks for a completion.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "run/rdma.h"
#include "transport/loop.h"
#include "transport/transport.h"
#include "transport/verbs/memory.h"
#include "transport/verbs/queues.h"
#include "transport/verbs/slice.h"

namespace ringtrue::transport::verbs {

// Our time of what a device stamped by its own clock.
class DeviceClock {
 public:
  // When it happened, by now_ns(), seen at `now`. It was earlier than it is seen: by as much as the quickest
  // one was, while the clocks drift apart by 600 millionths at most: oscillators, and ours while NTP slews
  // it.
  std::int64_t ours(std::int64_t stamp, std::int64_t now) {
    std::int64_t ahead = now - stamp;
    if (ahead_) ahead = std::min(ahead, *ahead_ + std::max<std::int64_t>(0, stamp - stamp_) * 6 / 10'000);
    ahead_ = ahead;
    stamp_ = stamp;
    return stamp + ahead;
  }

 private:
  std::optional<std::int64_t> ahead_;  // now_ns() minus the device's clock, at least
  std::int64_t stamp_ = 0;             // when
};

class Channel final : public transport::Channel, public Watcher, private Queues::User {
 public:
  struct Line {  // a queue pair
    Queues* queues = nullptr;
    QueuePair* pair = nullptr;
    run::RdmaPort port;
    std::string peer_port;       // for errors
    std::size_t device = 0;      // its index in Registered
    std::uint32_t ring_key = 0;  // of the peer's ring
  };
  // Everything in it is connected and outlives the channel.
  struct Setup {
    std::string node;  // this one's name
    Hop hop;
    int control = -1;  // stays the caller's
    std::vector<Line> lines;
    std::uint32_t slice_bytes = 0;  // payload of a slice, a multiple of 64: both ends' alike
    std::uint32_t slots = 0;        // of our ring
    std::uint64_t slot_bytes = 0;   // from one slot of it to the next
    const std::byte* ring = nullptr;
    std::uint32_t peer_slots = 0;
    std::uint64_t peer_slot_bytes = 0, peer_ring = 0;
    // For slices that are copied, each of slot_stride(slice_bytes), and behind them a head for each place in
    // the send queues.
    std::byte* staging = nullptr;
    std::uint32_t staging_slots = 0;
    const Registered* staging_keys = nullptr;
    const Registered* own = nullptr;  // the ranks' memory; may be null
    Reach ranks;                      // the same
    std::uint64_t adaptive_routing_threshold = 0;
  };
  Channel(Setup setup, Loop& loop, Owner& owner, const Reducer& reducer, faulty::Script script);
  ~Channel() override;
  static std::uint64_t heads_bytes(std::size_t lines, int sends) {
    return lines * std::size_t(sends) * head_bytes;
  }

  void send(std::uint64_t token, const std::byte* from, std::uint64_t length, bool more = false) override;
  void receive(std::uint64_t token, const Destination& destination) override;
  void reset_counters() override;
  HopStatistics statistics() const override;

  void ready(std::uint32_t epoll_events) override;  // the control connection

 private:
  enum class Way : std::uint8_t { inlined, direct, copied };
  struct Outgoing {
    std::uint64_t token = 0;
    const std::byte* from = nullptr;
    std::uint64_t length = 0;
    std::uint32_t number = 0;
    Way way = Way::inlined;
    bool broken_frame = false, over = false;
    std::uint64_t slices = 1, written = 0, in_flight = 0;  // in flight: written, not completed
    std::int64_t posted = 0, moved = 0;
    std::vector<std::byte> broken;  // stands in for the payload when a script breaks it
  };
  struct Incoming {
    std::uint64_t token = 0;
    Destination destination;
    std::int64_t posted = 0;
  };
  struct Posted {  // a slice's write that has not completed
    std::uint64_t work = 0;
    std::uint64_t message = 0;  // counted from the run's first
    int staging = -1;           // slot; -1: none
    bool signaled = false;
    std::uint32_t bytes = 0;
    std::int64_t alone_since = 0;  // when it was posted, if short and with nothing else of its port; 0: not
  };
  struct Rail {  // all lines of one port
    run::RdmaPort port;
    std::uint64_t bytes = 0;    // completed
    std::size_t in_flight = 0;  // slices that have not completed
    std::int64_t since = 0, busy_ns = 0;
  };
  struct Sending : Line {
    std::size_t rail = 0;
    std::uint64_t written = 0, completed = 0;  // work requests
    int unsignaled = 0, unsignaled_staging = 0;
    std::deque<Posted> posted;
    std::vector<Write> batch;  // built, not given to the device
    DeviceClock clock;
  };
  struct Slot {
    bool full = false, last = false;
    std::uint32_t bytes = 0;
  };
  enum class Limit : std::uint8_t { none, credit, queue };

  // sending.cc
  void enqueue(Outgoing message, bool more);
  void flush();
  bool write_some();
  bool write_slice();
  bool build(Sending& line, const Outgoing& message, int slot);  // false: it has failed
  bool wants_signal(const Sending& line, const Outgoing& message) const;
  void post(Sending& line);
  void finish_sent();
  void give_credits();
  void settle();
  void limited_by(Limit limit);
  void completed_send(Sending& line, const Completion& completion);
  std::byte* staging(int slot) const {
    return setup_.staging + std::uint64_t(slot) * slot_stride(setup_.slice_bytes);
  }
  std::byte* head_place(const Sending& line) const;  // of the next write
  std::size_t room(const Sending& line) const {
    return std::size_t(line.queues->sends()) - std::size_t(line.written - line.completed);
  }

  // channel.cc
  void completed(std::size_t line, const Completion& completion) override;
  bool take() override;
  void broken(Error error) override { fail(std::move(error), due()); }
  void arrived(const Completion& completion);
  void credited(std::uint32_t number);
  bool can_take() const {
    return !over_ && !incoming_.empty() && ring_[std::size_t(next_ % setup_.slots)].full;
  }
  void take_slice();
  Result<void> place(const Destination& to, const std::byte* from, std::uint64_t bytes);
  bool begin_message(const std::byte* slot);
  void finish_message();
  void take_soon();
  bool due() const { return !incoming_.empty() || !outgoing_.empty() || delayed_ > 0; }
  void fail(Error error, bool concerns_us);
  void corrupted(const std::string& why);
  void cannot_copy(const Error& why);
  void lost(const std::string& why) { fail(connection_lost(hop_, why), due()); }

  Setup setup_;
  Loop& loop_;
  std::vector<Sending> lines_;
  std::vector<Rail> rails_;
  int max_inline_ = 0;

  std::deque<Outgoing> outgoing_;
  std::uint64_t first_ = 0;         // message that is outgoing_.front()
  std::size_t next_unwritten_ = 0;  // first of outgoing_ that has slices to be written
  std::uint32_t next_message_ = 0;
  std::uint64_t next_slice_ = 0, acknowledged_ = 0;  // slices written; of these, taken by the receiver
  std::size_t unconfirmed_ = 0;                      // signaled writes of slices without a completion
  std::size_t delayed_ = 0;                          // messages that the script holds back
  std::vector<int> free_staging_;
  bool flushing_ = false;

  std::deque<Incoming> incoming_;
  std::vector<Slot> ring_;
  std::vector<std::byte> reduced_;                  // on its way to memory that takes a copier
  std::uint64_t next_ = 0, credits_to_return_ = 0;  // slices taken; of these, without a credit given back
  std::uint32_t expected_message_ = 0;
  bool in_message_ = false, queued_ = false;
  std::uint64_t length_ = 0, arrived_ = 0;  // of the message in hand
  std::uint64_t received_bytes_ = 0;        // since the beginning
  std::int64_t message_began_ = 0;

  bool watched_ = false;
  bool over_ = false;             // the owner knows that the run has failed
  std::optional<Error> waiting_;  // a failure that concerns nobody yet

  std::int64_t busy_since_ = 0, limited_since_ = 0;
  std::int64_t last_completion_ = 0;
  Limit limit_ = Limit::none;
  std::int64_t limited_ns_[3] = {};
  std::uint64_t writes_ = 0;
  std::int64_t min_rtt_ns_ = 0;  // see run::RdmaHop; 0: none yet
};

}  // namespace ringtrue::transport::verbs
