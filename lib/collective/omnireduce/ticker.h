// Calls a function again and again on the world's clock, until it is stopped: retransmission, silence.
#pragma once

#include <functional>
#include <utility>

#include "collective/packets.h"

namespace ringtrue::collective {

class Ticker {
 public:
  // `tick` returns how long to wait for the next call; it may send packets and resume coroutines, but must
  // not bring the program to its end.
  Ticker(Endpoint& self, std::function<Seconds()> tick) : self_(self), tick_(std::move(tick)) {}
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  void start(Seconds first) {
    task_ = run(first);
    task_.start();
  }

  // To be awaited before the ticker goes.
  Task stop() {
    stopping_ = true;
    if (self_.done(timer_)) {
      co_await task_.end();  // the world is about to resume it
    } else {
      self_.packets()->cancel(timer_);
    }
  }

 private:
  Task run(Seconds wait) {
    while (!stopping_) {
      timer_ = self_.packets()->timer(wait);
      co_await self_.wait(timer_);
      // What this rank waits for may be here, unread: a busy rank is late for its timers, too.
      const Token idle = self_.packets()->idle();
      co_await self_.wait(idle);
      if (!stopping_) wait = tick_();
    }
  }

  Endpoint& self_;
  std::function<Seconds()> tick_;
  Token timer_;
  bool stopping_ = false;
  Task task_;
};

}  // namespace ringtrue::collective
