#include "daemon/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "daemon/client_limits.h"
#include "daemon/connections.h"
#include "daemon/refusal_log.h"

namespace ringtrue::daemon {

Result<ListenAddress> parse_listen(const std::string& text) {
  return ringtrue::parse_listen(text, default_port, "--listen");
}

Listener::Listener(OwnedFd socket, Opening opening, HandOver hand_over)
    : socket_(std::move(socket)), opening_(opening), hand_over_(std::move(hand_over)) {}

Result<Listener> Listener::tcp(const ListenAddress& address, Opening opening, HandOver hand_over) {
  auto socket = listen_on(address, "--listen", SOMAXCONN);
  if (!socket) return tl::unexpected(socket.error());
  return Listener(std::move(*socket), opening, std::move(hand_over));
}

Result<Listener> Listener::unix_socket(const std::string& path, HandOver hand_over) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(
        Cause::bad_input,
        fmt::format("the socket's path is longer than {} bytes: {}", sizeof address.sun_path - 1, path),
        "--state", "choose a folder with a shorter path");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  OwnedFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail(Cause::unavailable, std::string("no Unix socket: ") + std::strerror(errno));
  ::unlink(path.c_str());
  // Bound without any permission for others, opened up to the group afterwards.
  const mode_t before = ::umask(0177);
  const int bound = ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  const int error = errno;
  ::umask(before);
  if (bound != 0)
    return fail(Cause::unavailable, fmt::format("cannot make the socket {}: {}", path, std::strerror(error)),
                "--state", "see that there is room and that you may write there, or choose another folder");
  if (::chmod(path.c_str(), 0660) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
    return fail(Cause::unavailable, fmt::format("cannot open the socket {}: {}", path, std::strerror(errno)),
                "--state");
  return Listener(std::move(socket), Opening::any, std::move(hand_over));
}

void Listener::add_to(std::vector<pollfd>& polled) const {
  if (accept_again_ == 0) polled.push_back({socket_.get(), POLLIN, 0});
  for (const Waiting& w : waiting_) polled.push_back({w.fd.get(), POLLIN, 0});
}

Deadline Listener::next_due() const {
  std::int64_t due = INT64_MAX;
  if (accept_again_ != 0) due = accept_again_;
  if (!waiting_.empty()) due = std::min(due, waiting_.front().since + std::int64_t(opening_time.value * 1e9));
  return due == INT64_MAX ? Deadline::never()
                          : Deadline::in(Seconds(double(std::max<std::int64_t>(due - now_ns(), 0)) * 1e-9));
}

void Listener::serve() {
  accept_all();
  look_at_waiting();
}

void Listener::drop(const Source& source, const char* why) {
  ++dropped_;
  log_refusal(source, "dropped a connection from {}: {}", source.text, why);
}

// The oldest of whoever has the most.
void Listener::crowd_out(const Source& newest) {
  const auto same = [&](const Waiting& w) { return w.source.key == newest.key; };
  const bool many = std::size_t(std::ranges::count_if(waiting_, same)) > max_waiting_of_source;
  if (!many && waiting_.size() <= max_waiting) return;
  const auto goes = many ? std::ranges::find_if(waiting_, same) : waiting_.begin();
  drop(goes->source, "it said nothing, and others wait");
  waiting_.erase(goes);
}

void Listener::accept_all() {
  if (accept_again_ != 0 && now_ns() < accept_again_) return;
  accept_again_ = 0;
  for (int i = 0; i < accepts_at_once; ++i) {
    OwnedFd fd(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
      // Out of descriptors or memory: the connection stays in the queue, and poll() would return at once.
      accept_again_ = now_ns() + 100'000'000;
      return;
    }
    Source source = source_of(fd.get());
    if (fd.get() > (opening_ == Opening::any ? highest_local_fd : highest_tcp_fd)) {
      drop(source, "too many connections at once");
      say_busy(fd.get());
      continue;
    }
    if (opening_ == Opening::any) {
      hand_over_(socket_.get(), fd.release());
      continue;
    }
    const int one = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    waiting_.push_back({std::move(fd), now_ns(), std::move(source)});
    crowd_out(waiting_.back().source);
  }
}

void Listener::look_at_waiting() {
  for (auto w = waiting_.begin(); w != waiting_.end();) {
    char bytes[3];
    const ssize_t n = ::recv(w->fd.get(), bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    const char* why = nullptr;
    bool ours = false;
    if (n == 0) {
      why = "it was closed before it said anything";
    } else if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      why = "it broke before it said anything";
    } else if (n > 0) {
      const char* const expected = opening_ == Opening::tls ? "\x16\x03" : "PRI";
      const std::size_t length = opening_ == Opening::tls ? 2 : 3;
      if (std::memcmp(bytes, expected, std::min(std::size_t(n), length)) != 0) {
        why = opening_ == Opening::tls ? "it does not speak TLS" : "it does not speak HTTP/2";
      } else {
        ours = true;  // a single byte must do: poll() would come back for it at once
      }
    }
    if (!ours && !why && seconds_since(w->since) > opening_time) why = "it said nothing for 5 s";
    if (ours) {
      hand_over_(socket_.get(), w->fd.release());
    } else if (why) {
      drop(w->source, why);
    } else {
      ++w;
      continue;
    }
    w = waiting_.erase(w);
  }
}

}  // namespace ringtrue::daemon
