// One process's part in the runs of a lease: its buffers, connections and threads, kept over several runs.
//
// The phases of a run, each with a deadline, each called once and in this order:
//   prepare -> connect -> barrier -> run -> collect
// A phase that fails names its cause and leaves the session fit only for destruction. abort() may be called
// from another thread at any time; the phase in progress then returns Cause::cancelled soon.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "run/job.h"
#include "run/member.h"
#include "run/report.h"

namespace ringtrue::engine {

class Session {
 public:
  static Result<std::unique_ptr<Session>> open(run::Member member);
  virtual ~Session() = default;

  // Allocates; listens. Returns the port that peers connect to (0 where the job needs no tcp here).
  virtual Result<int> prepare(const run::Job& job) = 0;
  // `processes[node][process]`: where each process of the job listens. Connects to what the job's algorithm
  // needs and is not connected yet from earlier runs.
  virtual Result<void> connect(const std::vector<std::vector<run::Address>>& processes,
                               Deadline deadline) = 0;
  // Nobody leaves before all have come: proves every connection of the barrier once.
  virtual Result<void> barrier(Deadline deadline) = 0;
  virtual Result<void> run(Deadline deadline) = 0;
  virtual Result<run::RunReport> collect() = 0;

  virtual void abort() = 0;

  // Whether one thread plays all ranks of a process in this job: calls so small that waking another thread
  // would cost more than it does for them, and jobs over udp.
  static bool one_thread_plays(const run::Job& job, int node);

  // Whether the connections of `node` can be worked out in seconds: that takes about as many steps as its
  // ranks times all ranks times lanes.
  static bool can_plan(const run::Job& job, int node);

  // With processes > 1: bytes of shared memory that the node needs for `job`; the memfd must be as long
  // before prepare().
  static std::uint64_t shared_bytes(const run::Job& job, int node);
};

// All ranks of `job` in this process (node 0, one process): the whole of `--local N` without --processes.
// `verbs` and `cuda` as in run::Member. `stop` ends it from another thread with Cause::cancelled.
Result<run::RunReport> run_locally(const run::Job& job, Deadline deadline,
                                   transport::verbs::Library* verbs = nullptr,
                                   transport::cuda::Driver* cuda = nullptr, const std::stop_token& stop = {});

}  // namespace ringtrue::engine
