// The shared memory of one node: mailboxes of its threads, the channels between its ranks, and the ranks' own
// buffers. Every process of the node computes the same layout, so that offsets mean the same in all of them.
//
//   [ Mailbox per thread ][ Lanes: one Direction per ordered pair and lane ][ data and scratch per rank ]
//
// A message is a rendezvous in a Slot: sender and receiver each describe their half and set their bit;
// whoever comes second moves the bytes, straight from the sender's buffer into the receiver's, reducing on
// the way.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "collective/endpoint.h"

namespace ringtrue::transport::shm {

using collective::Lane;
using collective::Rank;

inline constexpr std::uint32_t slots_per_direction = 32;

// State of a slot: the round in the upper bits (message number / slots_per_direction), these below.
// group_receive: the receiver moves the bytes, even if it came first.
inline constexpr std::uint64_t send_posted = 1, receive_posted = 2, group_receive = 4, moved = 8,
                               round_unit = 16;

struct alignas(64) Slot {
  std::atomic<std::uint64_t> state;
  std::uint64_t from, send_length;  // the sender's half; offsets into the shared memory
  std::uint64_t into, with,
      receive_length;      // the receiver's half; once moved, `with` is the time it took, ns
  std::uint32_t sequence;  // as the sender counts
  collective::Arrival how;
  bool broken_value;  // by a fault script
  bool up_to;         // the receiver takes a shorter message, too
};
static_assert(sizeof(Slot) == 64);

// One ordered pair of ranks on one lane.
struct alignas(64) Direction {
  std::atomic<std::uint8_t> notified[2];  // [0] sender, [1] receiver: a notice is in the mailbox already
  std::atomic<std::uint8_t> waits[2];     // that side has posts that wait for a free slot
  Slot slots[slots_per_direction];
};

// Many producers, one consumer. Holds a notice (direction, side) at most once, so it never overflows.
struct alignas(64) Mailbox {
  std::atomic<std::uint32_t> sleeping;
  alignas(64) std::atomic<std::uint64_t> tail;
  // followed by std::atomic<std::uint32_t>[2 * directions + 1]
};

struct DirectionKey {
  Rank source, destination;
  Lane lane;
  auto operator<=>(const DirectionKey&) const = default;
};

// What the node's processes agree on.
struct Plan {
  std::vector<Rank> ranks;     // on this node, rising
  std::vector<int> thread_of;  // by position in `ranks`: thread, counted over all processes of the node
  int threads = 1;
  std::vector<DirectionKey> directions;                  // rising
  std::vector<std::uint64_t> data_bytes, scratch_bytes;  // by position in `ranks`

  int position(Rank rank) const;
};

struct Layout {
  std::vector<std::uint64_t> mailboxes;      // offset by thread
  std::vector<std::uint64_t> directions;     // offset by index in Plan::directions
  std::vector<std::uint64_t> data, scratch;  // offset by position in Plan::ranks
  std::uint64_t control_bytes = 0;           // must be zero before the first use
  std::uint64_t bytes = 0;                   // in all
};

Layout lay_out(const Plan& plan);

}  // namespace ringtrue::transport::shm
