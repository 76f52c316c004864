// How this machine's counters change while something runs. Reads files alone and costs milliseconds; what it
// cannot read is left out, and nothing here ever fails.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "probe/source.h"
#include "run/counter_window.h"
#include "topology/model.h"

namespace ringtrue::probe {

class CounterWatch {
 public:
  // Of this machine; without its netdevs where /sys is that of another network namespace.
  CounterWatch();
  explicit CounterWatch(std::unique_ptr<Source> source);
  ~CounterWatch();

  void begin();
  // Since begin(): errors, congestion and traffic, worst first, at most `max_changes` of them. Empty where
  // begin() was not called. One window begins where the last one ended, if that was a moment ago.
  run::CounterWindow end();

  static constexpr std::size_t max_changes = 256;

 private:
  std::vector<run::CounterSet> read();

  std::unique_ptr<Source> source_;
  bool probed_ = false, netdevs_ = true, begun_ = false;
  topology::Node node_;                // the devices that there are
  std::vector<run::CounterSet> last_;  // as read at last_ns_
  std::int64_t last_ns_ = 0;
};

// What matters of a window: errors, congestion, traffic; worst first, no more than `most`.
run::CounterWindow worth_keeping(run::CounterWindow window, std::size_t most);

}  // namespace ringtrue::probe
