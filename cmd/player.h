// Where a command's jobs are played: in this process, in a few of its own processes, or on the daemons of
// the hosts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/command.h"
#include "engine/job.h"
#include "fleet/fleet.h"

namespace ringtrue::cmd {

template <class T>
using Played = tl::expected<T, report::Trouble>;

// For tests of what happens when something breaks at a given moment: wait before a phase.
struct Pause {
  std::string phase;
  Seconds time;
};
Result<Pause> parse_pause(std::string_view text);  // "connect=3", "run=1.5s"

struct PlayerOptions {
  int processes = 1;  // a node
  std::optional<Pause> pause;
};

class Player {
 public:
  virtual ~Player() = default;
  // Names by Seat::node.
  virtual const std::vector<std::string>& nodes() const = 0;
  // One rank after the other, over all nodes; the rest is the caller's.
  virtual engine::Job job() const = 0;
  virtual Played<engine::RunReport> play(const engine::Job& job) = 0;
  virtual std::string where() const = 0;  // "8 ranks on this machine"
  virtual bool local() const = 0;
  virtual int ranks_per_node() const = 0;
};

// None with --local.
std::optional<report::Deadlines> deadlines_of(const Context& context);
report::Trouble trouble_of(const fleet::FleetError& error);

// The daemons behind --hosts (or the configuration's hosts).
Result<std::vector<fleet::Target>> targets_of(const Context& context);
fleet::Options fleet_options(const Context& context, const PlayerOptions& options);
Played<std::unique_ptr<fleet::Fleet>> lease(const Context& context, const PlayerOptions& options);

// --local N or the hosts; the error says what to give where there is neither.
Played<std::unique_ptr<Player>> make_player(const Context& context, const PlayerOptions& options);

}  // namespace ringtrue::cmd
