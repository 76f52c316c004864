// Recordings of nodes, on disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operator/documents/trouble.h"

namespace ringtrue::ops {

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

}  // namespace ringtrue::ops
