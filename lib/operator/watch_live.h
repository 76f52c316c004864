// The watch over real nodes: leases and checks by daemons, the history as its record, a hook as a process.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "operator/check.h"
#include "operator/history.h"
#include "operator/watch.h"

namespace ringtrue::ops {

struct WatchRequest {
  CheckRequest check;
  HistoryPlace place;
  std::string version;
  WatchSettings settings;
  bool idle_only = false;
  std::string hook;  // a program's path; empty: none
  Seconds hook_deadline{30};
  // What the caller's reports say of them.
  std::function<std::string(const CheckDocument&)> check_json;
  std::function<std::string(const WatchRound&, const std::string& check_json)> hook_json;
  std::function<void(const WatchRound&)> told;
  std::function<void(const std::string& other)> waits_for;
  std::function<void(Seconds until_first)> begins;
  // After each check of the fleet, such as for a file of metrics; nullptr: it had nothing to show. May be
  // empty.
  std::function<Result<void>(const CheckDocument*)> measured{};
};

// Until it is stopped; with `once` one round. Errors: the hook is no program, the configuration names no
// hosts, the history is nowhere to be recorded in.
Result<std::optional<WatchRound>> watch(const WatchRequest& request, const Control& control);

// Runs the program with `input` on its standard input, no arguments, no shell; what it prints goes to
// standard error. Errors: it could not be started, ended with another code than 0, or took too long and was
// killed, with its process group.
Result<void> run_hook(const std::string& program, const std::string& input, Seconds deadline);

// ---- what a watcher keeps beside the history: "history.db.watch-FLEET"

std::string watch_file(const HistoryPlace& place);
// Held until it goes, or its process does. `other`: who holds it.
class WatchTurn {
 public:
  // nullopt: it is held here now. A folder that cannot be written holds nobody up.
  std::optional<std::string> take(const std::string& file);

 private:
  OwnedFd fd_;
};
WatchMemory read_watch_memory(const std::string& file);  // what cannot be read says nothing
Result<void> write_watch_memory(const std::string& file, const WatchMemory& memory);

}  // namespace ringtrue::ops
