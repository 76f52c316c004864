#include "worker/group.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/process.h"
#include "base/program.h"
#include "run/member.h"
#include "run/report.h"
#include "wire/convert.h"
#include "worker/channel.h"

namespace ringtrue::worker {
namespace {

constexpr Seconds grace{1};  // for an answer that is late, or for stopping after a failure elsewhere
constexpr Seconds stopped_patience{1};  // for a process that a signal has stopped
constexpr int look_ms = 250;            // after whether one is

// One worker at the other end of a socket pair. Killed and reaped when it goes.
class WorkerProcess {
 public:
  // Runs `program 3`, its end of the socket pair as descriptor 3, nothing else but the standard streams open.
  static Result<WorkerProcess> spawn(const std::string& program) {
    auto pair = open_socket_pair();
    if (!pair)
      return fail(Cause::unavailable,
                  std::string("no socket pair for a worker: ") + std::strerror(pair.error()));
    auto process = ChildProcess::start(program, {"ringtrue-worker", "3"}, {.channel = pair->theirs.get()});
    if (!process)
      return fail(Cause::unavailable,
                  "the worker " + program + " cannot be run: " + std::strerror(process.error()));
    WorkerProcess worker;
    worker.process_ = std::move(*process);
    worker.channel_ = Channel(std::move(pair->ours));
    return worker;
  }

  Channel& channel() { return channel_; }
  pid_t pid() const { return process_.pid(); }  // 0 once reaped

  bool stopped() const { return process_.stopped(); }

  // How the process ended: "killed by signal 9". Waits a moment for a process whose socket has closed, and
  // ends one that stays.
  std::string reap_dead() {
    if (!process_.ended(Deadline::in(Seconds(0.5)))) {
      kill();
      return "closed its channel";
    }
    const int status = process_.status();
    if (WIFSIGNALED(status)) return "was killed by signal " + std::to_string(WTERMSIG(status));
    if (WIFEXITED(status)) return "exited with status " + std::to_string(WEXITSTATUS(status));
    return "ended";
  }
  // Whether it has ended by itself, and not as one that is done.
  bool crashed() {
    return pid() > 0 && process_.ended() &&
           !(WIFEXITED(process_.status()) && WEXITSTATUS(process_.status()) == 0);
  }
  // Ends it however it stands, and reaps it.
  void kill() {
    // Only a process inside a kernel call that cannot be interrupted outlives this; the kernel's own reaper
    // has to take it, once we are gone.
    process_.kill(Seconds(5));
    channel_.close();
  }
  // Closes the socket and gives the process until the deadline to go; then as kill(). Whether it went.
  bool let_go(Deadline deadline) {
    channel_.close();
    const bool went = process_.ended(deadline);
    kill();
    return went;
  }

 private:
  ChildProcess process_;
  Channel channel_;
};

// Who is to blame, when several workers fail in one phase: the gravest is reported.
enum class Weight { none, cancelled, reported, silent, died };

class Workers final : public WorkerGroup {
 public:
  explicit Workers(Told told) : told_(std::move(told)) {}
  Result<void> start(const std::string& program, const run::Member& member, Deadline deadline);
  ~Workers() override;

  Result<std::vector<int>> prepare(const run::Job& job, Deadline deadline) override;
  Result<void> connect(const wire::Addresses& processes, Deadline deadline) override;
  Result<void> barrier(Deadline deadline) override;
  Result<void> run(Deadline deadline) override;
  Result<run::RunReport> collect(Deadline deadline) override;
  void abort() override;
  void release() override;
  std::vector<int> pids() const override;

 private:
  struct Member {
    WorkerProcess process;
    rpc::Event answer;
    bool answered = true;
    std::int64_t stopped_since = 0;  // by a signal; 0: it is not
    bool told = false;               // how it ended
  };

  Result<void> exchange(rpc::Command command, Deadline deadline, const std::vector<int>& descriptors = {});
  void receive_from(std::size_t index, Phase phase);
  void look_for_stopped(Phase phase);
  void give_up(std::size_t index, Phase phase, Seconds silence);
  void stop_others();
  void fault(Weight weight, Error error);
  void tell(Member& member, End end);
  std::string worker_name(std::size_t index) const;

  const Told told_;
  run::Member member_;
  std::vector<Member> members_;
  OwnedFd memory_;
  std::vector<OwnedFd> doorbells_;
  OwnedFd wake_;
  std::atomic<bool> aborted_ = false;
  std::uint64_t sequence_ = 0;
  std::uint64_t shared_bytes_ = 0;
  Weight weight_ = Weight::none;
  Error error_;
  bool stopping_ = false;
};

std::string Workers::worker_name(std::size_t index) const {
  return members_.size() == 1 ? "the worker" : fmt::format("worker {}", index);
}

Result<void> Workers::start(const std::string& program, const run::Member& member, Deadline deadline) {
  member_ = member;
  wake_ = OwnedFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return fail(Cause::unavailable, std::string("no eventfd: ") + std::strerror(errno));
  std::vector<int> descriptors;
  if (member.processes > 1) {
    memory_ = OwnedFd(::memfd_create("ringtrue", MFD_CLOEXEC));
    if (!memory_) return fail(Cause::unavailable, std::string("no shared memory: ") + std::strerror(errno));
    descriptors.push_back(memory_.get());
    for (int p = 0; p < member.processes; ++p) {
      doorbells_.emplace_back(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
      if (!doorbells_.back())
        return fail(Cause::unavailable, std::string("no eventfd: ") + std::strerror(errno));
      descriptors.push_back(doorbells_.back().get());
    }
  }
  for (int p = 0; p < member.processes; ++p) {
    auto process = WorkerProcess::spawn(program);
    if (!process) return tl::unexpected(process.error());
    members_.push_back({std::move(*process), {}, true, 0, false});
  }
  rpc::Command command;
  *command.mutable_open() = wire::to_wire(member_);
  return exchange(command, deadline, descriptors);
}

Workers::~Workers() {
  for (Member& m : members_) {
    tell(m, m.process.crashed() ? End::crashed : End::normal);
    m.process.kill();
  }
}

void Workers::tell(Member& member, End end) {
  if (told_ && !member.told) told_(end);
  member.told = true;
}

void Workers::fault(Weight weight, Error error) {
  if (weight > weight_) {
    weight_ = weight;
    error_ = std::move(error);
  }
}

void Workers::stop_others() {
  if (stopping_) return;
  stopping_ = true;
  const rpc::Command command = wire::plain_command(Phase::abort);
  for (Member& m : members_) {
    // A worker that is dead or does not take it is found out by its silence.
    if (m.process.pid() > 0 && !m.answered) (void)m.process.channel().send(command, Deadline::in(Seconds(0)));
  }
}

// A process that somebody has stopped keeps all others waiting until the deadline, and nothing else shows it.
void Workers::look_for_stopped(Phase phase) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& m = members_[i];
    if (m.answered || !m.process.stopped()) {
      m.stopped_since = 0;
    } else if (m.stopped_since == 0) {
      m.stopped_since = now_ns();
    } else if (seconds_since(m.stopped_since) >= stopped_patience) {
      give_up(i, phase, seconds_since(m.stopped_since));
    }
  }
}

void Workers::give_up(std::size_t index, Phase phase, Seconds silence) {
  Member& m = members_[index];
  const std::string said =
      fmt::format("did not answer in phase {} for {:.1f} s and was killed", key_of(phase), silence.value);
  const bool stopped = m.process.stopped();
  m.answered = true;
  m.process.kill();
  tell(m, stopped || stopping_ ? End::hung : End::deadline);
  if (stopped)
    fault(Weight::died, {Cause::peer_lost, worker_name(index) + " was stopped by a signal, " + said, "",
                         "see who stopped it: SIGSTOP, a debugger, a batch system"});
  else
    fault(Weight::silent, {Cause::deadline, worker_name(index) + " " + said, "",
                           "see whether its node is overloaded, or the process hangs"});
}

void Workers::receive_from(std::size_t index, Phase phase) {
  Member& m = members_[index];
  rpc::Event event;
  auto got = m.process.channel().poll(event);
  if (!got) {
    m.answered = true;
    tell(m, End::crashed);
    if (got.error().cause == Cause::peer_lost) {
      const std::string how = m.process.reap_dead();
      fault(
          Weight::died,
          {Cause::peer_lost, fmt::format("{} {} in phase {}", worker_name(index), how, key_of(phase)), "",
           "see why on that node: the kernel's log tells of the OOM killer, ringtrued's of the worker's last "
           "words; then check it again"});
    } else {
      m.process.kill();
      fault(Weight::died,
            {Cause::internal, fmt::format("{}: {}", worker_name(index), got.error().what), "", ""});
    }
    return;
  }
  if (!*got || event.sequence() != sequence_) return;
  m.answered = true;
  if (event.has_error()) {
    Error error = wire::from_wire(event.error());
    fault(error.cause == Cause::cancelled ? Weight::cancelled : Weight::reported, std::move(error));
  }
  m.answer = std::move(event);
}

Result<void> Workers::exchange(rpc::Command command, Deadline deadline, const std::vector<int>& descriptors) {
  if (weight_ != Weight::none) return tl::unexpected(error_);
  const Phase phase = wire::phase_of(command);
  const std::int64_t begun = now_ns();
  command.set_sequence(++sequence_);
  command.set_deadline_s(double(deadline.left_ms()) / 1e3);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (command.has_open()) command.mutable_open()->set_process(int(i));
    members_[i].answered = false;
    members_[i].stopped_since = 0;
    auto sent = members_[i].process.channel().send(command, deadline, descriptors);
    // Whether it is gone or stuck shows below, where its answer is awaited.
    if (!sent && sent.error().cause == Cause::bad_input) fault(Weight::reported, sent.error());
  }

  Deadline last = Deadline::in(Seconds(double(deadline.left_ms()) / 1e3) + grace);
  std::vector<pollfd> polled(members_.size() + 1);
  for (;;) {
    if (aborted_) fault(Weight::died, {Cause::cancelled, "stopped on request", "", ""});
    if (weight_ != Weight::none && !stopping_) {
      stop_others();
      const Deadline soon = Deadline::in(grace);
      if (soon.at_ns() < last.at_ns()) last = soon;
    }
    bool all = true;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      polled[i] = {members_[i].answered ? -1 : members_[i].process.channel().fd(), POLLIN, 0};
      all = all && members_[i].answered;
    }
    if (all) break;
    polled.back() = {stopping_ ? -1 : wake_.get(), POLLIN, 0};
    const int left = last.left_ms();
    const int ready = ::poll(polled.data(), polled.size(), left < 0 ? look_ms : std::min(left, look_ms));
    if (ready < 0 && errno != EINTR)
      return fail(Cause::internal, std::string("poll: ") + std::strerror(errno));
    if (ready == 0 && last.passed()) break;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (polled[i].fd >= 0 && polled[i].revents) receive_from(i, phase);
    }
    look_for_stopped(phase);
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!members_[i].answered) give_up(i, phase, seconds_since(begun));
  }
  if (weight_ != Weight::none) return tl::unexpected(error_);
  return {};
}

Result<std::vector<int>> Workers::prepare(const run::Job& job, Deadline deadline) {
  if (member_.processes > 1) {
    const std::uint64_t bytes = engine::Session::shared_bytes(job, member_.node);
    // Never shorter: workers may still have the older, longer mapping.
    if (bytes > shared_bytes_) {
      if (::ftruncate(memory_.get(), off_t(bytes)) != 0) {
        return fail(Cause::unavailable,
                    fmt::format("{} bytes of shared memory cannot be had: {}", bytes, std::strerror(errno)));
      }
      shared_bytes_ = bytes;
    }
  }
  rpc::Command command;
  *command.mutable_prepare()->mutable_job() = wire::to_wire(job);
  if (auto done = exchange(std::move(command), deadline); !done) return tl::unexpected(done.error());
  std::vector<int> ports;
  for (Member& m : members_) {
    auto prepared = wire::from_wire(m.answer.prepared());
    if (!prepared) return tl::unexpected(prepared.error());
    if (prepared->ports.size() != 1)
      return fail(Cause::internal, "a worker answered prepare without its port");
    ports.push_back(prepared->ports.front());
  }
  return ports;
}

Result<void> Workers::connect(const wire::Addresses& processes, Deadline deadline) {
  rpc::Command command;
  *command.mutable_connect() = wire::to_wire(processes);
  return exchange(std::move(command), deadline);
}

Result<void> Workers::barrier(Deadline deadline) {
  return exchange(wire::plain_command(Phase::barrier), deadline);
}

Result<void> Workers::run(Deadline deadline) {
  return exchange(wire::plain_command(Phase::run), deadline);
}

Result<run::RunReport> Workers::collect(Deadline deadline) {
  if (auto done = exchange(wire::plain_command(Phase::collect), deadline); !done)
    return tl::unexpected(done.error());
  std::vector<run::RunReport> parts;
  for (Member& m : members_) {
    auto part = wire::from_wire(m.answer.report());
    m.answer.Clear();
    if (!part) return tl::unexpected(part.error());
    parts.push_back(std::move(*part));
  }
  return parts.size() == 1 ? std::move(parts.front()) : run::merge(std::move(parts));
}

void Workers::abort() {
  aborted_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void Workers::release() {
  const Deadline deadline = Deadline::in(grace);
  rpc::Command command = wire::plain_command(Phase::release);
  command.set_sequence(++sequence_);
  for (Member& m : members_) {
    if (m.process.pid() > 0) (void)m.process.channel().send(command, Deadline::in(Seconds(0)));
  }
  for (Member& m : members_) tell(m, m.process.let_go(deadline) ? End::normal : End::hung);
}

std::vector<int> Workers::pids() const {
  std::vector<int> pids;
  for (const Member& m : members_) pids.push_back(m.process.pid());
  return pids;
}

}  // namespace

Result<std::string> find_worker() {
  return find_in_package("ringtrue-worker");
}

Result<std::unique_ptr<WorkerGroup>> start_workers(const std::string& program, const run::Member& member,
                                                   Deadline deadline, Told told) {
  if (member.processes < 1 || member.processes > wire::max_processes)
    return fail(Cause::bad_input,
                fmt::format("{} processes; 1 to {} are possible", member.processes, wire::max_processes));
  auto workers = std::make_unique<Workers>(std::move(told));
  if (auto started = workers->start(program, member, deadline); !started)
    return tl::unexpected(started.error());
  return workers;
}

}  // namespace ringtrue::worker
