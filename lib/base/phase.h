// What a run, a lease or a worker is in the middle of.
#pragma once

#include <cstdint>

#include "base/keys.h"

namespace ringtrue {

// From lease to open: the commands to daemons and workers, in the order of lib/wire/node.proto.
enum class Phase : std::uint8_t {
  none,
  lease,
  prepare,
  connect,
  barrier,
  run,
  collect,
  release,
  heartbeat,
  abort,
  open,   // a worker learns its place
  start,  // of worker processes
  inspect,
};

template <>
inline constexpr const char* keys_of<Phase>[] = {"",     "lease",   "prepare", "connect",   "barrier",
                                                 "run",  "collect", "release", "heartbeat", "abort",
                                                 "open", "start",   "inspect"};

}  // namespace ringtrue
