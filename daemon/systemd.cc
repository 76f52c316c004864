#include "daemon/systemd.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/fd.h"
#include "base/number.h"

namespace ringtrue::daemon {
namespace {

std::optional<std::uint64_t> number_in_environment(const char* name) {
  const char* const text = std::getenv(name);
  return text ? parse_number<std::uint64_t>(text) : std::nullopt;
}

}  // namespace

void notify_systemd(const std::string& state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (!path || (path[0] != '/' && path[0] != '@')) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(path);
  if (length >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';
  OwnedFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return;
  ::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
           reinterpret_cast<sockaddr*>(&address), socklen_t(offsetof(sockaddr_un, sun_path) + length));
}

Watchdog::Watchdog() {
  const auto microseconds = number_in_environment("WATCHDOG_USEC"),
             pid = number_in_environment("WATCHDOG_PID");
  if (!microseconds || *microseconds == 0 || (pid && *pid != std::uint64_t(::getpid()))) return;
  every_ = Seconds(double(*microseconds) * 1e-6 / 2);
  due_ = Deadline::in(Seconds(0));
}

void Watchdog::tell_if_due() {
  if (every_.value <= 0 || !due_.passed()) return;
  notify_systemd("WATCHDOG=1");
  due_ = Deadline::in(every_);
}

}  // namespace ringtrue::daemon
