// Watches this node's links and error counters while nobody measures, in a thread of its own that sleeps.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "probe/error_counters.h"
#include "probe/event_log.h"
#include "run/counter_window.h"
#include "run/device_event.h"

namespace ringtrue::daemon {

class PassiveWatch {
 public:
  // What files do not tell: GPUs' counters, by a library that another process asks. Called every five
  // minutes.
  using Slow = std::function<std::vector<run::CounterSet>(const std::stop_token&)>;

  // folder: where events are kept for 30 days; empty: the last hour alone is known.
  PassiveWatch(std::string folder, Slow slow);
  ~PassiveWatch() { stop(); }

  void start();
  void stop();
  // Of the last so many seconds.
  run::DeviceEvents last(std::int64_t seconds) const;
  // How far counters rose since start(), by device and counter; what is beyond some hundreds of them is
  // counted under "other". Never waits for the log.
  using Counts = std::map<std::pair<std::string, std::string>, std::uint64_t>;
  Counts counts() const;

 private:
  void watch(const std::stop_token& stop);
  bool wait(const std::stop_token& stop, std::int64_t until_ns) const;
  void compare(std::vector<run::CounterSet>& before, std::vector<run::CounterSet> now, std::int64_t& at);

  const Slow slow_;
  probe::ErrorCounters counters_;
  mutable std::mutex mutex_;
  probe::EventLog log_;
  mutable std::mutex counts_mutex_;
  Counts counts_;
  OwnedFd links_;  // netlink: says when a link changes
  OwnedFd wake_;
  std::jthread thread_;
};

// By ringtrue-probe, where this machine has an NVIDIA driver; null: it has none.
PassiveWatch::Slow gpu_counters(std::string node);

}  // namespace ringtrue::daemon
