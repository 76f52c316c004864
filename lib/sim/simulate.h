// Plays a collective's own coroutines on a modelled fabric, in virtual time, deterministically.
//
// The model
// - A message starts when its send and its receive are both posted (rendezvous).
// - It leaves through the sender's port, crosses the path, and enters the receiver's port; each serves its
//   messages in order of arrival at its own rate, and passes bytes on as they come (cut-through). Alone, a
//   message takes overhead + latency + bytes / slowest rate. A message that is slow elsewhere leaves the rest
//   of a port's rate to others.
// - The receive is done when its last byte is in; the send, when that byte has left.
// - Computing takes no time.
// - A packet (collective/packets.h) is one message of its header and its parts. It starts when it is sent and
//   waits for nobody. A packet to several ranks is copied, and the copies leave one after the other.
// - Where the faults lose, double, reorder or corrupt a share, they do it to packets alone. A corrupted
// packet
//   is recognised and dropped at its receiver. A lost one has crossed its sender's port. One that lets others
//   pass waits for two latencies at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "collective/algorithm.h"
#include "collective/fault.h"
#include "collective/packets.h"
#include "sim/fabric.h"
#include "trace/trace.h"

namespace ringtrue::sim {

// Whether a worker's block holds anything but zeros. For collectives that ask; empty: all blocks do.
using HasBlock = std::function<bool(collective::Rank worker, std::uint64_t block)>;

// A packet's way, for those who explain a protocol.
struct PacketSeen {
  Seconds sent, arrived;  // arrived: when it was handed to its receiver
  collective::Rank from = 0, to = 0;
  std::vector<std::byte> header;
  std::uint64_t payload = 0;  // bytes
};

struct SimOptions {
  std::uint64_t seed = 1;
  double noise = 0;  // each message needs up to this share more of its ports' time
  std::vector<collective::Fault> faults;
  Seconds deadline{0};  // of virtual time; 0: as long as anything moves
  bool events = false;  // keep every message, as its sender saw it
  HasBlock has_block;
  bool rounds = false;   // keep what aggregators saw of every round
  bool packets = false;  // keep every packet that arrived
};

struct SimReport {
  Seconds time;  // until the last rank is done
  std::uint64_t messages = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t corrupted = 0;  // messages with a value changed by a fault
  trace::Trace trace;           // hops as the senders saw them, by source and destination; waiting for a port
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
