#include "engine/session/program.h"

#include <time.h>

#include "base/clock.h"
#include "engine/packets/endpoint.h"

namespace ringtrue::engine {

namespace {

std::int64_t thread_cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// `everything`: the last one of the run.
void check(RankRun& run, bool everything) {
  if (!run.job.check) return;
  const Mismatch found = run.store.check(everything);
  if (found.count > 0 && run.report.wrong == 0) run.report.first_wrong = found.first;
  run.report.wrong += found.count;
}

}  // namespace

void Stopwatch::start() {
  if (running_++ == 0) began_ns_ = thread_cpu_ns();
}

void Stopwatch::stop() {
  if (--running_ == 0) total_ns_ += thread_cpu_ns() - began_ns_;
}

int batch_of(const collective::Algorithm& algorithm, const collective::Call& call) {
  if (algorithm.uses_packets()) return 1;
  const std::uint64_t bytes = call.bytes();
  if (bytes <= 4 * 1024) return 100;
  if (bytes <= 16 * 1024) return 50;
  if (bytes <= 64 * 1024) return 20;
  if (bytes <= 256 * 1024) return 5;
  return 1;
}

collective::Task play(RankRun& run) {
  RankEndpoint& self = run.self;
  const run::Job& job = run.job;
  const int batch = batch_of(run.algorithm, job.call);
  run.report.rank = self.rank();
  run.report.batch = batch;
  PacketEndpoint* const packets = self.packets();

  for (int sample = -job.warmup; sample < job.iterations; ++sample) {
    const bool timed = sample >= 0;
    run.store.fill(sample == -job.warmup);
    const collective::Task before = collective::barrier(self);
    co_await before;

    if (sample == 0) self.reset_counters();
    if (timed) run.stopwatch.start();
    std::int64_t spent = 0;
    for (int i = 0; i < batch; ++i) {
      if (i > 0) {
        check(run, false);
        run.store.fill(false);
      }
      const std::int64_t began = now_ns();
      collective::Endpoint& endpoint = run.store.begin_call();
      if (packets) packets->begin_call(run.store.non_zero());
      const collective::Task call = run.algorithm.program(endpoint, job.call);
      co_await call;
      run.store.end_call();
      const Store::Ended ended = run.store.ended();
      co_await ended;
      spent += now_ns() - began;
      if (packets) {
        run.report.counts = packets->counts();
        // The program may have ended inside its own handler: let that return before its frame goes.
        const RankEndpoint::Turn turn = self.turn();
        co_await turn;
      }
    }
    if (timed) {
      run.stopwatch.stop();
      run.report.time_s.push_back(double(spent) * 1e-9 / batch);
    }
    // Nobody checks while others of its thread still run against the clock.
    const collective::Task after = collective::barrier(self);
    co_await after;
    check(run, sample == job.iterations - 1);
  }
}

}  // namespace ringtrue::engine
