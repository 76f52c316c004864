// What monitoring is told of a fleet, after a check: results alone. A daemon's own state is its page's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/documents/trouble.h"

namespace ringtrue::ops {

struct MetricsDocument {
  struct Side {
    std::string node;
    Maybe sends, receives, sends_baseline, receives_baseline;  // bytes per second
  };
  struct Rail {
    std::string node, device;  // mlx5_0/1
    Maybe sends, receives;
  };
  struct Path {
    std::string source, destination;
    double rate = 0;
  };
  struct Info {
    std::string severity, kind, scope, node, peer, device;
    auto operator<=>(const Info&) const = default;
  };
  std::string fleet, version;
  std::uint32_t protocol = 0;
  std::string verdict = "unknown";
  std::int64_t run_us = 0;                      // when the check began, wall clock
  std::optional<std::int64_t> last_verdict_us;  // of the last that was not unknown
  Maybe interval_s;                             // of the watch
  Maybe seconds, bytes, runs;                   // of the check; nullopt: it did not come that far
  std::map<std::string, std::int64_t> checks;   // by verdict, all that are recorded; empty: unknown
  Maybe busbw, busbw_expected;
  Maybe expected;  // of a hop
  std::vector<Side> sides;
  std::vector<Rail> rails;
  std::vector<Path> paths;
  std::map<std::string, int> findings;  // by severity
  std::vector<Info> infos;              // worst first, each once
  int infos_dropped = 0;
  std::optional<int> suspected, confirmed;
  std::optional<int> not_checked;
  std::optional<int> measured, silent, excluded;  // nodes
  std::optional<std::int64_t> history_bytes, history_oldest_us;
};

}  // namespace ringtrue::ops
