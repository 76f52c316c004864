#include "worker/process.h"

#include <sys/wait.h>

#include <cstring>

namespace ringtrue::worker {

Result<WorkerProcess> WorkerProcess::spawn(const std::string& program) {
  auto pair = open_socket_pair();
  if (!pair)
    return fail(Cause::unavailable,
                std::string("no socket pair for a worker: ") + std::strerror(pair.error()));
  auto process = ChildProcess::start(program, {"ringtrue-worker", "3"}, {.channel = pair->theirs.get()});
  if (!process)
    return fail(Cause::unavailable,
                "the worker " + program + " cannot be run: " + std::strerror(process.error()));
  WorkerProcess worker;
  worker.process_ = std::move(*process);
  worker.channel_ = Channel(std::move(pair->ours));
  return worker;
}

std::string WorkerProcess::reap_dead() {
  if (!process_.ended(Deadline::in(Seconds(0.5)))) {
    kill();
    return "closed its channel";
  }
  const int status = process_.status();
  if (WIFSIGNALED(status)) return "was killed by signal " + std::to_string(WTERMSIG(status));
  if (WIFEXITED(status)) return "exited with status " + std::to_string(WEXITSTATUS(status));
  return "ended";
}

void WorkerProcess::kill() {
  // Only a process inside a kernel call that cannot be interrupted outlives this; the kernel's own reaper has
  // to take it, once we are gone.
  process_.kill(Seconds(5));
  channel_.close();
}

void WorkerProcess::let_go(Deadline deadline) {
  channel_.close();
  process_.ended(deadline);
  kill();
}

}  // namespace ringtrue::worker
