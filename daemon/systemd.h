// What the daemon tells systemd, where systemd has started it.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace ringtrue::daemon {

// To $NOTIFY_SOCKET: "READY=1", "RELOADING=1", "STOPPING=1", "STATUS=a line for systemctl status". See
// sd_notify(3).
void notify_systemd(const std::string& state);

// Tells systemd twice in each period of WatchdogSec= that this process goes on. See sd_watchdog_enabled(3).
class Watchdog {
 public:
  Watchdog();  // by $WATCHDOG_USEC and $WATCHDOG_PID
  // When to call next; Deadline::never() where nobody watches.
  Deadline due() const { return due_; }
  void tell_if_due();

 private:
  Seconds every_{0};
  Deadline due_ = Deadline::never();
};

}  // namespace ringtrue::daemon
