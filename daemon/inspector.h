// Reads the node for whoever asks, each reading in a thread of its own.
#pragma once

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

  // Has no thread while nobody asks.
  explicit Inspector(Read read);
  ~Inspector();  // stops

  // `told` is called once, from a thread of the inspector's or, where it is refused, this one. Those who ask
  // for the same while it is being read share one reading; nobody waits for another's window. Of readings
  // with a window only a few go on at once; beyond, the answer is refused.
  void ask(const Request& request, Told told);
  // Answers everybody who still waits, at once; readings in progress are left to themselves.
  void stop();

 private:
  struct State;
  Result<void> begin(const Request& request);
  std::shared_ptr<State> state_;
};

// This node, by ringtrue-probe.
Inspector::Read read_node(std::string node);

}  // namespace ringtrue::daemon
