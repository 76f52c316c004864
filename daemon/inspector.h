// Reads the node for whoever asks, one reading at a time, in a thread of its own.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "topology/source.h"

namespace ringtrue::daemon {

class Inspector {
 public:
  struct Request {
    Seconds window{0};
    bool wake_gpus = false;
    bool recording = false;
    bool operator==(const Request&) const = default;
  };
  // Packed by gzip: a recording where it was asked for, otherwise the document.
  using Answer = Result<std::string>;
  using Told = std::function<void(const Answer&)>;
  // Blocks until the node is read.
  using Read = std::function<Result<topology::Recording>(const Request&)>;

  // Starts no thread before somebody asks.
  explicit Inspector(Read read);
  ~Inspector();  // stops

  // `told` is called once, from the inspector's thread. Those who ask for the same while it is being read, or
  // is to be, share one reading. At most so many readings wait as make sense; beyond, the answer is refused.
  void ask(const Request& request, Told told);
  // Answers everybody who still waits, at once; a reading in progress is left to itself.
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// This node, by ringtrue-probe.
Inspector::Read read_node(std::string node);

}  // namespace ringtrue::daemon
