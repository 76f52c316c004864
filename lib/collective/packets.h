// What a world offers beyond collective/endpoint.h to a collective whose messages depend on the data: packets
// whose header says where their payload goes, a clock with timers, and the view on what is not zero.
//
// Contract
// - A packet is a small header and parts of the sender's buffers. It finds its destination when its header
//   arrives, so nobody posts receives: all packets to a rank go to its one PacketHandler.
// - A reliable world delivers every packet of an ordered pair of ranks once and in order. Another one may
//   lose, double and reorder packets, but never delivers a broken one.
// - Between one pair, the parts that the receiver places are as long as those that the sender sent, in order.
// - A packet that comes before there is a handler waits for one (a world that is not reliable may drop it).
// - The handler is called from the world's loop, never from inside a call to this interface. It may send, and
//   resume coroutines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "collective/endpoint.h"

namespace ringtrue::collective {

inline constexpr std::size_t max_header_bytes = 33 * 1024;
inline constexpr std::size_t max_packet_parts = 64;

// Packets travel on this lane of a pair; zero-byte messages beside them on the next one.
inline constexpr Lane packet_lane = 0, farewell_lane = 1;

// Where a part of an arriving packet goes: stored, or combined with what is there.
struct PacketPart {
  Slice into;
  bool reduce = false;
};

enum class Placed : std::uint8_t {
  accepted,  // into the given parts
  dropped,   // a duplicate or a late one; only where the world is not reliable
  broken,    // no program writes such a header: the run is over
};

class PacketHandler {
 public:
  virtual ~PacketHandler() = default;
  // A packet's header is here. `parts` comes empty.
  virtual Placed place(Rank from, std::span<const std::byte> header, std::vector<PacketPart>& parts) = 0;
  // All of an accepted packet is at its place. Between the two calls packets of other ranks may be placed and
  // arrive; those of the same rank may not. The program may end in it, and the handler with it: the world
  // must not touch the handler, the parts or the header's copy through it afterwards.
  virtual void arrived(Rank from, std::span<const std::byte> header) = 0;
  // Whom this rank cannot go on without; -1: nobody. For the error when time is up.
  virtual Rank waiting_for() const = 0;
};

// What carries a rank's packets over wires (channels, datagrams) talks to this: the rank's handler, with what
// a carrier has to know besides. Told on the rank's thread.
class PacketReceiver : public PacketHandler {
 public:
  // Whether the program handles packets now: if not, a reliable carrier keeps them, and another one may drop
  // them.
  virtual bool listening() const = 0;
  // Which call of the run it handles, or has handled last; from 1, and 0 before the first. The ranks of a run
  // go through the same calls.
  virtual std::uint32_t call() const = 0;
  virtual std::byte* address(const Slice& slice) const = 0;  // of this rank's memory
  // Of sending the packet `id`: `messages` more calls of sent(id) will come, possibly at once.
  virtual void expect(std::uint32_t id, std::uint32_t messages) = 0;
  virtual void sent(std::uint32_t id) = 0;
  virtual void failed(Error error) = 0;               // the run is over; done already after Placed::broken
  virtual std::string describe(Rank rank) const = 0;  // for errors: its role, node and number
};

// Which blocks of this rank's data hold a value that is not zero. Found ahead of need, piece by piece, in
// order. -0.0 is zero; NaN, infinities and denormals are not.
class NonZeroBlocks {
 public:
  virtual ~NonZeroBlocks() = default;
  virtual std::uint64_t blocks() const = 0;
  virtual std::uint64_t known() const = 0;           // blocks [0, known) have been looked at
  virtual bool operator[](std::uint64_t) const = 0;  // of a known block
  virtual void look_further() = 0;  // a bounded piece of work, some 10 us; nothing at the end
  // Appends the elements of a known block that are not zero, rising. None of them may have been written to
  // since the block became known.
  virtual void values(std::uint64_t block, std::vector<std::uint64_t>& elements) const = 0;
};

// What a rank did in the call in progress.
struct PacketCounts {
  std::uint64_t packets = 0;     // sent by a worker, empty answers included, resent ones not
  std::uint64_t blocks = 0;      // in them
  std::uint64_t multicasts = 0;  // results sent by an aggregator to all workers
  std::uint64_t resent = 0;      // by a worker after a timeout, by an aggregator to a worker that asked again
  std::uint64_t dropped = 0;     // duplicates and late packets
  std::uint64_t pairs = 0;       // in the packets of a worker that sends pairs instead of blocks

  bool operator==(const PacketCounts&) const = default;
};

// One round of a slot, as its aggregator saw it. `blocks`: those whose sums it sends; `wanted` for the next
// round, by column of the stream; `present` workers whose blocks are in the sum, by column. Of pairs `keys`
// stand for `blocks`, and one key is wanted.
struct RoundSeen {
  std::uint32_t stream = 0;
  std::uint64_t round = 0;
  std::vector<std::uint64_t> blocks, keys;
  std::vector<std::uint64_t> wanted;  // block index for each of `blocks`, `no_block` where the column is done
  std::vector<Rank> present;          // how many workers, for each of `blocks` or `keys`
};
inline constexpr std::uint64_t no_block = ~std::uint64_t(0);

class Packets {
 public:
  virtual ~Packets() = default;

  virtual bool reliable() const = 0;
  // To be called once a program begins; nullptr before it ends.
  virtual void handle(PacketHandler* handler) = 0;
  // The same packet to several ranks. The header is copied at once; the parts may be overwritten once the
  // token is done. Zero parts are allowed.
  virtual Token send_packet(std::span<const Rank> to, std::span<const std::byte> header,
                            std::span<const Slice> parts) = 0;

  // Arithmetic on this rank's own memory, done on return.
  virtual void neutral(Slice into) = 0;  // fills with the operation's neutral element
  // Completes a reduction of which `missing` of all workers had nothing but zeros to add: min, max and prod
  // combine with zero if any is missing; avg divides by the number of workers.
  virtual void conclude(Slice into, Rank missing) = 0;
  // Values that lie apart, and side by side in a slice of scratch: as many as the slice holds.
  virtual void collect(Slice into, std::span<const std::uint64_t> elements) = 0;  // into[i] = data[element i]
  virtual void distribute(std::span<const std::uint64_t> elements,
                          Slice from) = 0;  // data[element i] = from[i]
  // into[place i] = into[place i] (op) from[i]. Places rise, and are those of elements of `into`.
  virtual void combine(Slice into, std::span<const std::uint32_t> places, Slice from) = 0;

  virtual NonZeroBlocks& non_zero() = 0;  // of this rank's data in the call in progress, from its beginning

  virtual Seconds now() const = 0;
  virtual Token timer(Seconds from_now) = 0;  // done when that time has passed
  // It never becomes done; who waits for it is forgotten, never resumed. Nothing for one that is done.
  virtual void cancel(Token timer) = 0;
  virtual Token idle() = 0;  // done when the world has nothing more urgent to do for this rank

  virtual PacketCounts& counts() = 0;
  virtual void seen(const RoundSeen&) {}  // for worlds that explain
  virtual bool wants_rounds() const { return false; }
  // The run is over: `peer` does not answer.
  virtual void give_up(Rank peer, std::string what) = 0;
};

}  // namespace ringtrue::collective
