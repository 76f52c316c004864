// What is in the nodes, asked of their daemons.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "fleet/fleet.h"
#include "topology/model.h"

namespace ringtrue::fleet {

struct InspectOptions {
  Seconds window{1};       // the counters are read twice, so far apart; 0: once; at most 60
  bool wake_gpus = false;  // ask NVML even where that wakes sleeping GPUs
  bool recording = false;  // the recordings as well
  Seconds deadline{10};    // for each answer, beyond the window
};

struct NodeInspection {
  std::string node;  // the target's
  // The node under that name, and the fabric where it saw one. Errors: of the way to its daemon, of a daemon
  // that is older (refused) or lacks ringtrue-probe (unavailable), corrupted.
  Result<topology::Cluster> facts;
  std::string recording;  // as topology/format/format.h has it, packed; empty unless asked for
};

// Never fails as a whole; some hundred nodes at a time. Order as given.
std::vector<NodeInspection> inspect(const std::vector<Target>& targets, const Options& options,
                                    const InspectOptions& what);

}  // namespace ringtrue::fleet
