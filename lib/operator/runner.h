// Where jobs are played: in this process, in a few processes of this machine, or on the daemons of the hosts.
#pragma once

#include <limits>
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
  int spare_ranks = 0;            // that a job may have on a node beyond its ranks, if all nodes allow it
  bool outlive_the_dead = false;  // of a fleet: go on without nodes that do not answer
};

// Where a runner's ranks are.
struct Place {
  std::vector<std::string> nodes{};  // by Seat::node; those with workers come first
  int worker_nodes = 1;
  int ranks_per_node = 1;
  int aggregators = 0;
  bool dedicated = false;  // on nodes of their own
  bool local = false;      // on this machine, without daemons
  std::string text{};      // "8 ranks in this process"
};

class Runner {
 public:
  explicit Runner(Place place) : place_(std::move(place)) {}
  virtual ~Runner() = default;
  const Place& place() const { return place_; }
  // One rank after the other, over all nodes with workers; the rest is the caller's.
  virtual run::Job job() const = 0;
  // The aggregators of RunnerOptions behind the ranks of job().
  virtual void add_aggregators(run::Job& job) const = 0;
  // That a job may have on a node: where nobody bounds it, as many as it likes.
  virtual int most_ranks_a_node() const { return std::numeric_limits<int>::max(); }
  // Ends by `until`, if the setup's deadline for a run is not sooner. Where it fails on daemons, the runner
  // is fit only for destruction, unless it outlives failures.
  virtual Outcome<run::RunReport> play(const run::Job& job, Deadline until = Deadline::never()) = 0;
  // Whether another job may succeed, after one that failed: here always, on daemons where that was for nodes
  // that are dead, which a job has to leave out from then on.
  virtual bool outlives_failures() const { return place_.local; }
  // Those nodes, with what they did last.
  virtual std::vector<Failure> dead() const { return {}; }

 private:
  const Place place_;
};

Trouble trouble_of(const fleet::FleetError& error);

// Where the operator's certificates are: as it is configured, else the usual folder.
std::string pki_folder(const Setup& setup);
// That the operator's own certificate will expire soon; "" where there is none, or it will not.
std::string expiry_note(const Setup& setup);
// The same, and of the nodes' certificates as they showed them; a line each, few where they are many.
std::vector<std::string> expiry_notes(const Setup& setup, const std::vector<fleet::NodeState>& nodes);
// What daemons said of themselves that an operator has to know: other versions, certificates that expire.
std::vector<std::string> daemon_notes(const Setup& setup, const std::vector<fleet::NodeState>& nodes);
// The daemons behind the configured hosts; keep_unknown: as fleet::TargetOptions has it.
Result<std::vector<fleet::Target>> targets_of(const Setup& setup, bool keep_unknown = false);
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

}  // namespace ringtrue::ops
