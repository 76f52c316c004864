// Where jobs are played: in this process, in a few processes of this machine, or on the daemons of the hosts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fleet/fleet.h"
#include "operator/setup.h"
#include "run/job.h"
#include "run/report.h"

namespace ringtrue::ops {

// Aggregators of an omnireduce.
struct AggregatorOptions {
  std::optional<int> count;          // one a node, or a worker in one process, if not given
  std::optional<std::string> hosts;  // nodes for them alone
  bool dedicated = false;            // asked for by name
};

struct RunnerOptions {
  int processes = 1;  // a node
  std::optional<AggregatorOptions> aggregators;
  int spare_ranks = 0;  // that a job may have on a node beyond its ranks
};

class Runner {
 public:
  virtual ~Runner() = default;
  // Names by Seat::node.
  virtual const std::vector<std::string>& nodes() const = 0;
  // One rank after the other, over all nodes; the rest is the caller's.
  virtual run::Job job() const = 0;
  // The aggregators of RunnerOptions behind the ranks of job().
  virtual void add_aggregators(run::Job& job) const = 0;
  virtual int aggregators() const = 0;
  virtual bool dedicated() const = 0;
  // Those with workers; they come first among nodes().
  virtual int worker_nodes() const = 0;
  // Ends by `until`, if the setup's deadline for a run is not sooner. Where it fails on daemons, the runner
  // is fit only for destruction.
  virtual Outcome<run::RunReport> play(const run::Job& job, Deadline until = Deadline::never()) = 0;
  virtual std::string where() const = 0;  // "8 ranks on this machine"
  virtual bool local() const = 0;
  virtual int ranks_per_node() const = 0;
};

Trouble trouble_of(const fleet::FleetError& error);

// The daemons behind the configured hosts.
Result<std::vector<fleet::Target>> targets_of(const Setup& setup);
// The daemons of the hosts, and behind them those for aggregators alone.
struct Nodes {
  std::vector<fleet::Target> targets;
  int workers = 0;  // of them
  int aggregators = 0;
  bool dedicated = false;
};
Result<Nodes> nodes_of(const Setup& setup, const RunnerOptions& options);
fleet::Options fleet_options(const Setup& setup, const RunnerOptions& options, const Nodes& nodes,
                             const Control& control);

// The local ranks or the hosts; the error says what to give where there is neither. The control outlives it.
Outcome<std::unique_ptr<Runner>> make_runner(const Setup& setup, const RunnerOptions& options,
                                             const Control& control);
// Daemons that are leased already. `fleet` was made with `options`.
std::unique_ptr<Runner> make_fleet_runner(std::unique_ptr<fleet::Fleet> fleet, fleet::Options options,
                                          const Nodes& nodes, const Control& control);

}  // namespace ringtrue::ops
