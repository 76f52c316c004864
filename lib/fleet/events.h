// What the nodes' devices did while nobody measured, asked of their daemons.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/fleet.h"
#include "run/device_event.h"

namespace ringtrue::fleet {

struct NodeEvents {
  std::string node;  // the target's
  // Errors: of the way to its daemon, of one that is older (refused), corrupted.
  Result<run::DeviceEvents> events;
};

// Of the last so many seconds. Never fails as a whole. Order as given.
std::vector<NodeEvents> events(const std::vector<Target>& targets, const Options& options,
                               std::int64_t seconds);

}  // namespace ringtrue::fleet
