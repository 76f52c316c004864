// At most so many lines in so many seconds: what unauthenticated clients do must not fill a log.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/clock.h"

namespace ringtrue::daemon {

class Limiter {
 public:
  Limiter(int lines, Seconds window) : lines_(lines), window_(window) {}

  struct Verdict {
    bool speak = false;
    std::uint64_t unspoken = 0;  // events of the last windows that were not spoken of
  };
  Verdict event() {
    std::lock_guard lock(mutex_);
    ++total_;
    Verdict verdict;
    if (begun_ == 0 || seconds_since(begun_) > window_) {
      begun_ = now_ns();
      spoken_ = 0;
      verdict.unspoken = unspoken_;
      unspoken_ = 0;
    }
    if (spoken_ < lines_) {
      ++spoken_;
      verdict.speak = true;
    } else {
      ++unspoken_;
    }
    return verdict;
  }
  std::uint64_t total() const {
    std::lock_guard lock(mutex_);
    return total_;
  }

 private:
  const int lines_;
  const Seconds window_;
  mutable std::mutex mutex_;
  std::int64_t begun_ = 0;
  int spoken_ = 0;
  std::uint64_t unspoken_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace ringtrue::daemon
