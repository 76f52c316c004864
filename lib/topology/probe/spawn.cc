#include "topology/probe/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

extern char** environ;

namespace ringtrue::topology {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr std::size_t most_errors = 64u << 10;  // bytes of standard error that are kept

std::string last_line(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return std::string(text.substr(text.find_last_of('\n') + 1));
}

// The two ends of a pipe, neither of which other children inherit, and neither of which is 0, 1 or 2.
bool open_pipe(int (&ends)[2]) {
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  for (int& fd : ends) {
    if (fd > 2) continue;
    const int above = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
    ::close(fd);
    fd = above;
  }
  return ends[0] > 2 && ends[1] > 2;
}

int spawn(const std::vector<std::string>& argv, int out, int err, pid_t& pid) {
  std::vector<char*> words;
  for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, 1);
  posix_spawn_file_actions_adddup2(&files, err, 2);
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
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
  const int error = ::posix_spawn(&pid, argv[0].c_str(), &files, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

}  // namespace

Child::Child(const std::vector<std::string>& argv, Seconds deadline, std::size_t limit, std::stop_token stop)
    : name_(argv[0].substr(argv[0].find_last_of('/') + 1)),
      limit_(limit),
      allowed_(deadline),
      deadline_(Clock::now() + std::chrono::microseconds(std::int64_t(deadline.value * 1e6))),
      stop_(std::move(stop)) {
  int out[2] = {-1, -1}, err[2] = {-1, -1};
  int error = open_pipe(out) && open_pipe(err) ? 0 : errno;
  if (error == 0) error = spawn(argv, out[1], err[1], pid_);
  for (const int fd : {out[1], err[1]})
    if (fd >= 0) ::close(fd);
  out_fd_ = out[0];
  err_fd_ = err[0];
  if (error != 0) {
    pid_ = -1;
    end(fmt::format("{} cannot be started: {}", argv[0], std::strerror(error)), Cause::unavailable);
    return;
  }
  for (const int fd : {out_fd_, err_fd_}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
}

Child::Child(Child&& o) noexcept
    : name_(std::move(o.name_)),
      pid_(std::exchange(o.pid_, -1)),
      out_fd_(std::exchange(o.out_fd_, -1)),
      err_fd_(std::exchange(o.err_fd_, -1)),
      out_(std::move(o.out_)),
      err_(std::move(o.err_)),
      limit_(o.limit_),
      allowed_(o.allowed_),
      deadline_(o.deadline_),
      stop_(std::move(o.stop_)),
      done_(std::exchange(o.done_, true)),
      status_(o.status_),
      failure_(std::move(o.failure_)) {}

Child::~Child() {
  if (!done_) end("was ended", Cause::cancelled);
}

void Child::close_pipes() {
  for (int* fd : {&out_fd_, &err_fd_})
    if (*fd >= 0) ::close(std::exchange(*fd, -1));
}

void Child::end(std::string why_not, Cause cause) {
  failure_ = Error{cause, std::move(why_not), {}, {}};
  done_ = true;
  close_pipes();
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  // A process that sleeps in a driver dies only when the driver lets it: nobody waits for that.
  for (int i = 0; i < 50 && ::waitpid(pid_, &status_, WNOHANG) == 0; ++i) std::this_thread::sleep_for(2ms);
  pid_ = -1;
}

void Child::drain(int& fd, std::string& text) {
  char buffer[65536];
  while (fd >= 0) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      ::close(std::exchange(fd, -1));
      return;
    }
    text.append(buffer, std::size_t(n));
    if (&text == &out_ && text.size() > limit_) return;
    if (&text == &err_ && text.size() > most_errors) text.erase(0, text.size() - most_errors);
  }
}

void Child::step() {
  drain(out_fd_, out_);
  drain(err_fd_, err_);
  if (out_.size() > limit_)
    return end(fmt::format("{} printed more than {} bytes", name_, limit_), Cause::corrupted);
  const pid_t gone = ::waitpid(pid_, &status_, WNOHANG);
  if (gone == pid_ || (gone < 0 && errno == ECHILD)) {
    // What it wrote last may have come after the pipes were looked at.
    drain(out_fd_, out_);
    drain(err_fd_, err_);
    close_pipes();
    pid_ = -1;
    done_ = true;
  } else if (stop_.stop_requested()) {
    end(fmt::format("{} was ended", name_), Cause::cancelled);
  } else if (Clock::now() >= deadline_) {
    end(fmt::format("{} did not answer within {:g} s", name_, allowed_.value), Cause::deadline);
  }
}

void Child::serve(std::span<Child* const> all, const Child& until) {
  while (!until.done()) {
    std::vector<pollfd> waiting;
    bool closed = false;  // one closed its pipes and is about to exit: look again soon
    for (const Child* child : all) {
      if (child->done()) continue;
      for (const int fd : {child->out_fd_, child->err_fd_})
        if (fd >= 0) waiting.push_back({fd, POLLIN, 0});
      closed |= child->out_fd_ < 0 && child->err_fd_ < 0;
    }
    ::poll(waiting.data(), waiting.size(), closed ? 1 : 20);
    for (Child* child : all)
      if (!child->done()) child->step();
  }
}

Result<std::string> Child::result() const {
  if (!failure_.what.empty()) return tl::unexpected(failure_);
  if (WIFSIGNALED(status_))
    return fail(Cause::unavailable, fmt::format("{} died: {}", name_, ::strsignal(WTERMSIG(status_))));
  if (const int code = WEXITSTATUS(status_); code != 0) {
    const std::string line = last_line(err_);
    return tl::unexpected(
        read_error_line(err_, Error{Cause::unavailable,
                                    line.empty() ? fmt::format("{} failed with code {}", name_, code)
                                                 : fmt::format("{} failed: {}", name_, line.substr(0, 500)),
                                    {},
                                    {}}));
  }
  return out_;
}

Result<std::string> run_program(const std::vector<std::string>& argv, Seconds deadline, std::size_t limit,
                                std::stop_token stop) {
  Child child(argv, deadline, limit, std::move(stop));
  Child* const all[] = {&child};
  Child::serve(all, child);
  return child.result();
}

std::string error_line(const Error& error) {
  const json line = {
      {"cause", int(error.cause)}, {"what", error.what}, {"where", error.where}, {"next", error.next}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

Error read_error_line(std::string_view text, Error fallback) {
  const json line = json::parse(last_line(text), nullptr, false);
  if (!line.is_object()) return fallback;
  const auto word = [&](const char* key) {
    const auto it = line.find(key);
    return it != line.end() && it->is_string() ? it->get<std::string>().substr(0, 1000) : std::string();
  };
  const auto cause = line.find("cause");
  if (word("what").empty() || cause == line.end() || !cause->is_number_integer()) return fallback;
  const auto number = cause->get<std::int64_t>();
  if (number < 0 || number > std::int64_t(Cause::internal)) return fallback;
  return Error{Cause(number), word("what"), word("where"), word("next")};
}

}  // namespace ringtrue::topology
