// Reads the node for whoever asks, each reading in a thread of its own.
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "probe/request.h"
#include "probe/source.h"

namespace ringtrue::daemon {

class Inspector {
 public:
  using Request = probe::ReadRequest;
  // The recording, packed by gzip.
  using Answer = Result<std::string>;
  using Told = std::function<void(const Answer&)>;
  // Blocks until the node is read, or soon after a stop is asked for.
  using Read = std::function<Result<probe::Recording>(const Request&, const std::stop_token&)>;

  // Has no thread while nobody asks.
  explicit Inspector(Read read);
  ~Inspector();  // stops

  // `told` is called once, from a thread of the inspector's or, where it is refused, this one. Those who ask
  // for the same while it is being read share one reading; nobody waits for another's window. Of readings
  // with a window only a few go on at once; beyond, the answer is refused.
  void ask(const Request& request, Told told);
  // Answers everybody who still waits, and ends the readings in progress.
  void stop();

 private:
  struct Reading {
    Request request;
    std::vector<Told> askers;
    std::jthread thread;
  };

  void serve(const std::stop_token& stop, const Request& request);
  Result<void> join_or_begin(const Request& request, Told& told);  // under the lock
  std::list<Reading>::iterator find(const Request& request);

  const Read read_;
  std::mutex mutex_;
  std::list<Reading> readings_;         // in progress; no two alike
  std::vector<std::jthread> finished_;  // that have told their answer
  bool stopping_ = false;
};

// This node, by ringtrue-probe.
Inspector::Read read_node(std::string node);

}  // namespace ringtrue::daemon
