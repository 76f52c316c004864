// Starting other programs, and ending them.
#pragma once

#include <sys/types.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/units.h"

namespace ringtrue {

// Two connected descriptors that no child inherits unless it is given one. Errors are errno's.
struct Ends {
  OwnedFd ours, theirs;
};
tl::expected<Ends, int> open_pipe();  // `ours` reads what is written to `theirs`
tl::expected<Ends, int> open_socket_pair();

// What a child has open.
struct ChildFiles {
  int output = -1, errors = -1;  // its standard streams; -1: this program's
  int channel = -1;              // its descriptor 3; -1: none
  int input = -1;                // its standard input; -1: /dev/null
};

// A child process, in a group of its own: Ctrl-C at a terminal reaches this program alone. Its signals are as
// a shell would leave them.
class ChildProcess {
 public:
  ChildProcess() = default;  // none
  ChildProcess(ChildProcess&& other) noexcept { *this = std::move(other); }
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess() { kill(Seconds(5)); }

  // Runs the program of that path; `arguments` begin with its name. The error is errno's.
  static tl::expected<ChildProcess, int> start(const std::string& program, std::vector<std::string> arguments,
                                               const ChildFiles& files);

  pid_t pid() const { return pid_; }      // 0: there is none, or it has ended
  int status() const { return status_; }  // of one that has ended, as waitpid() tells it

  // Whether it has ended, waiting for that until the deadline.
  bool ended(Deadline deadline);
  bool ended() { return ended(Deadline::in(Seconds(0))); }
  // Whether a signal (SIGSTOP) keeps it from going on.
  bool stopped() const;
  // Ends it however it stands. One inside a driver's call dies only when the driver lets it: after `patience`
  // it is left to the kernel, and reaped when another child is started.
  void kill(Seconds patience);

 private:
  pid_t pid_ = 0;
  int status_ = 0;
};

// For main() of a helper: it is killed when the thread that started it ends.
void die_with_parent();

}  // namespace ringtrue
