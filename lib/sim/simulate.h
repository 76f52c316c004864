// Plays a collective's own coroutines on a modelled fabric, in virtual time, deterministically.
//
// The model
// - A message starts when its send and its receive are both posted (rendezvous). The messages of a connection
// - a
//   hop, a lane, a rail - move one after the other. Connections share the links that they cross, each at its
//   max-min fair rate (sim/sharing.h). Alone, a message takes overhead + latency + bytes / slowest rate.
// - Its sender's processor prepares a message for the hop's overhead, its receiver's for the receive overhead
// and
//   for what adding takes; a rank's processor does one thing at a time.
// - The receive is done when its last byte is in and added; the send, when that byte has left.
// - A packet (collective/packets.h) is one message of its header and its parts. It starts when it is sent and
//   waits for nobody. A packet to several ranks is copied, and the copies leave one after the other.
// - A packet waits in its sender's port and in every further link behind those that came before it, and each
//   link passes bytes on as they come (cut-through): that is what ports do, and a packet is short. So are
//   messages played where `Discipline::fifo` is chosen.
// - Where the faults lose, double, reorder or corrupt a share, they do it to packets alone. A corrupted
// packet
//   is recognised and dropped at its receiver. A lost one has crossed its sender's port. One that lets others
//   pass waits for two latencies at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collective/algorithm.h"
#include "collective/fault.h"
#include "collective/packets.h"
#include "run/trace.h"
#include "sim/fabric.h"

namespace ringtrue::sim {

// Whether a worker's block holds anything but zeros. For collectives that ask; empty: all blocks do.
using HasBlock = std::function<bool(collective::Rank worker, std::uint64_t block)>;
// Appends those of elements [begin, end), one of its blocks, that a worker holds, rising.
using ValuesIn = std::function<void(collective::Rank worker, std::uint64_t begin, std::uint64_t end,
                                    std::vector<std::uint64_t>& elements)>;

// A packet's way, for those who explain a protocol.
struct PacketSeen {
  Seconds sent, arrived;  // arrived: when it was handed to its receiver
  collective::Rank from = 0, to = 0;
  std::vector<std::byte> header;
  std::uint64_t payload = 0;  // bytes
};

// How messages share a link. automatic: packets in order of arrival; so, too, two-shot and one-shot over more
// ranks than `max_fair_pairs` allows, whose pairs all send at once; all else fairly.
enum class Discipline : std::uint8_t { automatic, fair, fifo };
inline constexpr std::int64_t max_fair_pairs = 20'000;
std::string_view name(Discipline discipline);  // "max-min fair", "first come, first served"

// automatic: the recurrence where it applies and saves time.
enum class Method : std::uint8_t { automatic, events, recurrence };
std::string_view name(Method method);  // "events", "recurrence"

struct SimOptions {
  std::uint64_t seed = 1;
  double noise = 0;      // each message needs up to this share more of its links' time
  double run_noise = 0;  // each link is slower by up to this share throughout the run
  Discipline discipline = Discipline::automatic;
  Method method = Method::automatic;
  std::vector<collective::Fault> faults;
  Seconds deadline{0};  // of virtual time; 0: as long as anything moves
  bool events = false;  // keep every message, as its sender saw it
  HasBlock has_block;
  ValuesIn values;       // of pairs; empty: all of a block
  bool rounds = false;   // keep what aggregators saw of every round
  bool packets = false;  // keep every packet that arrived
};

struct SimReport {
  Seconds time;                              // until the last rank is done
  Method method = Method::events;            // that ran
  Discipline discipline = Discipline::fair;  // that held
  std::uint64_t messages = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t corrupted = 0;  // messages with a value changed by a fault
  run::Trace trace;             // hops as the senders saw them, by source and destination; waiting for a port
                                // that carries other hops' messages is not part of `busy`
  std::vector<Seconds> waited;  // by hop, as in trace.hops: time that messages stood waiting for a port
  // Of algorithms that use packets.
  std::vector<collective::PacketCounts> counts;  // by rank
  std::vector<Seconds> receiving;  // by rank: time in which packets stood before its port or crossed it
  std::vector<collective::RoundSeen> rounds;  // as they were concluded, of all aggregators
  std::vector<PacketSeen> packets;            // as they arrived
  // Why it did not end: the hop that was cut, corrupted or stuck (Cause::peer_lost, corrupted, deadline).
  std::optional<Error> error;
};

// Fails (bad_input) where the fabric is none - no ranks, a rate or a factor that is not above zero -, where
// the call does not fit it, and where packets get lost and the algorithm does not recover.
Result<SimReport> simulate(const collective::Algorithm& algorithm, const collective::Call& call,
                           const Fabric& fabric, const SimOptions& options = {});

}  // namespace ringtrue::sim
