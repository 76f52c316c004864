// What all use cases are told, and what ties them to whoever asks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "operator/documents/trouble.h"
#include "operator/progress.h"
#include "operator/stop.h"

namespace ringtrue::ops {

class Control;
class Runner;
struct RunnerOptions;

// A value, or why there is none, with the nodes that are in the way.
template <class T>
using Outcome = tl::expected<T, Trouble>;

inline tl::unexpected<Trouble> trouble(Error error) {
  return tl::unexpected(Trouble{std::move(error), {}});
}

// Where things run and what is known of it; part of a request.
struct Setup {
  config::Config config;     // hosts, transport, deadlines, thresholds
  std::optional<int> local;  // so many ranks on this machine, instead of hosts
  int ranks_per_node = 1;
  bool insecure = false;                      // daemons without TLS
  std::string command;                        // "check": as others are told who holds a node
  std::map<std::string, std::string> rdma{};  // settings for this once, by key of [verbs]: "gid_index": "3"
  // Makes the runners instead of what stands above, as a test's script does.
  std::function<Outcome<std::unique_ptr<Runner>>(const RunnerOptions&, const Control&)> runners{};

  // Hosts or a machine, whose daemons have deadlines; none where everything is local.
  std::optional<Deadlines> deadlines() const;
  // Whether a link's rate was given for this once; the configuration speaks of our cluster alone.
  bool link_rate_named() const { return config.link_rate.layer == config::Layer::flag; }
};

// Which GPUs data on GPUs is on; part of a request.
struct GpuRequest {
  std::vector<int> gpus;  // of each node, as CUDA counts them; empty: all
  bool share = false;
};

// While a use case goes on.
class Control {
 public:
  Control(Stop& stop, progress::Sink sink = {}) : stop_(&stop), sink_(std::move(sink)) {}

  void tell(const progress::Event& event) const {
    if (sink_) sink_(event);
  }
  bool stopped() const { return stop_->requested(); }
  Stop& stop() const { return *stop_; }

 private:
  Stop* stop_;
  progress::Sink sink_;
};

}  // namespace ringtrue::ops
