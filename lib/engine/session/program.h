// What one rank does in a run: fill, barrier, the timed call (or a batch of calls), barrier, check; repeated.
#pragma once

#include "collective/algorithm.h"
#include "engine/session/endpoint.h"
#include "engine/session/store.h"
#include "run/job.h"
#include "run/report.h"

namespace ringtrue::engine {

// Told when a rank enters and leaves a timed part, to account for the processor time between.
class Stopwatch {
 public:
  void start();  // the first of a thread's ranks starts the clock
  void stop();   // the last one stops it
  void clear() { *this = {}; }
  double seconds() const { return double(total_ns_) * 1e-9; }

 private:
  int running_ = 0;
  std::int64_t began_ns_ = 0;
  std::int64_t total_ns_ = 0;
};

// Calls per sample: small ones are repeated until a sample is long against the barrier's skew. Each call of a
// batch has fresh input and a checked result; only the calls themselves are timed.
// Algorithms that use packets are never batched: calls must not meet.
int batch_of(const collective::Algorithm& algorithm, const collective::Call& call);

struct RankRun {
  RankEndpoint& self;
  const run::Job& job;
  const collective::Algorithm& algorithm;
  Store& store;
  Stopwatch& stopwatch;
  run::RankReport& report;
};

collective::Task play(RankRun& run);

}  // namespace ringtrue::engine
