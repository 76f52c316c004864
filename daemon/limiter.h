// At most so many lines in so many seconds: what unauthenticated clients do must not fill a log.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"

namespace ringtrue::daemon {

class Limiter {
 public:
  Limiter(int lines, Seconds window) : lines_(lines), window_(window) {}

  // Something happened. Nullopt: nothing is to be logged of it; else of how many before it nothing was.
  std::optional<std::uint64_t> event() {
    std::lock_guard lock(mutex_);
    ++total_;
    std::uint64_t before = 0;
    if (begun_ == 0 || seconds_since(begun_) > window_) {
      begun_ = now_ns();
      logged_ = 0;
      before = std::exchange(suppressed_, 0);
    }
    if (logged_ < lines_) {
      ++logged_;
      return before;
    }
    ++suppressed_;
    return std::nullopt;
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
  int logged_ = 0;
  std::uint64_t suppressed_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace ringtrue::daemon
