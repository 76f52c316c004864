#include "cmd/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <thread>

#include "cmd/command.h"
#include "cmd/output.h"

namespace ringtrue::cmd {
namespace {

[[noreturn]] void leave() {
  complain(Error{Cause::cancelled, "interrupted", "", ""});
  _exit(Exit::unknown);
}

void watch(int fd) {
  signalfd_siginfo info;
  if (read(fd, &info, sizeof info) != ssize_t(sizeof info)) return;
  if (!stop().request()) leave();
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

ops::Stop& stop() {
  static ops::Stop asked;
  return asked;
}

}  // namespace ringtrue::cmd
