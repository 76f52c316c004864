// Everything that the probes read, as a file a node.
#pragma once

#include <string>

#include "operator/documents/topo.h"
#include "operator/facts.h"
#include "operator/setup.h"

namespace ringtrue::ops {

struct GatherRequest {
  Setup setup;
  bool hosts = false;  // of the configured hosts; else of this machine
  FactRequest facts;
  std::string output;  // the file, or the folder where there are several nodes; ringtrue-NODE.rec.gz if empty
  std::string salt;    // of the stand-ins; drawn at random if empty
  bool redact = false;  // stand-ins for names, addresses and serial numbers
};

// Nothing is overwritten.
Outcome<GatherDocument> gather(const GatherRequest& request, const Control& control);

}  // namespace ringtrue::ops
