// What is in the nodes, and what the rules say of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include "ideal/facts.h"
#include "ideal/ideal.h"

#include "diagnosis/inspect/inspect.h"
#include "operator/documents/trouble.h"
#include "topology/model.h"

namespace ringtrue::ops {

struct TopoDocument {
  topology::Cluster cluster;
  diagnosis::Inspection inspection;
  std::optional<Trouble> error;  // nodes that could not be read
};

// One recording, on disk.
struct BundleRow {
  std::string node, file;
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;           // read of the node's
  std::vector<std::string> answers;  // libraries that answered
  std::uint64_t errors = 0;          // what could not be read
  double window_s = 0;               // between two readings of the counters; 0: one
  bool redacted = false;
};

struct GatherDocument {
  std::vector<BundleRow> bundles;
  std::optional<Trouble> error;  // nodes without
};

struct IdealDocument {
  ideal::Inputs inputs;
  ideal::Ideal ideal;
  std::optional<ideal::Facts> facts;  // where anything was probed
};

}  // namespace ringtrue::ops
