#include "wire/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace ringtrue::wire {
namespace {

constexpr int channel_fd = 3;

// Between fork and exec of a program with threads: system calls only.
[[noreturn]] void become_worker(const char* program, char* const* arguments, int socket, pid_t parent) {
  // Bound to the thread that forked. The parent may have gone between fork and here.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  // A group of its own, so that Ctrl-C at a terminal reaches the command alone, which then ends its workers.
  ::setpgid(0, 0);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) ::sigaction(s, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  if (socket == channel_fd) {
    ::fcntl(socket, F_SETFD, 0);
  } else if (::dup2(socket, channel_fd) < 0) {
    ::_exit(127);
  }
  ::close_range(channel_fd + 1, ~0u, 0);
  const int null = ::open("/dev/null", O_RDONLY);
  if (null >= 0) {
    ::dup2(null, 0);
    ::close(null);
  }
  ::execv(program, arguments);
  ::_exit(127);
}

void sleep_ms(long ms) {
  timespec t{0, ms * 1'000'000};
  ::nanosleep(&t, nullptr);
}

}  // namespace

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), status_(other.status_), channel_(std::move(other.channel_)) {}

WorkerProcess& WorkerProcess::operator=(WorkerProcess&& other) noexcept {
  if (this != &other) {
    kill();
    pid_ = std::exchange(other.pid_, 0);
    status_ = other.status_;
    channel_ = std::move(other.channel_);
  }
  return *this;
}

WorkerProcess::~WorkerProcess() {
  kill();
}

Result<WorkerProcess> WorkerProcess::spawn(const std::string& program) {
  if (::access(program.c_str(), X_OK) != 0)
    return fail(Cause::unavailable, "the worker " + program + " cannot be run: " + std::strerror(errno));
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return fail(Cause::unavailable, std::string("no socket pair for a worker: ") + std::strerror(errno));
  OwnedFd ours(pair[0]), theirs(pair[1]);

  char name[] = "ringtrue-worker", number[] = "3";
  char* const arguments[] = {name, number, nullptr};
  const pid_t parent = ::getpid();
  // Signals wait until the child has its own handlers.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) become_worker(program.c_str(), arguments, theirs.get(), parent);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0)
    return fail(Cause::unavailable, std::string("no process for a worker: ") + std::strerror(error));

  WorkerProcess worker;
  worker.pid_ = pid;
  worker.channel_ = Channel(std::move(ours));
  return worker;
}

bool WorkerProcess::reaped(Deadline deadline) {
  for (long ms = 1; pid_ > 0; ms = ms < 10 ? ms + 1 : 10) {
    const pid_t r = ::waitpid(pid_, &status_, WNOHANG);
    if (r == pid_ || (r < 0 && errno == ECHILD)) {
      pid_ = 0;
    } else if (deadline.passed()) {
      return false;
    } else {
      sleep_ms(ms);
    }
  }
  return true;
}

std::string WorkerProcess::reap_dead() {
  if (!reaped(Deadline::in(Seconds(0.5)))) {
    kill();
    return "closed its channel";
  }
  if (WIFSIGNALED(status_)) return "was killed by signal " + std::to_string(WTERMSIG(status_));
  if (WIFEXITED(status_)) return "exited with status " + std::to_string(WEXITSTATUS(status_));
  return "ended";
}

void WorkerProcess::kill() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    // Only a process inside a kernel call that cannot be interrupted outlives this; the kernel's own reaper
    // has to take it, once we are gone.
    reaped(Deadline::in(Seconds(5)));
    pid_ = 0;
  }
  channel_.close();
}

void WorkerProcess::let_go(Deadline deadline) {
  channel_.close();
  reaped(deadline);
  kill();
}

}  // namespace ringtrue::wire
