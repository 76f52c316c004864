// One daemon's stream of commands and events. gRPC stays behind this header (link.cc).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "fleet/fleet.h"
#include "pki/pki.h"
#include "probe/request.h"
#include "run/device_event.h"
#include "run/job.h"
#include "run/member.h"
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

// `pki`: the folder of the certificates, which Unix sockets do without; empty for --insecure. A daemon that
// has not been reached after most of `deadline` fails with the reason.
Result<std::shared_ptr<Dialer>> make_dialer(const std::vector<Target>& targets, const std::string& pki,
                                            Seconds deadline);
std::shared_ptr<Dialer> make_dialer(std::shared_ptr<const pki::PemBundle> own, Seconds connect_time);

std::shared_ptr<Link> open_link(Dialer& dialer, const Target& target, int node,
                                std::shared_ptr<Listener> listener);

// Destroys the streams that are over. Never from a Listener's call.
void sweep_links();

// Asks every daemon what it is, 256 at a time, each for at most `deadline`; returns when all have answered.
// `told` is called once a target, from any thread; `gently`: from this one, which does all of it.
void ask_all(Dialer& dialer, const std::vector<Target>& targets, Seconds deadline,
             const std::function<void(std::size_t target, Result<NodeState> state)>& told,
             const Gently* gently = nullptr);

// The same for a recording of its node.
void inspect_all(Dialer& dialer, const std::vector<Target>& targets, const probe::ReadRequest& question,
                 Seconds deadline,
                 const std::function<void(std::size_t target, Result<std::string> recording)>& told);

// The same for what its devices did in the last so many seconds.
void events_of_all(Dialer& dialer, const std::vector<Target>& targets, std::int64_t seconds, Seconds deadline,
                   const std::function<void(std::size_t target, Result<run::DeviceEvents> events)>& told);

}  // namespace ringtrue::fleet
