// The watch: a check every so often, recorded, and a hook for what changed. The loop knows no network, no
// clock and no file: all of it is behind WatchWorld (watch_live.h has the real one).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "operator/documents/watch.h"

namespace ringtrue::ops {

inline constexpr std::size_t fewest_watched = 2;  // nodes: fewer have no wire between them

struct WatchSettings {
  std::string fleet;
  Seconds every{3600};  // from the start of a round to the start of the next
  Seconds retry{300};   // the same where nothing could be measured, if that is sooner
  double load = 0.1;    // share of the time in which it measures, at most
  bool confirm = true;  // measure again at once what is newly suspected
  bool once = false;    // one round, as a timer has it
};

// What was told last, so that a restart tells nothing twice and misses nothing.
struct WatchMemory {
  std::optional<std::string> verdict;
  std::map<std::string, std::string> regressions;  // subject -> state, of those that are open
  std::set<std::string> absent;                    // nodes
  std::int64_t rest_until_us = 0;                  // by --load
  std::int64_t next_us = 0;
};

struct WatchedNode {
  std::string node;
  std::string why_not{};  // it is not to be measured now: "held by alice@login (run)"; empty: it is
  bool absent = false;
};

struct WatchedRegression {
  std::string subject, node, state;
  double ratio = 1;
  bool open = true;
};

struct WatchedCheck {
  std::string verdict;  // of what was measured again: not looked at
  int findings = 0;
  double seconds = 0;
  std::vector<WatchedRegression> regressions;
  std::vector<std::string> troubles;
};

class WatchWorld {
 public:
  virtual ~WatchWorld() = default;
  virtual std::int64_t wall_us() = 0;
  virtual Seconds clock() = 0;           // that never goes back
  virtual bool sleep(Seconds time) = 0;  // false: the watch is to end
  virtual bool stopped() = 0;
  // Becomes the fleet's only watcher; else who is.
  virtual std::optional<std::string> other_watcher() = 0;
  virtual WatchMemory remembered() = 0;
  virtual Result<void> remember(const WatchMemory& memory) = 0;
  virtual Result<std::vector<WatchedNode>> look() = 0;
  // Inspects, measures and records. `again`: only what is suspected.
  virtual Result<WatchedCheck> check(const std::vector<std::string>& nodes, bool again) = 0;
  virtual Result<void> hook(const WatchRound& round) = 0;
  virtual void told(const WatchRound& round) = 0;
  virtual void waits_for(const std::string& other) = 0;
  virtual void begins(Seconds until_first) = 0;  // not of one round
};

// Until it is stopped; with `once` one round, which is returned.
std::optional<WatchRound> watch(const WatchSettings& settings, WatchWorld& world);

}  // namespace ringtrue::ops
