#include "transport/loop.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace ringtrue::transport {

namespace {

// Tells the core that this is a wait, so that it gives way to its sister thread and saves power.
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// To the nanosecond where the kernel can do it (Linux 5.11), else rounded up to milliseconds.
int wait_for_events(int epoll, epoll_event* events, int max_events, std::int64_t timeout_ns) {
#if defined(SYS_epoll_pwait2)
  static std::atomic<bool> precise{true};
  if (timeout_ns > 0 && precise.load(std::memory_order_relaxed)) {
    const timespec timeout{timeout_ns / 1'000'000'000, long(timeout_ns % 1'000'000'000)};
    const long n = ::syscall(SYS_epoll_pwait2, epoll, events, max_events, &timeout, nullptr, 0);
    if (n >= 0 || errno == EINTR) return int(n);
    precise.store(false, std::memory_order_relaxed);
  }
#endif
  const std::int64_t ms =
      timeout_ns < 0 ? -1 : std::min<std::int64_t>((timeout_ns + 999'999) / 1'000'000, INT32_MAX);
  return ::epoll_wait(epoll, events, max_events, int(ms));
}

}  // namespace

Result<std::unique_ptr<Loop>> Loop::make(int doorbell) {
  std::unique_ptr<Loop> loop(new Loop);
  loop->epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  if (doorbell < 0) loop->own_doorbell_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  loop->doorbell_ = doorbell < 0 ? loop->own_doorbell_.get() : doorbell;
  if (!loop->epoll_ || loop->doorbell_ < 0)
    return fail(Cause::unavailable, std::string("no event loop: ") + std::strerror(errno), {},
                "raise the limit of open files (ulimit -n)");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  epoll_ctl(loop->epoll_.get(), EPOLL_CTL_ADD, loop->doorbell_, &event);
  return loop;
}

void Loop::ring(int doorbell) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(doorbell, &one, sizeof one);  // full means rung already
}

Result<void> Loop::watch(int fd, std::uint32_t epoll_events, Watcher* watcher) {
  epoll_event event{};
  event.events = epoll_events;
  event.data.ptr = watcher;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    return fail(Cause::unavailable, std::string("cannot watch a socket: ") + std::strerror(errno));
  ++watched_;
  return {};
}

void Loop::change(int fd, std::uint32_t epoll_events, Watcher* watcher) {
  epoll_event event{};
  event.events = epoll_events;
  event.data.ptr = watcher;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Loop::forget(int fd, const Watcher* watcher) {
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr) == 0) --watched_;
  forgotten_.push_back(watcher);
}

Loop::TimerId Loop::at(std::int64_t when_ns, std::function<void()> action) {
  const TimerId id{when_ns, timer_sequence_++};
  timers_.emplace(id, std::move(action));
  return id;
}

void Loop::when_idle(std::function<void()> action) {
  if (idle_.empty()) idle_since_ = now_ns();
  idle_.push_back(std::move(action));
}

void Loop::work_idly() {
  const auto action = std::move(idle_.front());
  idle_.pop_front();
  action();
  idle_since_ = now_ns();
}

void Loop::clear() {
  ready_.clear();
  timers_.clear();
  idle_.clear();
}

bool Loop::work_once() {
  if (!ready_.empty()) {
    const std::coroutine_handle<> program = ready_.back();
    ready_.pop_back();
    program.resume();
    return true;
  }
  return work_of_sources();
}

// All of them have their turn, so that a busy one does not starve the others.
bool Loop::work_of_sources() {
  bool worked = false;
  for (Source* source : sources_) worked |= source->work();
  return worked;
}

bool Loop::sources_sleep() {
  bool quiet = true;
  for (Source* source : sources_) quiet &= source->prepare_to_sleep();
  return quiet;
}

// Looks for work a little before sleeping: a wake-up costs more than most waits between cores take.
bool Loop::spin(const std::function<bool()>& stop) {
  if (sources_.empty() || spin_ns_ == 0) return false;
  const std::int64_t until = now_ns() + spin_ns_;
  do {
    for (int i = 0; i < 32; ++i) {
      if (work_of_sources()) return true;
      relax();
    }
  } while (now_ns() < until && !stop());
  return false;
}

void Loop::fire_timers() {
  while (!timers_.empty() && timers_.begin()->first.when <= now_ns()) {
    const auto action = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    action();
  }
}

int Loop::poll(std::int64_t timeout_ns) {
  epoll_event events[64];
  const int n = wait_for_events(epoll_.get(), events, 64, timeout_ns);
  forgotten_.clear();
  for (int i = 0; i < n; ++i) {
    if (auto* watcher = static_cast<Watcher*>(events[i].data.ptr)) {
      if (std::find(forgotten_.begin(), forgotten_.end(), watcher) == forgotten_.end())
        watcher->ready(events[i].events);
    } else {
      std::uint64_t count;
      [[maybe_unused]] const ssize_t got = read(doorbell_, &count, sizeof count);
    }
  }
  return n;
}

bool Loop::run(const std::function<bool()>& stop, Deadline deadline) {
  constexpr int pieces_between_polls = 64;
  int pieces = 0;
  while (!stop()) {
    if (work_once()) {
      if (!idle_.empty() && now_ns() - idle_since_ > max_wait_ns) work_idly();
      if (++pieces % pieces_between_polls != 0) continue;
      if (watched_ > 0) poll(0);  // descriptors must not starve behind work in memory
      fire_timers();
      if (deadline.passed()) return false;
      continue;
    }
    fire_timers();
    if (!ready_.empty()) continue;
    if (deadline.passed()) return false;
    if (!idle_.empty()) {
      // Idle work has no haste, and whoever else wants this core may be about to make urgent work for us.
      sched_yield();
      if (watched_ == 0 || poll(0) <= 0) work_idly();
      continue;
    }

    const std::int64_t idle_since = max_spin_ns_ > 0 ? now_ns() : 0;
    if (spin(stop)) continue;
    if (sources_sleep() && !stop()) {
      std::int64_t until = deadline.at_ns();
      if (!timers_.empty()) until = std::min(until, timers_.begin()->first.when);
      const std::int64_t timeout = until == INT64_MAX ? -1 : std::max<std::int64_t>(0, until - now_ns());
      poll(timeout);
    }
    for (Source* source : sources_) source->awake();
    if (max_spin_ns_ > 0)  // would more patience have saved the sleep?
      spin_ns_ =
          now_ns() - idle_since < 2 * max_spin_ns_ ? max_spin_ns_ : std::max(max_spin_ns_ / 8, spin_ns_ / 2);
  }
  return true;
}

}  // namespace ringtrue::transport
