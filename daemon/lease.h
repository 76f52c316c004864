// One operator's hold on this node: the order of its phases, what it may ask for, and the workers that do it.
// Knows nothing of streams; see lease_manager.h for who calls it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/units.h"
#include "daemon/peers.h"
#include "probe/watch.h"
#include "run/job.h"
#include "run/member.h"
#include "wire/convert.h"
#include "worker/group.h"

namespace ringtrue::daemon {

// What a lease may ask of this node.
struct Limits {
  Bytes bytes{std::uint64_t(16) << 30};  // held by one job
  int ranks = 256;                       // of one job
  Seconds lease{600};                    // from acquire to release
  Peers peers{};
  bool local = false;  // the operator is on this machine, and so may be all of the run
};

using StartWorkers =
    std::function<Result<std::unique_ptr<worker::WorkerGroup>>(const run::Member& member, Deadline deadline)>;
// Bytes by transport.
using Sent = std::array<std::uint64_t, std::size(keys_of<run::Transport>)>;

// The first address of an interface, IPv4 before IPv6. Cause::unavailable names the interfaces that there
// are.
Result<std::string> interface_address(const std::string& interface);

class Lease {
 public:
  enum class State { fresh, ready, prepared, connected, synchronized, finished, failed };

  // That a job may have on this node: those that are needed, and of the spare ones what is allowed.
  int ranks() const {
    const int wanted = acquire_.ranks_per_node + acquire_.spare_ranks;
    return std::max(acquire_.ranks_per_node, std::min(wanted, limits_.ranks));
  }

  // `counters`: where this node's counters are read around runs; null: this machine's files.
  Lease(wire::Acquire acquire, Limits limits, StartWorkers start_workers,
        std::unique_ptr<probe::CounterWatch> counters = nullptr);

  // Starts the workers. The thread that calls this must live as long as the lease.
  Result<void> start(Deadline deadline);
  // Plays one phase and gives its answer, at the latest a second after its deadline. `arrived`: when the
  // command came (now_ns), which is what its deadline counts from.
  rpc::Event perform(const rpc::Command& command, std::int64_t arrived);
  // From any thread: the phase in progress ends with Cause::cancelled, and all later ones.
  void abort();

  const wire::Acquire& acquire() const { return acquire_; }
  State state() const { return state_; }
  bool between_runs() const {
    return state_ == State::fresh || state_ == State::ready || state_ == State::failed;
  }
  Phase phase() const { return phase_; }  // of the command in progress; none: between them
  // Data connections that this lease's workers dropped, by the last report.
  std::uint64_t rejected_connections() const { return rejected_connections_; }
  // What this node's ranks sent in the last run that was collected, warm-up left out.
  const Sent& sent() const { return sent_; }
  Deadline ends() const { return ends_; }

 private:
  Result<void> play(const rpc::Command& command, Deadline deadline, rpc::Event& event);
  Result<void> prepare(const rpc::Prepare& message, Deadline deadline, rpc::Event& event);
  Result<void> connect(const rpc::Connect& message, Deadline deadline);
  Result<void> allowed(const run::Job& job) const;
  Result<void> in_state(State needed, Phase before) const;

  const wire::Acquire acquire_;
  const Limits limits_;
  const StartWorkers start_workers_;
  const Deadline ends_;

  std::mutex mutex_;  // of workers_ against abort() from another thread
  std::unique_ptr<worker::WorkerGroup> workers_;
  std::atomic<bool> aborted_ = false;
  State state_ = State::fresh;
  std::atomic<Phase> phase_ = Phase::none;
  std::atomic<std::uint64_t> rejected_connections_ = 0;
  std::string data_address_;
  std::unique_ptr<probe::CounterWatch> counters_;
  std::vector<int> node_of_;  // by rank, of the current job
  Sent sent_{};
  std::vector<int> ports_;          // by process, of the current job
  std::vector<std::string> hosts_;  // by node: where it was first said to be; it stays there for the lease
};

}  // namespace ringtrue::daemon
