// One child process at the other end of a socket pair. For lib/wire only; see worker_group.h.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "wire/channel.h"

namespace ringtrue::wire {

class WorkerProcess {
 public:
  WorkerProcess() = default;
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&& other) noexcept;
  ~WorkerProcess();  // kills and reaps

  // Runs `program 3`, its end of the socket pair as descriptor 3, nothing else but the standard streams open.
  static Result<WorkerProcess> spawn(const std::string& program);

  Channel& channel() { return channel_; }
  pid_t pid() const { return pid_; }  // 0 once reaped

  // How the process ended: "killed by signal 9". Waits a moment for a process whose socket has closed, and
  // ends one that stays.
  std::string reap_dead();
  // Ends it however it stands, and reaps it.
  void kill();
  // Closes the socket and gives the process until the deadline to go; then as kill().
  void let_go(Deadline deadline);

 private:
  bool reaped(Deadline deadline);  // true once waitpid() has had it

  pid_t pid_ = 0;
  int status_ = 0;
  Channel channel_;
};

}  // namespace ringtrue::wire
