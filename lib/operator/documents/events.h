// What the nodes' devices did while nobody measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operator/documents/trouble.h"
#include "run/device_event.h"

namespace ringtrue::ops {

struct NodeEvent {
  std::string node;
  run::DeviceEvent event;
};

struct EventsDocument {
  std::int64_t seconds = 0;        // how far back was asked
  std::vector<std::string> nodes;  // that told theirs
  std::vector<NodeEvent> events;   // by time
  std::vector<std::string> notes;  // which nodes have not watched so long, or told only the latest
  std::optional<Trouble> error;    // nodes that did not tell
};

}  // namespace ringtrue::ops
