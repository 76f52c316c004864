// Ctrl-C and SIGTERM, watched by a thread of their own.
//
// The first one calls what the running part registered, so that everything is released in good order; where
// nothing is registered, or the command has not ended five seconds later, or at the second one, the process
// ends at once with exit code 3. What it held at daemons ends with it.
#pragma once

#include <functional>

namespace ringtrue::cmd {

// Blocks the signals and starts the thread; before any other thread starts. SIGPIPE is ignored from here on.
void watch_signals();
bool interrupted();

// While it lives, the first signal calls `cancel` (from the watching thread).
class OnInterrupt {
 public:
  explicit OnInterrupt(std::function<void()> cancel);
  ~OnInterrupt();
  OnInterrupt(const OnInterrupt&) = delete;
  OnInterrupt& operator=(const OnInterrupt&) = delete;
};

}  // namespace ringtrue::cmd
