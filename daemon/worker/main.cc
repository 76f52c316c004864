// ringtrue-worker: one process's part in the runs of a lease. Started by ringtrued or by `ringtrue run
// --local`, with its end of a socket pair as the descriptor that its only argument names.
//
// The main thread plays the phases; a second one reads the socket, so that an abort, or the end of the stream
// (whoever started us is gone), interrupts a phase.
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/fd.h"
#include "base/process.h"
#include "engine/session/session.h"
#include "wire/convert.h"
#include "worker/channel.h"

namespace ringtrue {
namespace {

// How long a phase may take to notice that it was interrupted before the process just goes.
constexpr Seconds patience{2};

class Worker {
 public:
  explicit Worker(int fd) : channel_(OwnedFd(::dup(fd))), socket_(OwnedFd(fd)) {}

  int serve() {
    std::thread reader([this] { read(); });
    const int status = play();
    reader.detach();  // blocked in its read; the process ends now
    return status;
  }

 private:
  void read() {
    for (;;) {
      rpc::Command command;
      auto got = socket_.receive(command, Deadline::never());
      if (!got) break;
      std::lock_guard lock(mutex_);
      if (command.has_open()) descriptors_ = socket_.take_descriptors();
      if (command.has_abort()) {
        aborted_ = true;
        if (session_) session_->abort();
        continue;
      }
      commands_.push_back(std::move(command));
      changed_.notify_one();
    }
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
      if (session_) session_->abort();
      changed_.notify_one();
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(patience.value));
    ::_exit(1);
  }

  int play() {
    for (;;) {
      rpc::Command command;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return closed_ || !commands_.empty(); });
        if (closed_) return 0;
        command = std::move(commands_.front());
        commands_.pop_front();
      }
      if (command.has_release()) return 0;
      rpc::Event event;
      event.set_sequence(command.sequence());
      auto done = perform(command, event);
      if (!done) *event.mutable_error() = wire::to_wire(done.error());
      // The reports of a run with all its events may be long; the starter waits for no longer than its
      // deadline.
      auto sent = channel_.send(event, Deadline::in(Seconds(30)));
      if (!sent && sent.error().cause == Cause::bad_input) {
        event.Clear();
        event.set_sequence(command.sequence());
        *event.mutable_error() = wire::to_wire(Error{
            Cause::bad_input, "the trace of the run is too long to be sent", "", "run fewer iterations"});
        sent = channel_.send(event, Deadline::in(Seconds(5)));
      }
      if (!sent) return 1;
    }
  }

  Result<void> perform(const rpc::Command& command, rpc::Event& event) {
    const Deadline deadline = Deadline::in(Seconds(command.deadline_s()));
    event.mutable_done();
    if (command.has_open()) return open(command.open());
    if (!session_) return fail(Cause::internal, "a phase before open");
    if (aborted_) return fail(Cause::cancelled, "stopped on request");
    switch (command.body_case()) {
      case rpc::Command::kPrepare: {
        auto job = wire::from_wire(command.prepare().job());
        if (!job) return tl::unexpected(job.error());
        auto port = session_->prepare(*job);
        if (!port) return tl::unexpected(port.error());
        event.mutable_prepared()->add_ports(std::uint32_t(*port));
        return {};
      }
      case rpc::Command::kConnect: {
        auto addresses = wire::from_wire(command.connect());
        if (!addresses) return tl::unexpected(addresses.error());
        return session_->connect(*addresses, deadline);
      }
      case rpc::Command::kBarrier:
        return session_->barrier(deadline);
      case rpc::Command::kRun:
        return session_->run(deadline);
      case rpc::Command::kCollect: {
        auto report = session_->collect();
        if (!report) return tl::unexpected(report.error());
        *event.mutable_report() = wire::to_wire(*report);
        return {};
      }
      default:
        return fail(Cause::internal, "a command that is not a phase");
    }
  }

  Result<void> open(const rpc::Member& message) {
    auto member = wire::from_wire(message);
    if (!member) return tl::unexpected(member.error());
    std::lock_guard lock(mutex_);
    if (session_) return fail(Cause::internal, "a second open");
    if (member->processes > 1) {
      if (descriptors_.size() != std::size_t(member->processes) + 1)
        return fail(Cause::internal, "open came without its descriptors");
      member->shared_memory = descriptors_.front().get();
      for (std::size_t i = 1; i < descriptors_.size(); ++i)
        member->doorbells.push_back(descriptors_[i].get());
    }
    if (auto opened = assign(session_, engine::Session::open(std::move(*member))); !opened) return opened;
    if (aborted_) session_->abort();
    return {};
  }

  worker::Channel channel_;  // written by the main thread
  worker::Channel socket_;   // read by the reader

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<rpc::Command> commands_;
  std::vector<OwnedFd> descriptors_;  // outlive the session
  std::unique_ptr<engine::Session> session_;
  std::atomic<bool> aborted_ = false;
  bool closed_ = false;
};

// Where memory runs out, this process goes before the daemon does. A core of a process that holds gigabytes
// helps nobody, and fills disks; sockets are needed in numbers.
void set_limits() {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  raise_descriptor_limit();
  if (std::FILE* file = std::fopen("/proc/self/oom_score_adj", "we")) {
    std::fputs("500", file);
    std::fclose(file);
  }
}

}  // namespace
}  // namespace ringtrue

int main(int argc, char** argv) {
  int fd = -1;
  const std::string_view text = argc == 2 ? argv[1] : "";
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fd);
  if (error != std::errc() || end != text.data() + text.size() || fd < 3) {
    std::fputs("ringtrue-worker is started by ringtrued and by `ringtrue run`, not by hand\n", stderr);
    return 3;
  }
  ringtrue::die_with_parent();
  ringtrue::set_limits();
  auto* worker =
      new ringtrue::Worker(fd);  // never destroyed: its reader may still run while the process ends
  const int status = worker->serve();
  std::fflush(nullptr);
  ::_exit(status);
}
