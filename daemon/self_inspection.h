// What the rules of inspection find in this node while nobody asks: for the page of metrics. Nothing is read
// while an operator has the node.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "daemon/inspector.h"
#include "daemon/tally.h"
#include "diagnosis/findings/report.h"

namespace ringtrue::daemon {

class SelfInspection {
 public:
  struct Found {
    std::array<int, std::size(keys_of<diagnosis::Severity>)> findings{};
    std::int64_t at_us = 0;  // wall clock
  };

  // Begins at once, and looks again every half an hour.
  SelfInspection(Inspector::Read read, const Tally& tally);
  ~SelfInspection() { stop(); }
  void stop();

  // nullopt: the node has not been read yet, or could not be read the last time.
  std::optional<Found> last() const;

 private:
  void serve(const std::stop_token& stop);

  const Inspector::Read read_;
  const Tally& tally_;
  mutable std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::optional<Found> last_;
  std::jthread thread_;
};

}  // namespace ringtrue::daemon
