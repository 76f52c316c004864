// What a watcher keeps beside the history, and the hook that it runs.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/process.h"
#include "operator/watch_live.h"

namespace ringtrue::ops {
namespace {

using nlohmann::json;

constexpr std::size_t most_of_memory = 16 << 20;

std::string host_here() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return *host ? host : "this machine";
}

Result<void> hook_failed(const std::string& program, const std::string& why) {
  return fail(Cause::unavailable, fmt::format("the hook {} {}", program, why), {},
              "it is run again in the next round");
}

}  // namespace

std::string watch_file(const HistoryPlace& place) {
  std::string name;
  for (const char c : place.fleet) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    name += plain ? std::string(1, c) : fmt::format("_{:02x}", static_cast<unsigned char>(c));
  }
  return fmt::format("{}.watch-{}", place.file, name);
}

std::optional<std::string> WatchTurn::take(const std::string& file) {
  if (fd_.get() >= 0) return std::nullopt;
  OwnedFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (fd.get() < 0) return std::nullopt;
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return std::nullopt;  // a file system without locks
    const auto told = read_up_to(fd.get(), 300);
    return told && !told->empty() ? *told : std::string("another");
  }
  const std::string who = fmt::format("process {} on {}", ::getpid(), host_here());
  // Only for people: on a full disk there is none.
  if (::ftruncate(fd.get(), 0) == 0) (void)!::pwrite(fd.get(), who.data(), who.size(), 0);
  fd_ = std::move(fd);
  return std::nullopt;
}

WatchMemory read_watch_memory(const std::string& file) {
  WatchMemory memory;
  const auto text = read_file(file, most_of_memory, FileKind::regular);
  const json value = text ? json::parse(*text, nullptr, false) : json();
  if (!value.is_object()) return memory;
  const auto at = [&](const char* key) -> const json& {
    static const json none;
    const auto found = value.find(key);
    return found != value.end() ? *found : none;
  };
  if (at("verdict").is_string()) memory.verdict = at("verdict").get<std::string>();
  if (at("regressions").is_object())
    for (const auto& [subject, state] : at("regressions").items())
      if (state.is_string()) memory.regressions[subject] = state.get<std::string>();
  if (at("absent").is_array())
    for (const json& node : at("absent"))
      if (node.is_string()) memory.absent.insert(node.get<std::string>());
  if (at("rest_until_us").is_number_integer()) memory.rest_until_us = at("rest_until_us").get<std::int64_t>();
  if (at("next_us").is_number_integer()) memory.next_us = at("next_us").get<std::int64_t>();
  return memory;
}

Result<void> write_watch_memory(const std::string& file, const WatchMemory& memory) {
  json value = {{"regressions", memory.regressions},
                {"absent", memory.absent},
                {"rest_until_us", memory.rest_until_us},
                {"next_us", memory.next_us}};
  if (memory.verdict) value["verdict"] = *memory.verdict;
  const std::string text = value.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
  const std::string fresh = file + ".new";
  const auto failed = [&](int error) -> Result<void> {
    ::unlink(fresh.c_str());
    return fail(Cause::unavailable,
                fmt::format("what was told last could not be kept in {}: {}", file, std::strerror(error)), {},
                "a watch that is started anew now may tell it again");
  };
  const OwnedFd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640));
  if (fd.get() < 0) return failed(errno);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failed(n < 0 ? errno : ENOSPC);
    done += std::size_t(n);
  }
  if (::fsync(fd.get()) != 0 || ::rename(fresh.c_str(), file.c_str()) != 0) return failed(errno);
  return {};
}

Result<void> run_hook(const std::string& program, const std::string& input, Seconds deadline) {
  const Deadline until = Deadline::in(deadline);
  auto ends = open_socket_pair();
  if (!ends)
    return hook_failed(program, fmt::format("could not be started: {}", std::strerror(ends.error())));
  ChildFiles files;
  files.input = ends->theirs.get();
  files.output = STDERR_FILENO;
  auto child = ChildProcess::start(program, {program}, files);
  if (!child)
    return hook_failed(program, fmt::format("could not be started: {}", std::strerror(child.error())));
  ends->theirs = OwnedFd();
  const auto kill = [&] {
    if (child->pid() > 0) ::kill(-child->pid(), SIGKILL);
    child->kill(Seconds(1));
  };
  // One that reads nothing, or ends before it has read all, has taken what it wanted.
  std::size_t sent = 0;
  while (sent < input.size()) {
    const ssize_t n =
        ::send(ends->ours.get(), input.data() + sent, input.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) {
      sent += std::size_t(n);
      continue;
    }
    if (n < 0 && errno != EAGAIN && errno != EINTR) break;
    if (until.passed() || child->ended()) break;
    pollfd ready{ends->ours.get(), POLLOUT, 0};
    ::poll(&ready, 1, std::min(until.left_ms(), 100));
  }
  ends->ours = OwnedFd();
  if (!child->ended(until)) {
    kill();
    return hook_failed(program, fmt::format("took longer than {} and was ended", to_text(deadline)));
  }
  if (const int status = child->status(); WIFSIGNALED(status))
    return hook_failed(program, fmt::format("died of signal {}", WTERMSIG(status)));
  else if (WEXITSTATUS(status) != 0)
    return hook_failed(program, fmt::format("ended with exit code {}", WEXITSTATUS(status)));
  return {};
}

}  // namespace ringtrue::ops
