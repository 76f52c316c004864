// One process's part in the runs of a lease: its buffers, connections and threads, kept over several runs.
//
// The phases of a run, each with a deadline, each called once and in this order:
//   prepare -> connect -> barrier -> run -> collect
// A phase that fails names its cause and leaves the session fit only for destruction. abort() may be called
// from another thread at any time; the phase in progress then returns Cause::cancelled soon.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/job.h"

namespace ringtrue::transport::verbs {
class Library;
}
namespace ringtrue::transport::cuda {
class Driver;
}

namespace ringtrue::engine {

// This process, as its node's daemon (or the command itself, for --local) started it.
struct Member {
  int node = 0;
  int process = 0;
  int processes = 1;                // on this node
  int threads = 0;                  // 0: as many as there are cores, divided by `processes`, at least 1
  std::string secret;               // of the lease: data connections prove that they know it
  std::string data_address;         // to listen on; empty: all
  std::string node_address;         // where the node is reached, which picks its RDMA port; may be empty
  int port_low = 0, port_high = 0;  // range to listen in; 0: any
  // With processes > 1: a memfd shared by the node's processes, and one eventfd per process, in order.
  // -1 and empty otherwise. The session does not close them.
  int shared_memory = -1;
  std::vector<int> doorbells;
  transport::verbs::Library* verbs = nullptr;  // nullptr: libibverbs
  transport::cuda::Driver* cuda = nullptr;     // nullptr: the CUDA module, opened for a job on device memory
  std::string nccl = "libnccl.so.2";           // the library that Job::reference asks for
  std::optional<bool> own_numbers;             // see has_own_numbers(), which is asked if nothing is said
};

struct Address {
  std::string host;  // as the operator reaches the node
  int port = 0;
};

class Session {
 public:
  static Result<std::unique_ptr<Session>> open(Member member);
  virtual ~Session() = default;

  // Allocates; listens. Returns the port that peers connect to (0 where the job needs no tcp here).
  virtual Result<int> prepare(const Job& job) = 0;
  // `processes[node][process]`: where each process of the job listens. Connects to what the job's algorithm
  // needs and is not connected yet from earlier runs.
  virtual Result<void> connect(const std::vector<std::vector<Address>>& processes, Deadline deadline) = 0;
  // Nobody leaves before all have come: proves every connection of the barrier once.
  virtual Result<void> barrier(Deadline deadline) = 0;
  virtual Result<void> run(Deadline deadline) = 0;
  virtual Result<RunReport> collect() = 0;

  virtual void abort() = 0;

  // Whether one thread plays all ranks of a process in this job: calls so small that waking another thread
  // would cost more than it does for them, and jobs over udp.
  static bool one_thread_plays(const Job& job, int node);

  // Whether the connections of `node` can be worked out in seconds: that takes about as many steps as its
  // ranks times all ranks times lanes.
  static bool can_plan(const Job& job, int node);

  // With processes > 1: bytes of shared memory that the node needs for `job`; the memfd must be as long
  // before prepare().
  static std::uint64_t shared_bytes(const Job& job, int node);
};

// Ends runs on this machine from another thread: the one that goes on, and those that would begin later.
class Stopper {
 public:
  void stop();
  // By whoever plays a run, around it: what ends it, called at once where stop() was before; nullptr: nobody.
  void attach(std::function<void()> abort);

 private:
  std::mutex mutex_;
  std::function<void()> abort_;
  bool stopped_ = false;
};

// All ranks of `job` in this process (node 0, one process): the whole of `--local N` without --processes.
// `verbs` and `cuda` as in Member.
Result<RunReport> run_locally(const Job& job, Deadline deadline, transport::verbs::Library* verbs = nullptr,
                              transport::cuda::Driver* cuda = nullptr, Stopper* stopper = nullptr);

}  // namespace ringtrue::engine
