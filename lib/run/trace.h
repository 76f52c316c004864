// The record of a run: what each rank saw of each of its hops. All worlds leave the same record, and the
// diagnosis reads nothing else of a run.
//
// A hop is an ordered pair of ranks. Both of its ends keep a record; times are on the clock of the rank that
// kept it and are only ever compared with each other there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "run/rdma.h"

namespace ringtrue::run {

// One message of a hop, seen from one end. Times in nanoseconds since the rank's program started.
struct Event {
  std::int32_t source = 0;
  std::int32_t destination = 0;
  std::uint16_t lane = 0;
  std::uint32_t sequence = 0;  // the k-th message of (source, destination, lane)
  std::uint64_t bytes = 0;
  std::int64_t posted = 0;  // when this end posted it
  std::int64_t moved = 0;   // when its first byte moved at this end
  std::int64_t done = 0;    // when this end was done with it
  bool operator==(const Event&) const = default;
};

// What the kernel says of the connections of a hop, as a difference over the run (tcp_info(7)).
struct TcpHop {
  Seconds busy;            // time with data outstanding
  Seconds rwnd_limited;    // ... held back by the receiver's window
  Seconds sndbuf_limited;  // ... held back by our own send buffer
  std::uint64_t retransmits = 0;
  Seconds min_rtt;
  BytesPerSecond delivery_rate;  // the kernel's last sample
  bool operator==(const TcpHop&) const = default;
};

// A port's part of an RDMA hop.
struct RdmaRail {
  RdmaPort port;  // of the sender
  Bytes bytes;
  Seconds busy;  // time with slices of this port on their way
  bool operator==(const RdmaRail&) const = default;
};

// What an RDMA hop's sending end saw, as a difference over the run.
struct RdmaHop {
  Seconds busy;  // time with slices on their way, by the device's clock where it has one
  // ... in which the next slice waited for the receiver to free a slot although all that were written had
  // been acknowledged: what then holds the hop back is the receiving program. While slices are on the wire, a
  // full ring says nothing: a slow wire fills it as well.
  Seconds credit_limited;
  Seconds queue_limited;  // ... in which it waited for room in our own send queues
  std::uint64_t writes = 0;
  std::vector<RdmaRail> rails{};  // where it has several
  // From posting a short write, with nothing else of its port under way, to its completion, which takes the
  // other end's acknowledgement; the least. 0: there was none.
  Seconds min_rtt{};
  bool operator==(const RdmaHop&) const = default;
};

// A hop over a whole run, seen from its sending end (or its receiving end where `receiver` is set).
struct Hop {
  std::int32_t source = 0;
  std::int32_t destination = 0;
  bool receiver = false;  // which end kept this
  std::uint64_t messages = 0;
  Bytes bytes;
  Seconds busy;  // time in which bytes of this hop were in flight; see rate()
  std::optional<TcpHop> tcp;
  std::optional<RdmaHop> rdma;

  // Bytes over busy time: what the hop carried while it was carrying. Unknown (nullopt) when nothing moved.
  std::optional<BytesPerSecond> rate() const {
    if (bytes.value == 0 || busy.value <= 0) return std::nullopt;
    return bytes / busy;
  }
  bool operator==(const Hop&) const = default;
};

struct Trace {
  std::vector<Hop> hops;
  std::vector<Event> events;  // kept only when asked for; in order of `done` per rank
  bool operator==(const Trace&) const = default;
};

// Adds what one more of a hop's lanes measured (About::join). Lanes work side by side, so that of times the
// largest counts.
void join_lane(std::optional<TcpHop>& total, const TcpHop& lane);
void join_lane(std::optional<RdmaHop>& total, const RdmaHop& lane);

}  // namespace ringtrue::run
