// How a use case is told to end before its time: what is complete by then is told, what was held is released.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

namespace ringtrue::ops {

class Stop {
 public:
  // From any thread. Returns whether somebody ends what is going on in good order; where nobody does, nothing
  // is held that would have to be released.
  bool request() {
    const std::lock_guard lock(mutex_);
    requested_ = true;
    if (end_) end_();
    return bool(end_);
  }
  bool requested() const {
    const std::lock_guard lock(mutex_);
    return requested_;
  }

  // While it lives, request() calls `end`, from the thread that asks.
  class Handler {
   public:
    Handler(Stop& stop, std::function<void()> end) : stop_(stop) { set(std::move(end)); }
    ~Handler() { set(nullptr); }
    Handler(const Handler&) = delete;
    Handler& operator=(const Handler&) = delete;

   private:
    void set(std::function<void()> end) {
      const std::lock_guard lock(stop_.mutex_);
      stop_.end_ = std::move(end);
    }
    Stop& stop_;
  };

 private:
  mutable std::mutex mutex_;
  bool requested_ = false;
  std::function<void()> end_;
};

}  // namespace ringtrue::ops
