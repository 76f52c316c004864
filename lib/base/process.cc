#include "base/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <mutex>

extern char** environ;

namespace ringtrue {
namespace {

constexpr int channel_fd = 3;

// Killed, and not yet dead when nobody could wait any longer. They would stay as zombies.
std::mutex left_mutex;
std::vector<pid_t> left;

void reap_left() {
  const std::lock_guard lock(left_mutex);
  std::erase_if(left, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
}

void sleep_ms(long ms) {
  const timespec time{0, ms * 1'000'000};
  ::nanosleep(&time, nullptr);
}

// Descriptors are laid out from 1 to 3: one that lies there already would be overwritten before its turn.
class OutOfTheWay {
 public:
  explicit OutOfTheWay(int fd) : fd_(fd) {
    if (fd < 0 || fd > channel_fd) return;
    copy_.reset(::fcntl(fd, F_DUPFD_CLOEXEC, channel_fd + 1));
    fd_ = copy_.get();
  }
  int get() const { return fd_; }

 private:
  int fd_;
  OwnedFd copy_;
};

}  // namespace

tl::expected<Ends, int> open_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return tl::unexpected(errno);
  return Ends{OwnedFd(ends[0]), OwnedFd(ends[1])};
}

tl::expected<Ends, int> open_socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return tl::unexpected(errno);
  return Ends{OwnedFd(ends[0]), OwnedFd(ends[1])};
}

tl::expected<ChildProcess, int> ChildProcess::start(const std::string& program,
                                                    std::vector<std::string> arguments,
                                                    const ChildFiles& files) {
  reap_left();
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);

  const OutOfTheWay output(files.output), errors(files.errors), channel(files.channel), input(files.input);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (files.input >= 0)
    posix_spawn_file_actions_adddup2(&actions, input.get(), 0);
  else
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (files.output >= 0) posix_spawn_file_actions_adddup2(&actions, output.get(), 1);
  if (files.errors >= 0) posix_spawn_file_actions_adddup2(&actions, errors.get(), 2);
  if (files.channel >= 0) posix_spawn_file_actions_adddup2(&actions, channel.get(), channel_fd);
  posix_spawn_file_actions_addclosefrom_np(&actions, files.channel >= 0 ? channel_fd + 1 : channel_fd);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  ChildProcess child;
  const int error = ::posix_spawn(&child.pid_, program.c_str(), &actions, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    child.pid_ = 0;
    return tl::unexpected(error);
  }
  return child;
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    kill(Seconds(5));
    pid_ = std::exchange(other.pid_, 0);
    status_ = other.status_;
  }
  return *this;
}

bool ChildProcess::ended(Deadline deadline) {
  for (long ms = 1; pid_ > 0; ms = std::min(ms + 1, 10L)) {
    const pid_t reaped = ::waitpid(pid_, &status_, WNOHANG);
    if (reaped == pid_ || (reaped < 0 && errno == ECHILD)) {
      pid_ = 0;
    } else if (deadline.passed()) {
      return false;
    } else {
      sleep_ms(ms);
    }
  }
  return true;
}

bool ChildProcess::stopped() const {
  if (pid_ <= 0) return false;
  siginfo_t info{};
  // WNOWAIT: it stays to be asked for as long as it is stopped, and to be reaped.
  const int asked = ::waitid(P_PID, id_t(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT);
  return asked == 0 && info.si_pid == pid_ && info.si_code == CLD_STOPPED;
}

void ChildProcess::kill(Seconds patience) {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  if (!ended(Deadline::in(patience))) {
    const std::lock_guard lock(left_mutex);
    left.push_back(pid_);
  }
  pid_ = 0;
}

void die_with_parent() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

}  // namespace ringtrue
