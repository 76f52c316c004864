// Which daemons answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/documents/trouble.h"

namespace ringtrue::ops {

struct NodeRow {
  std::string node;
  bool reachable = false;
  std::string version, lease, cause;
};

struct NodesDocument {
  std::vector<NodeRow> nodes;
  std::optional<Trouble> error;
};

}  // namespace ringtrue::ops
