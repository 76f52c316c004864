// Reads the node for whoever asks, each reading in a thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
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

  using Ticket = std::uint64_t;  // 0: none

  // `told` is called once, from a thread of the inspector's or, where it is refused, this one. Those who ask
  // for the same while it is being read share one reading; nobody waits for another's window. Refused is what
  // is too much of `who` (an identity), or of all (client_limits.h). The ticket is for leave().
  Ticket ask(const Request& request, const std::string& who, Told told);
  // Tells the asker, if it still waits, that this was cancelled. A reading that nobody waits for is ended.
  void leave(Ticket ticket);
  // Answers everybody who still waits, and ends the readings in progress.
  void stop();

 private:
  struct Asker {
    Ticket ticket = 0;
    std::string who;
    Told told;
  };
  struct Reading {
    Ticket id = 0;  // its first asker's
    Request request;
    std::vector<Asker> askers;  // none: it is being ended
    std::jthread thread;
  };
  // What one identity has asked.
  struct Account {
    double left = 0;      // readings that it may ask for at once
    std::int64_t at = 0;  // ... as of then (now_ns)
    int waiting = 0;
  };

  void serve(const std::stop_token& stop, Ticket id, const Request& request);
  // All of these under the lock.
  Result<void> join_or_begin(const Request& request, Asker& asker);
  Result<void> charge(const std::string& who);
  void tell(const Asker& asker, const Answer& answer);

  const Read read_;
  std::mutex mutex_;
  std::list<Reading> readings_;  // in progress; no two alike that have askers
  std::map<std::string, Account> accounts_;
  Ticket last_ticket_ = 0;
  std::vector<std::jthread> finished_;  // that have told their answer
  bool stopping_ = false;
};

// This node, by ringtrue-probe.
Inspector::Read read_node(std::string node);

}  // namespace ringtrue::daemon
