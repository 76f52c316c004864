// One part of a rank's program tells another how far it has come. Both belong to the same rank, so there is
// no I/O in it and only one of them runs at a time.
#pragma once

#include <coroutine>
#include <cstdint>
#include <utility>

namespace ringtrue::collective {

// Counts up. At most one coroutine waits at it at a time.
class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void raise() {
    ++count_;
    if (waiter_ && count_ >= wanted_) std::exchange(waiter_, nullptr).resume();
  }

  struct Wait {
    Gate& gate;
    std::uint64_t count;
    bool await_ready() const { return gate.count_ >= count; }
    void await_suspend(std::coroutine_handle<> waiter) const {
      gate.wanted_ = count;
      gate.waiter_ = waiter;
    }
    void await_resume() const {}
  };
  // co_await gate.reaches(n): until it was raised n times.
  Wait reaches(std::uint64_t count) { return Wait{*this, count}; }

 private:
  std::uint64_t count_ = 0, wanted_ = 0;
  std::coroutine_handle<> waiter_;
};

}  // namespace ringtrue::collective
