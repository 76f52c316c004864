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

// Aggregators of an omnireduce.
struct AggregatorOptions {
  std::optional<int> count;          // one a node, or a worker in one process, if not given
  std::optional<std::string> hosts;  // nodes for them alone
  bool dedicated = false;            // asked for by name
};

struct PlayerOptions {
  int processes = 1;  // a node
  std::optional<Pause> pause;
  std::optional<AggregatorOptions> aggregators;
  int spare_ranks = 0;  // that a job may have on a node beyond its ranks
};

class Player {
 public:
  virtual ~Player() = default;
  // Names by Seat::node.
  virtual const std::vector<std::string>& nodes() const = 0;
  // One rank after the other, over all nodes; the rest is the caller's.
  virtual engine::Job job() const = 0;
  // The aggregators of PlayerOptions behind the ranks of job().
  virtual void add_aggregators(engine::Job& job) const = 0;
  virtual int aggregators() const = 0;
  virtual bool dedicated() const = 0;
  // Those with workers; they come first among nodes().
  virtual int worker_nodes() const = 0;
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
// The daemons of the hosts, and behind them those for aggregators alone.
struct Nodes {
  std::vector<fleet::Target> targets;
  int workers = 0;  // of them
  int aggregators = 0;
  bool dedicated = false;
};
Result<Nodes> nodes_of(const Context& context, const PlayerOptions& options);
fleet::Options fleet_options(const Context& context, const PlayerOptions& options, const Nodes& nodes);
Played<std::unique_ptr<fleet::Fleet>> lease(const Context& context, const PlayerOptions& options,
                                            const Nodes& nodes);

// --local N or the hosts; the error says what to give where there is neither.
Played<std::unique_ptr<Player>> make_player(const Context& context, const PlayerOptions& options);

}  // namespace ringtrue::cmd
