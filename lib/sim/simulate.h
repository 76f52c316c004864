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
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "collective/algorithm.h"
#include "collective/fault.h"
#include "sim/fabric.h"
#include "trace/trace.h"

namespace ringtrue::sim {

struct SimOptions {
  std::uint64_t seed = 1;
  double noise = 0;  // each message needs up to this share more of its ports' time
  std::vector<collective::Fault> faults;
  Seconds deadline{0};  // of virtual time; 0: as long as anything moves
  bool events = false;  // keep every message, as its sender saw it
};

struct SimReport {
  Seconds time;  // until the last rank is done
  std::uint64_t messages = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t corrupted = 0;  // messages with a value changed by a fault
  trace::Trace trace;           // hops as the senders saw them, by source and destination; waiting for a port
                                // that carries other hops' messages is not part of `busy`
  std::vector<Seconds> waited;  // by hop, as in trace.hops: time that messages stood waiting for a port
  // Why it did not end: the hop that was cut, corrupted or stuck (Cause::peer_lost, corrupted, deadline).
  std::optional<Error> error;
};

// Fails where the fabric is none: no ranks, a rate or a factor that is not above zero.
Result<SimReport> simulate(const collective::Algorithm& algorithm, const collective::Call& call,
                           const Fabric& fabric, const SimOptions& options = {});

}  // namespace ringtrue::sim
