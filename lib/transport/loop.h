// One thread's event loop: resumes the programs of the ranks that it plays, and sleeps when none can go on.
//
// Work is taken last in, first out, so that a program continues with the bytes that have just arrived while
// they are still in this core's cache.
#pragma once

#include <compare>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
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
  Loop(const Loop&) = delete;

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
  struct TimerId {
    std::int64_t when = 0;
    std::uint64_t sequence = 0;
    auto operator<=>(const TimerId&) const = default;
  };
  TimerId at(std::int64_t when_ns, std::function<void()> action);  // on now_ns()'s clock
  void cancel(const TimerId& timer) { timers_.erase(timer); }      // nothing if it has fired
  // One action a time, in order, when there is nothing else to do; but after max_wait_ns of other work, too.
  void when_idle(std::function<void()> action);
  static constexpr std::int64_t max_wait_ns = 200'000;
  // Those added last are looked at first.
  void add_source(Source* source) { sources_.insert(sources_.begin(), source); }
  void remove_source(const Source* source) { std::erase(sources_, source); }  // nothing if it is not there
  void clear_sources() { sources_.clear(); }
  // How long to look for work before sleeping, at most: less where the last waits took much longer. 0 where
  // other threads need the core.
  void set_spin(std::int64_t nanoseconds) { max_spin_ns_ = spin_ns_ = nanoseconds; }

  // Until stop() gives true or the deadline passes; looks at `stop` after each piece of work and each
  // wake-up. True: stopped; false: the deadline passed.
  bool run(const std::function<bool()>& stop, Deadline deadline);
  // Drops programs that were to be resumed and timers: after a failed run.
  void clear();

 private:
  Loop() = default;
  bool work_once();
  bool work_of_sources();
  bool sources_sleep();
  bool spin(const std::function<bool()>& stop);
  int poll(std::int64_t timeout_ns);  // -1: for ever. The number of descriptors that had something
  void fire_timers();
  void work_idly();

  OwnedFd epoll_, own_doorbell_;
  int doorbell_ = -1;
  int watched_ = 0;
  std::vector<const Watcher*> forgotten_;  // since the current round of events began
  std::vector<std::coroutine_handle<>> ready_;
  std::map<TimerId, std::function<void()>> timers_;
  std::uint64_t timer_sequence_ = 0;
  std::deque<std::function<void()>> idle_;
  std::int64_t idle_since_ = 0;  // when the first of idle_ came, or the last one before it was done
  std::vector<Source*> sources_;
  std::int64_t max_spin_ns_ = 0, spin_ns_ = 0;
};

}  // namespace ringtrue::transport
