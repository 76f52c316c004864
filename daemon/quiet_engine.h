// gRPC's own event engine wakes up several times a second to look at its timers and keeps a pool of threads
// for what a daemon hardly ever does. Ours has one thread, which looks once a second.
#pragma once

namespace ringtrue::daemon {

// Before anything else of gRPC is used. With a version of gRPC whose interface is another one, its own engine
// stays.
void use_quiet_engine();

// While one of these lives, gRPC's timers are right to some 20 ms instead of a second: a lease's heartbeats
// and deadlines go by them.
class ExactTimers {
 public:
  ExactTimers();
  ~ExactTimers();
  ExactTimers(const ExactTimers&) = delete;
  ExactTimers& operator=(const ExactTimers&) = delete;
};

}  // namespace ringtrue::daemon
