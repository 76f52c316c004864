// One worker at the other end of a socket pair; see group.h.
#pragma once

#include <string>

#include "base/process.h"
#include "base/result.h"
#include "worker/channel.h"

namespace ringtrue::worker {

// Killed and reaped when it goes.
class WorkerProcess {
 public:
  WorkerProcess() = default;
  WorkerProcess(WorkerProcess&&) = default;
  WorkerProcess& operator=(WorkerProcess&&) = default;

  // Runs `program 3`, its end of the socket pair as descriptor 3, nothing else but the standard streams open.
  static Result<WorkerProcess> spawn(const std::string& program);

  Channel& channel() { return channel_; }
  pid_t pid() const { return process_.pid(); }  // 0 once reaped

  // How the process ended: "killed by signal 9". Waits a moment for a process whose socket has closed, and
  // ends one that stays.
  std::string reap_dead();
  // Ends it however it stands, and reaps it.
  void kill();
  // Closes the socket and gives the process until the deadline to go; then as kill().
  void let_go(Deadline deadline);

 private:
  ChildProcess process_;
  Channel channel_;
};

}  // namespace ringtrue::worker
