// What is in the nodes, and what the rules say of it.
#pragma once

#include <optional>

#include "diagnosis/inspect/inspect.h"
#include "operator/documents/trouble.h"
#include "topology/model.h"

namespace ringtrue::ops {

struct TopoDocument {
  topology::Cluster cluster;
  diagnosis::Inspection inspection;
  std::optional<Trouble> error;  // nodes that could not be read
};

}  // namespace ringtrue::ops
