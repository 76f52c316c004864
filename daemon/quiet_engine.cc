#include "daemon/quiet_engine.h"

#include <grpcpp/version_info.h>

#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR == 51

#include <grpc/event_engine/event_engine.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

// gRPC's core, src/core/lib/iomgr/timer_manager.h of this version: exported, though not in a public header.
void grpc_timer_manager_set_threading(bool enabled);
void grpc_timer_manager_tick();
void grpc_timer_consume_kick();

namespace ringtrue::daemon {
namespace {

// How late a timer of gRPC's core may be. While nobody holds a lease they are deadlines of handshakes and of
// idle connections only.
constexpr std::chrono::milliseconds idle_tick(1000), exact_tick(20);

class QuietEngine;
std::atomic<int> exact_timers{0};
std::atomic<QuietEngine*> the_engine{nullptr};

using grpc_event_engine::experimental::EndpointConfig;
using grpc_event_engine::experimental::EventEngine;
using grpc_event_engine::experimental::MemoryAllocator;
using grpc_event_engine::experimental::MemoryAllocatorFactory;

// Runs closures, at once or later. Sockets and names are not its business: in this version gRPC's core does
// them elsewhere unless an experiment is switched on.
class QuietEngine final : public EventEngine {
 public:
  QuietEngine() : thread_([this] { serve(); }) { the_engine = this; }
  ~QuietEngine() override {
    the_engine = nullptr;
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_one();
    }
    // The last reference may be dropped by a closure that we run.
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

  void Run(Closure* closure) override { RunAfter(Duration::zero(), closure); }
  void Run(absl::AnyInvocable<void()> closure) override { RunAfter(Duration::zero(), std::move(closure)); }
  TaskHandle RunAfter(Duration when, Closure* closure) override {
    return RunAfter(when, absl::AnyInvocable<void()>([closure] { closure->Run(); }));
  }
  TaskHandle RunAfter(Duration when, absl::AnyInvocable<void()> closure) override {
    std::lock_guard lock(mutex_);
    const Key key{Clock::now() + std::max(when, Duration::zero()), ++last_};
    const bool first = tasks_.empty() || key < tasks_.begin()->first;
    tasks_.emplace(key, std::move(closure));
    if (first) changed_.notify_one();
    return {{static_cast<intptr_t>(key.first.time_since_epoch().count()), static_cast<intptr_t>(key.second)}};
  }
  bool Cancel(TaskHandle handle) override {
    absl::AnyInvocable<void()> dropped;  // destroyed after the lock: it may hold what calls us again
    std::lock_guard lock(mutex_);
    const auto found =
        tasks_.find({Clock::time_point(Clock::duration(handle.keys[0])), std::uint64_t(handle.keys[1])});
    if (found == tasks_.end()) return false;
    dropped = std::move(found->second);
    tasks_.erase(found);
    return true;
  }
  void look_now() {
    std::lock_guard lock(mutex_);
    look_now_ = true;
    changed_.notify_one();
  }
  bool IsWorkerThread() override { return std::this_thread::get_id() == thread_.get_id(); }

  absl::StatusOr<std::unique_ptr<Listener>> CreateListener(Listener::AcceptCallback,
                                                           absl::AnyInvocable<void(absl::Status)>,
                                                           const EndpointConfig&,
                                                           std::unique_ptr<MemoryAllocatorFactory>) override {
    return absl::UnimplementedError("this engine has no sockets");
  }
  ConnectionHandle Connect(OnConnectCallback on_connect, const ResolvedAddress&, const EndpointConfig&,
                           MemoryAllocator, Duration) override {
    on_connect(absl::UnimplementedError("this engine has no sockets"));
    return {{0, 0}};
  }
  bool CancelConnect(ConnectionHandle) override { return false; }
  std::unique_ptr<DNSResolver> GetDNSResolver(const DNSResolver::ResolverOptions&) override {
    return nullptr;
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Key = std::pair<Clock::time_point, std::uint64_t>;

  void serve() {
    std::unique_lock lock(mutex_);
    Clock::time_point next_tick = Clock::now();
    while (!stopping_) {
      const auto now = Clock::now();
      if (look_now_ || now >= next_tick) {
        look_now_ = false;
        next_tick = now + (exact_timers > 0 ? exact_tick : idle_tick);
        lock.unlock();
        grpc_timer_consume_kick();  // or this thread goes by the earliest timer that it saw last
        grpc_timer_manager_tick();
        lock.lock();
      } else if (tasks_.empty() || tasks_.begin()->first.first > now) {
        changed_.wait_until(lock,
                            tasks_.empty() ? next_tick : std::min(next_tick, tasks_.begin()->first.first));
      } else {
        absl::AnyInvocable<void()> task = std::move(tasks_.begin()->second);
        tasks_.erase(tasks_.begin());
        lock.unlock();
        task();
        task = nullptr;
        lock.lock();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, absl::AnyInvocable<void()>> tasks_;
  std::uint64_t last_ = 0;
  bool stopping_ = false;
  bool look_now_ = false;
  std::thread thread_;
};

}  // namespace

void use_quiet_engine() {
  grpc_event_engine::experimental::SetEventEngineFactory([] { return std::make_unique<QuietEngine>(); });
  grpc_init();  // and never shut down: what follows is undone by a second first time
  // The core's own timer thread wakes once a second for each of several lists, each at a time of its own.
  grpc_timer_manager_set_threading(false);
}

ExactTimers::ExactTimers() {
  ++exact_timers;
  if (QuietEngine* engine = the_engine) engine->look_now();
}
ExactTimers::~ExactTimers() {
  --exact_timers;
}

}  // namespace ringtrue::daemon

#else

namespace ringtrue::daemon {
void use_quiet_engine() {}
ExactTimers::ExactTimers() = default;
ExactTimers::~ExactTimers() = default;
}  // namespace ringtrue::daemon

#endif
