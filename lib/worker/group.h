// The worker processes of one node, driven through the phases of a run as one.
//
// A worker is the program ringtrue-worker at the other end of a socket pair. It dies with the thread that
// started it (so start a group from a thread that outlives it) and when its socket closes. A worker that
// crashes, hangs or is stopped costs the phase it was in: the error says how it died.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/keys.h"
#include "base/result.h"
#include "engine/session/session.h"
#include "run/job.h"
#include "run/member.h"
#include "run/report.h"

namespace ringtrue::worker {

// How a worker process ended.
enum class End : std::uint8_t {
  normal,    // with its group: by itself, or killed between two phases
  crashed,   // by itself in a phase, or it said what no worker says
  hung,      // killed: it was stopped by a signal, or did not stop when it was told to
  deadline,  // killed: it had no answer when its phase's time was over
};
// Called once for each process that was started, from the thread that drives the group.
using Told = std::function<void(End)>;

// ringtrue-worker beside the running program, or in ../libexec/ringtrue. Cause::unavailable where there is
// none.
Result<std::string> find_worker();

class WorkerGroup {
 public:
  // What start_workers made is killed, reaped and closed here, however it stands.
  virtual ~WorkerGroup() = default;

  // The phases as in engine::Session, over all workers: each returns when all workers have answered, or soon
  // after the first failure (the others are told to stop and have a second for it), or at the latest a
  // second after the deadline, when whoever has not answered is killed; a worker that a signal has stopped
  // (SIGSTOP) is killed a second after that, as peer_lost. After an error the group is fit only
  // for destruction.

  // The ports by process; 0 where a process listens nowhere.
  virtual Result<std::vector<int>> prepare(const run::Job& job, Deadline deadline) = 0;
  virtual Result<void> connect(const std::vector<std::vector<run::Address>>& processes,
                               Deadline deadline) = 0;
  virtual Result<void> barrier(Deadline deadline) = 0;
  virtual Result<void> run(Deadline deadline) = 0;
  virtual Result<run::RunReport> collect(Deadline deadline) = 0;

  // From any thread, at any time: the phase in progress, or the next one, ends with Cause::cancelled.
  virtual void abort() = 0;
  // Lets the workers go by themselves (at most a second), so that nothing has to be killed at the end.
  virtual void release() = 0;

  virtual std::vector<int> pids() const = 0;
};

// `member` as all workers share it: node, processes, threads, secret, data_address, ports; the rest is filled
// in. `program`: find_worker()'s answer. With member.processes > 1 the group makes the memfd and the
// eventfds.
Result<std::unique_ptr<WorkerGroup>> start_workers(const std::string& program, const run::Member& member,
                                                   Deadline deadline, Told told = {});

}  // namespace ringtrue::worker

namespace ringtrue {

template <>
inline constexpr const char* keys_of<worker::End>[] = {"normal", "crashed", "hung", "deadline"};

}  // namespace ringtrue
