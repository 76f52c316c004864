// What is in the nodes, asked of their daemons.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "fleet/fleet.h"
#include "probe/request.h"
#include "topology/model.h"

namespace ringtrue::fleet {

struct NodeInspection {
  std::string node;  // the target's
  // The node under that name, and the fabric where it saw one. Errors: of the way to its daemon, of a daemon
  // that is older (refused) or lacks ringtrue-probe (unavailable), corrupted.
  Result<topology::Cluster> facts;
  std::string recording;  // packed, as probe/recording.h has it
};

// Each node has `deadline` to answer, beyond the window. Never fails as a whole; some hundred nodes at a
// time. Order as given.
std::vector<NodeInspection> inspect(const std::vector<Target>& targets, const Options& options,
                                    const probe::ReadRequest& request, Seconds deadline);

// The fabric's cables and forwarding tables as one node reads them (formats/forwarding.h), in so many seconds
// once it is reached. Errors: those of the way to its daemon; its own; refused: its daemon is older.
Result<std::string> routes_of(const Target& target, const Options& options, Seconds deadline);

}  // namespace ringtrue::fleet
