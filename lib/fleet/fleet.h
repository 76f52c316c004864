// A run over many daemons: leases, phases, deadlines, and the name of whoever holds it up.
//
//   lease on all nodes or on none -> prepare -> connect -> barrier -> run -> collect (repeated) -> release
//
// The lease is a stream to each daemon that this object keeps alive with a heartbeat; when this process dies
// or falls silent, every daemon ends its worker and forgets the lease by itself.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/phase.h"
#include "base/result.h"
#include "base/units.h"
#include "run/job.h"
#include "run/report.h"

namespace ringtrue::fleet {

struct Target {
  std::string node;  // as given in --hosts; the name on the daemon's certificate
  std::string host;  // where to reach it: a name or an address
  int port = 7464;
  std::string socket{};   // a local daemon's Unix socket instead of host and port; empty otherwise
  std::string unknown{};  // why the name stands for no address, and `host` is empty; empty: it stands for one
};

struct Options {
  std::string pki;               // folder with ca.crt, operator.crt, operator.key; empty: no TLS (--insecure)
  int processes = 1;             // worker processes a node
  int ranks_per_node = 1;        // workers of each node
  int aggregators_per_node = 0;  // at most so many further ranks on a node, in jobs of omnireduce
  int spare_ranks = 0;           // further ranks that a job may have on a node, as far as all nodes allow it
  std::string data_interface;    // e.g. "eth0": the data plane's addresses; empty: as the daemons are reached
  int port_low = 0, port_high = 0;
  Seconds phase_deadline{10};  // lease, prepare, connect, barrier, collect, each
  Seconds run_deadline{60};    // one run
  std::string holder;          // who asks, as others are told: "alice@login1 (check)"
  // Goes on without nodes that are dead (run::Failure): they are left out of the lease, and the first run
  // after one that they broke leases the others anew.
  bool outlive_the_dead = false;
  // Called from any thread as phases begin and nodes answer; for progress lines.
  std::function<void(Phase phase, int answered, int nodes)> progress;
};

using run::Failure;

// Why a phase failed. Culprits come first.
struct FleetError {
  std::vector<Failure> failures;
  Error summary() const;  // one line that names node and phase of the first culprit, and how many more
};

template <class T>
using FleetResult = tl::expected<T, FleetError>;

struct NodeState {
  std::string node;
  bool reachable = false;
  std::string version;     // of its daemon; empty when not reachable
  std::string lease;       // who holds it; empty when free
  std::string cause;       // why not reachable; empty otherwise
  std::string next{};      // what to do about that; may be empty
  std::string expiry{};    // that its certificate will expire soon (pki::expiry_warning); empty: it will not
  bool compatible = true;  // its daemon's version and protocol with ours; false: it takes no lease from here
};

// "alice@login1 (check)": who asks, and for what.
std::string holder_here(std::string_view what);

// Asks every node what it is, in the order given. Fails as a whole only without credentials to ask with.
Result<std::vector<NodeState>> describe(const std::vector<Target>& targets, const Options& options);

// What all connections to a fleet share: one set of certificates, read once.
class Dialer;
Result<std::shared_ptr<Dialer>> make_dialer(const std::vector<Target>& targets, const Options& options);

// For one who asks the same nodes all day, and shall not be felt: by the thread that calls, few at once.
struct Gently {
  std::size_t at_once = 32;
  std::function<bool()> ended{};  // what did not answer until then counts as unreachable
  bool keep = false;  // connections, by the dialer: of many nodes they are most of what asking costs
};
std::vector<NodeState> describe(Dialer& dialer, const std::vector<Target>& targets, Seconds deadline,
                                const Gently& gently);

// A line for each other version among them than this program's: which nodes, and whether that does harm.
std::vector<std::string> version_notes(const std::vector<NodeState>& nodes);

class Fleet {
 public:
  // All nodes or none; with Options::outlive_the_dead, those that answer, if that is at least half of
  // them, and two.
  static FleetResult<std::unique_ptr<Fleet>> lease(std::vector<Target> targets, Options options);
  virtual ~Fleet() = default;  // releases

  virtual const std::vector<Target>& targets() const = 0;
  // Plays one job through all phases. job.nodes and job.seats must refer to targets() by index; a job may
  // leave nodes out. The phase of the run itself ends by `until`, if Options::run_deadline is not sooner.
  // After a failure the fleet is fit only for destruction, unless can_go_on(). A job over a node that is
  // known to be dead fails at once, with what is known of it.
  virtual FleetResult<run::RunReport> run(const run::Job& job, Deadline until = Deadline::never()) = 0;
  // Whether another run may succeed: none has failed, or by nodes that are dead, which it then leaves out,
  // and half of all are left, at least two. Only with Options::outlive_the_dead.
  virtual bool can_go_on() const = 0;
  // Those that are, with what they did last.
  virtual const std::vector<Failure>& dead() const = 0;
  // Of any job, on any node: those of the options, and of the spare ones what all nodes allow.
  virtual int ranks_per_node() const = 0;
  // Ends a run in progress from another thread or after a signal (run() returns Cause::cancelled soon).
  virtual void cancel() = 0;
};

// A job over the nodes `order` (indices into targets), `ranks_per_node` ranks on each, in that order.
run::Job job_over(const std::vector<Target>& targets, const std::vector<int>& order, const Options& options);
// Adds `count` aggregators behind the workers that `job` has, dealt over `nodes`, each at the next free place
// of its node; says so in call.omni. A node that gets more than options.aggregators_per_node is a mistake of
// the caller's, which the daemons refuse.
void add_aggregators(run::Job& job, const std::vector<int>& nodes, int count, const Options& options);
// "node3" of a worker, "aggregator 2 on node7" of an aggregator.
std::string place_of(const run::Job& job, collective::Rank rank);

}  // namespace ringtrue::fleet
