// A lease at one daemon: its stream of commands and events. gRPC stays behind this header (link.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "fleet/fleet.h"
#include "run/report.h"
#include "wire/convert.h"

namespace ringtrue::fleet {

inline constexpr Seconds heartbeat_interval{1};

// A command that is made once and sent to any number of daemons.
using CommandPtr = std::shared_ptr<const rpc::Command>;

// The answer to one command.
struct Reply {
  std::uint64_t sequence = 0;
  std::optional<Error> error;
  wire::Prepared prepared;
  run::RunReport report;  // of collect
  int ranks = 0;          // of acquire: that a job may have there
  std::int64_t at = 0;    // now_ns
};

// Called from gRPC's threads; must not block for long.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void heard(int node) = 0;  // any event, heartbeats too
  virtual void replied(int node, Reply reply) = 0;
  // The stream is over; nothing follows.
  virtual void ended(int node, Error why) = 0;
};

class Link {
 public:
  virtual ~Link() = default;
  // All may be called from any thread; none blocks. Ignored once the stream is over.
  virtual void send(CommandPtr command) = 0;
  // Not queued behind another one that has not gone out yet.
  virtual void heartbeat() = 0;
  virtual void close() = 0;   // after what is queued, nothing more comes from this side
  virtual void cancel() = 0;  // the stream ends at once
  // Whether its daemon has taken the connection: a machine does so for a daemon that is stopped, but only the
  // daemon itself ends the handshake.
  virtual bool connected() const = 0;
};

std::shared_ptr<Link> open_link(Dialer& dialer, const Target& target, int node,
                                std::shared_ptr<Listener> listener);

// Destroys the streams that are over. Never from a Listener's call.
void sweep_links();

}  // namespace ringtrue::fleet
