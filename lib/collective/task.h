// Coroutines for collectives: lazy, awaited by their parent or run side by side in a group.
//
// A Task owns its frame. Destroying the outermost Task destroys every frame below it, which is how a rank's
// program is cancelled: it is never resumed again, then dropped.
//
// g++ 12: name awaitables and operands as locals; no co_await inside conditional expressions; no lambdas
// with captures as coroutines.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>
#include <vector>

namespace ringtrue::collective {

class [[nodiscard]] Task {
 public:
  struct promise_type {
    std::coroutine_handle<> parent;     // resumed at the end; null for a task that was started, not awaited
    std::size_t* group_left = nullptr;  // counted down at the end when run in a group

    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept {
        promise_type& p = self.promise();
        if (p.group_left && --*p.group_left > 0) return std::noop_coroutine();
        return p.parent ? p.parent : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  Task() = default;
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Runs until the first suspension. For worlds, on the outermost task; for programs, on one that runs beside
  // the rest and is waited for with end(), if at all.
  void start() { handle_.resume(); }
  bool finished() const { return !handle_ || handle_.done(); }

  struct Awaiter {
    std::coroutine_handle<promise_type> child;
    bool await_ready() const { return !child || child.done(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) const {
      child.promise().parent = parent;
      return child;
    }
    void await_resume() const {}
  };
  Awaiter operator co_await() const& { return Awaiter{handle_}; }

  // co_await task.end(): of a task that was started and is suspended somewhere.
  struct End {
    std::coroutine_handle<promise_type> child;
    bool await_ready() const { return !child || child.done(); }
    void await_suspend(std::coroutine_handle<> parent) const { child.promise().parent = parent; }
    void await_resume() const {}
  };
  End end() const { return End{handle_}; }

 private:
  friend class Group;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

// Runs several tasks of one rank side by side:  Group g; g.add(a()); g.add(b()); co_await g;
// The group lives in the parent's frame, so cancelling the parent cancels all of it.
class Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  void add(Task task) { tasks_.push_back(std::move(task)); }

  bool await_ready() const { return tasks_.empty(); }
  bool await_suspend(std::coroutine_handle<> parent) {
    left_ = tasks_.size() + 1;  // one more, so that none resumes the parent while others are being started
    for (Task& t : tasks_) {
      t.handle_.promise().parent = parent;
      t.handle_.promise().group_left = &left_;
      t.handle_.resume();
    }
    return --left_ > 0;  // false: all are finished, go on at once
  }
  void await_resume() const {}

 private:
  std::vector<Task> tasks_;
  std::size_t left_ = 0;
};

}  // namespace ringtrue::collective
