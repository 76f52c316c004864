// This machine as a Source: files under a root, libraries asked in processes of their own.
#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "base/units.h"
#include "probe/source.h"
#include "probe/spawn.h"

namespace ringtrue::probe {

inline constexpr const char* all_libraries[] = {"system", "ethtool", "verbs", "nvml", "hwloc", "fabric"};

struct LiveOptions {
  std::string root;     // before every path; empty: this machine's own /sys and /proc
  std::string program;  // ringtrue-probe; empty: beside this program or in ../libexec/ringtrue
  // Of each library: one that hangs is killed, and the gap is named; a minute for GPUs to wake.
  // Forwarding tables have half a minute.
  Seconds deadline{3};
  bool wake_gpus = false;  // ask NVML even where that wakes sleeping GPUs
  bool fabric = true;      // walk the InfiniBand fabric where this machine may
  bool routes = false;     // record the answer of "routes" alone
  // Asked at once by a LiveSource; the others when their answer is wanted. Empty: all.
  std::vector<std::string> libraries;
};

// Reads files of this machine and nothing else: no process is started. answer() always fails.
class Files : public Source {
 public:
  explicit Files(std::string root = {});
  Result<std::string> read(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  Result<std::string> link(const std::string& path) override;
  Result<std::string> answer(std::string_view library) override;

 private:
  std::string root_;
};

// Files, and each library's answer out of a process of its own (`ringtrue-probe ask LIBRARY`), all started at
// once so that they take as long as the slowest.
class LiveSource : public Files {
 public:
  explicit LiveSource(LiveOptions options);
  Result<std::string> answer(std::string_view library) override;

 private:
  Child& ask(const std::string& probe, const std::string& library);

  LiveOptions options_;
  std::map<std::string, Child, std::less<>> asked_;  // by library
};

// Everything that the probes read here; with a window, the counters twice. `node`: its name. Not limited in
// time by itself: files of a device that is going away may block.
Recording record(const LiveOptions& options, const std::string& node, Seconds window);

// The same, done by `ringtrue-probe record` in a process of its own, which is ended at its deadline, and
// within a tenth of a second when a stop is asked for: what programs call that link no vendor's library.
// Errors: unavailable where ringtrue-probe cannot be found or run, deadline, cancelled, corrupted.
Result<Recording> read_this_machine(const LiveOptions& options, const std::string& node, Seconds window,
                                    const std::stop_token& stop = {});

// How long that may take beyond the window, before it is ended.
Seconds max_reading_time(const LiveOptions& options);

}  // namespace ringtrue::probe
