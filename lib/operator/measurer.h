// Where a diagnosis measures: over any runner. An experiment becomes a job, the job's trace becomes an
// observation.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "collective/fault.h"
#include "diagnosis/measurer.h"
#include "operator/carrier.h"
#include "operator/others_traffic.h"
#include "operator/reach.h"
#include "operator/runner.h"
#include "run/job.h"
#include "run/rdma.h"
#include "run/report.h"

namespace ringtrue::ops {

struct MeasurerOptions {
  run::Transport transport = run::Transport::tcp;
  int warmup = 1;                             // calls before those that are timed
  std::optional<BytesPerSecond> link_rate{};  // for the shape of an omnireduce
  run::RdmaSettings verbs{};
  run::Memory memory = run::Memory::host;
  // Between ranks of this process, which are the nodes then: whatever the order of the ranks.
  std::vector<collective::Fault> faults{};
  bool paced = false;  // hold every hop to local_pace()
};

class RunMeasurer final : public diagnosis::Measurer {
 public:
  // A runner of daemons has one process a node and as many ranks as an experiment has on one; one aggregator
  // a node where an omnireduce has workers and aggregators on the same ones.
  RunMeasurer(std::unique_ptr<Runner> runner, MeasurerOptions options, const Control& control);

  int nodes() const override { return int(names_.size()); }
  // The first nodes; any others only aggregate.
  int workers() const;
  std::string name(int node) const override { return names_[std::size_t(node)]; }
  // corrupted: a rank got a wrong result, which is named. Otherwise the runner's error.
  Result<diagnosis::Observation> measure(const diagnosis::Experiment& experiment) override;
  diagnosis::Structure structure() const override { return structure_; }
  int ranks_a_node() const override;
  // What is known of how the nodes hang together; unknown if not said.
  void hang(diagnosis::Structure structure) { structure_ = std::move(structure); }
  // The ways of all connections between nodes, which later experiments take as well; by node. Over TCP alone.
  Result<std::vector<run::Way>> trace();
  // Those that were traced and are not the same when they are traced again.
  std::vector<std::pair<int, int>> changed_ways() override;
  bool outlives_failures() const override { return runner_->outlives_failures(); }
  // Nodes that do not answer any more, with what they did last.
  std::vector<Failure> dead() const { return runner_->dead(); }
  // By then every experiment ends, however slow its wires are: one that does not is cut, as an error with
  // Cause::deadline that says so.
  void end_by(Deadline end) { end_ = end; }
  // Whether those that will be measured with each other can be connected, in both directions, and whether
  // long packets get through; over TCP, which connections of RDMA begin with, too. Of up to 32 nodes all
  // pairs, of more those of a ring and of a barrier. Nothing where ranks are of one process.
  Result<Reached> reach();
  // What everything will go over, before anything is measured: "auto" is RDMA where all nodes can, else TCP
  // for all, so that hops are alike. Plays a small exchange among these nodes (none: all), unless it is TCP
  // that was asked for. Nodes that turn out to be dead are left out.
  Result<Carrier> settle(std::vector<int> who = {});
  // What ran last: "tcp".
  std::string transport() const;
  // The nodes' part in the last failed measurement; empty where it was not theirs.
  const std::vector<Failure>& failures() const { return failures_; }

 private:
  run::Job job_of(const diagnosis::Experiment& experiment) const;
  void leave_out_dead(std::vector<int>& who) const;

  std::unique_ptr<Runner> runner_;
  MeasurerOptions options_;
  Control control_;
  std::vector<std::string> names_;
  diagnosis::Structure structure_;
  Deadline end_ = Deadline::never();
  run::RunReport report_;  // the last
  std::vector<Failure> failures_;
  std::vector<run::Way> ways_;  // that were traced
  OthersTrafficMeter others_;
  std::uint64_t runs_ = 0, bytes_ = 0;
};

// The job of an experiment (float32, sum, every result checked) ...
run::Job job_of(const diagnosis::Experiment& experiment, const std::vector<std::string>& nodes,
                const MeasurerOptions& options);
// ... and what its report says of its hops, as their senders saw them.
diagnosis::Observation observation_of(const diagnosis::Experiment& experiment, const run::Job& job,
                                      const run::RunReport& report);

// What a use case asks of a measurer, beside its setup.
struct MeasurerRequest {
  RunnerOptions runner;
  std::string fault;  // with local ranks
  int warmup = 1;
  bool paced = false;
  run::RdmaSettings verbs{};
  std::optional<run::Transport> transport{};  // instead of the configured one
};

Outcome<std::unique_ptr<RunMeasurer>> make_measurer(const Setup& setup, const MeasurerRequest& request,
                                                    const Control& control);

// Ranks of one process have no wires between them, only processors that they share: what a hop carries then
// says nothing, unless it is held to a rate that these processors reach with ease.
BytesPerSecond local_pace(int ranks);

// The faults between nodes, as faults between the ranks of a run over `order`.
std::string faults_by_rank(const std::vector<collective::Fault>& by_node, const std::vector<int>& order);

// Makes every hop that `experiment` uses as slow as `pace`, or as a throttle among `by_node` has it.
std::vector<collective::Fault> paced(const diagnosis::Experiment& experiment,
                                     const std::vector<collective::Fault>& by_node, BytesPerSecond pace);

}  // namespace ringtrue::ops
