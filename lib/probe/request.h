// How a machine is to be read.
#pragma once

#include "base/units.h"

namespace ringtrue::probe {

struct ReadRequest {
  Seconds window{0};       // the counters are read twice, so far apart; 0: once; at most 60
  bool wake_gpus = false;  // ask NVML even where that wakes sleeping GPUs
  bool fabric = true;      // walk the InfiniBand fabric where this machine may; of another one always
  // Nothing but the fabric's cables and its switches' forwarding tables (library "routes"), which is read for
  // no other request.
  bool routes = false;
  bool operator==(const ReadRequest&) const = default;
};

}  // namespace ringtrue::probe
