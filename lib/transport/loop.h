// One thread's event loop: resumes the programs of the ranks that it plays, and sleeps when none can go on.
//
// Work is taken last in, first out, so that a program continues with the bytes that have just arrived while
// they are still in this core's cache.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace ringtrue::transport {

// A file descriptor's user. Level-triggered.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void ready(std::uint32_t epoll_events) = 0;
};

// A source of work other than descriptors and timers, such as a shared-memory mailbox.
class Source {
 public:
  virtual ~Source() = default;
  // Does some of the waiting work. False: there was none.
  virtual bool work() = 0;
  // Called before the thread may sleep: from here on, whoever makes work must ring the doorbell.
  // False: there is work after all.
  virtual bool prepare_to_sleep() = 0;
  virtual void awake() = 0;
};

class Loop {
 public:
  // `doorbell`: an eventfd to be woken by, or -1 to make one. Not closed if given.
  static Result<std::unique_ptr<Loop>> make(int doorbell = -1);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Any thread; also another process that has the doorbell.
  void ring() const { ring(doorbell_); }
  static void ring(int doorbell);
  int doorbell() const { return doorbell_; }

  // The loop's thread only.
  void resume_soon(std::coroutine_handle<> program) { ready_.push_back(program); }
  Result<void> watch(int fd, std::uint32_t epoll_events, Watcher* watcher);
  void change(int fd, std::uint32_t epoll_events, Watcher* watcher);
  // From here on the watcher is not called any more, not even for events that were seen already.
  void forget(int fd, const Watcher* watcher);
  void at(std::int64_t when_ns, std::function<void()> action);  // on now_ns()'s clock
  void set_source(Source* source) { source_ = source; }
  // How long to look for work before sleeping. 0 where other threads need the core.
  void set_spin(std::int64_t nanoseconds) { spin_ns_ = nanoseconds; }

  // Until stop() gives true or the deadline passes; looks at `stop` after each piece of work and each
  // wake-up. True: stopped; false: the deadline passed.
  bool run(const std::function<bool()>& stop, Deadline deadline);
  // Drops programs that were to be resumed and timers: after a failed run.
  void clear();

 private:
  Loop() = default;
  bool work_once();
  void poll(int timeout_ms);
  void fire_timers();

  struct Timer {
    std::int64_t when;
    std::uint64_t sequence;
    std::function<void()> action;
    bool operator>(const Timer& o) const { return when != o.when ? when > o.when : sequence > o.sequence; }
  };

  int epoll_ = -1;
  int doorbell_ = -1;
  bool owns_doorbell_ = false;
  int watched_ = 0;
  std::vector<const Watcher*> forgotten_;  // since the current round of events began
  std::vector<std::coroutine_handle<>> ready_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  std::uint64_t timer_sequence_ = 0;
  Source* source_ = nullptr;
  std::int64_t spin_ns_ = 0;
};

}  // namespace ringtrue::transport
