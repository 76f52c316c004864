// How a use case is told to end before its time: what is complete by then is told, what was held is released.
#pragma once

#include <functional>
#include <mutex>

namespace ringtrue::ops {

class Stop {
 public:
  // From any thread. Returns whether somebody ends what is going on in good order; where nobody does, nothing
  // is held that would have to be released.
  bool request();
  bool requested() const;

  // While it lives, request() calls `end`, from the thread that asks.
  class Handler {
   public:
    Handler(Stop& stop, std::function<void()> end);
    ~Handler();
    Handler(const Handler&) = delete;
    Handler& operator=(const Handler&) = delete;

   private:
    Stop& stop_;
  };

 private:
  mutable std::mutex mutex_;
  bool requested_ = false;
  std::function<void()> end_;
};

}  // namespace ringtrue::ops
