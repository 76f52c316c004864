// Monotonic time, on which deadlines are points, so that a wrong wall clock disturbs nothing; and the wall
// clock, for what is kept and told.
#pragma once

#include <time.h>

#include <cstdint>

#include "base/units.h"

namespace ringtrue {

// Nanoseconds on CLOCK_MONOTONIC.
inline std::int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// Microseconds since 1970.
inline std::int64_t wall_clock_us() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return std::int64_t(t.tv_sec) * 1'000'000 + t.tv_nsec / 1000;
}

inline Seconds seconds_since(std::int64_t start_ns) {
  return Seconds(double(now_ns() - start_ns) * 1e-9);
}

class Deadline {
 public:
  static Deadline in(Seconds s) { return Deadline(now_ns() + std::int64_t(s.value * 1e9)); }
  static Deadline never() { return Deadline(INT64_MAX); }

  bool passed() const { return now_ns() >= at_ns_; }
  std::int64_t at_ns() const { return at_ns_; }
  // Time left, at least 0; -1 for never. Rounded up, as poll() and epoll_wait() want it.
  int left_ms() const {
    if (at_ns_ == INT64_MAX) return -1;
    const std::int64_t left = at_ns_ - now_ns();
    return left <= 0 ? 0 : int((left + 999'999) / 1'000'000);
  }

 private:
  explicit Deadline(std::int64_t at) : at_ns_(at) {}
  std::int64_t at_ns_;
};

}  // namespace ringtrue
