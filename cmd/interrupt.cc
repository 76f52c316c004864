#include "cmd/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "cmd/command.h"
#include "cmd/output.h"

namespace ringtrue::cmd {
namespace {

std::atomic<bool> flag{false};
std::mutex mutex;
std::function<void()> on_signal;

[[noreturn]] void leave() {
  complain(Error{Cause::cancelled, "interrupted", "", ""});
  _exit(Exit::unknown);
}

void watch(int fd) {
  signalfd_siginfo info;
  if (read(fd, &info, sizeof info) != ssize_t(sizeof info)) return;
  flag = true;
  {
    const std::lock_guard lock(mutex);
    if (!on_signal) leave();
    on_signal();
  }
  pollfd again{fd, POLLIN, 0};
  poll(&again, 1, 5000);
  leave();
}

}  // namespace

void watch_signals() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    // Under nohup SIGHUP stays ignored.
    struct sigaction current {};
    sigaction(number, nullptr, &current);
    if (current.sa_handler != SIG_IGN || number != SIGHUP) sigaddset(&set, number);
  }
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  const int fd = signalfd(-1, &set, SFD_CLOEXEC);
  if (fd >= 0) std::thread(watch, fd).detach();
}

bool interrupted() {
  return flag;
}

OnInterrupt::OnInterrupt(std::function<void()> cancel) {
  const std::lock_guard lock(mutex);
  on_signal = std::move(cancel);
}

OnInterrupt::~OnInterrupt() {
  const std::lock_guard lock(mutex);
  on_signal = nullptr;
}

}  // namespace ringtrue::cmd
