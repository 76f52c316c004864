// Hops for documents.
#pragma once

#include "run/trace.h"

namespace ringtrue::report {

inline run::Hop hop(int source, int destination, std::uint64_t bytes = 0, double busy_s = 0) {
  run::Hop hop;
  hop.source = source;
  hop.destination = destination;
  hop.bytes = Bytes(bytes);
  hop.busy = Seconds(busy_s);
  return hop;
}

}  // namespace ringtrue::report
