#include "daemon/connections.h"

#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "base/clock.h"
#include "base/ip.h"
#include "daemon/refusal_log.h"

namespace ringtrue::daemon {
namespace {

constexpr std::size_t buffer_bytes = 16 << 10;
constexpr double least_read = 512;  // or a flood would be read byte by byte, as fast as it may send

std::string user_name(uid_t uid) {
  passwd entry{}, *found = nullptr;
  char buffer[4096];
  const bool known = ::getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found;
  return known ? entry.pw_name : std::to_string(uid);
}

// Bytes on their way in one direction.
struct Way {
  std::string bytes;  // that have been read
  std::size_t written = 0;
  bool ended = false;  // no more will be read

  bool empty() const { return written == bytes.size(); }
};

enum class Moved { some, none, broken };

Moved read_into(Way& way, int fd, std::size_t most) {
  way.bytes.resize(most);
  way.written = 0;
  const ssize_t n = ::recv(fd, way.bytes.data(), most, MSG_DONTWAIT);
  way.bytes.resize(n > 0 ? std::size_t(n) : 0);
  if (n > 0) return Moved::some;
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return Moved::none;
  way.ended = true;
  return n == 0 ? Moved::none : Moved::broken;
}

Moved write_from(Way& way, int fd) {
  const ssize_t n =
      ::send(fd, way.bytes.data() + way.written, way.bytes.size() - way.written, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? Moved::none : Moved::broken;
  way.written += std::size_t(n);
  if (way.empty()) way = {{}, 0, way.ended};  // gives the memory back
  return Moved::some;
}

}  // namespace

Source source_of(int socket) {
  sockaddr_storage theirs{}, ours{};
  socklen_t length = sizeof theirs;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&theirs), &length) != 0)
    return {"an unknown address", "?", false};
  if (const auto address = ip_of(reinterpret_cast<sockaddr*>(&theirs))) {
    // Who has one address of a network of IPv6 has all of them.
    const std::string text = to_text(*address);
    const std::string key = is_ipv4(*address) ? text : to_text(network_of(*address, 64).address);
    length = sizeof ours;
    const bool known = ::getsockname(socket, reinterpret_cast<sockaddr*>(&ours), &length) == 0;
    const auto here = known ? ip_of(reinterpret_cast<sockaddr*>(&ours)) : std::nullopt;
    return {text, key, false, here ? to_text(*here) : ""};
  }
  ucred who{};
  length = sizeof who;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0)
    return {"a local user", "local", true, "127.0.0.1"};
  const std::string user = "user " + user_name(who.uid);
  return {user, user, true, "127.0.0.1"};
}

void say_busy(int socket) {
  char bytes[512];
  constexpr char handshake = 22;
  if (::recv(socket, bytes, 1, MSG_PEEK | MSG_DONTWAIT) != 1 || bytes[0] != handshake) return;
  // TLS 1.2's record of two bytes: fatal, internal_error (RFC 8446, 6).
  constexpr char alert[] = {21, 3, 3, 0, 2, 2, 80};
  (void)::send(socket, alert, sizeof alert, MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(socket, SHUT_WR);
  // What is left unread would make of our end a reset, which may overtake the alert.
  for (int i = 0; i < 32 && ::recv(socket, bytes, sizeof bytes, MSG_DONTWAIT) > 0; ++i) continue;
}

struct Connections::Connection {
  Source source;
  OwnedFd client, grpc;  // our ends
  Way in, out;
  std::string certificate;
  std::int64_t since = now_ns();  // it came, or its last call ended
  std::int64_t drop_at = 0;       // 0: not dropped yet
  int calls = 0;
  bool proven = false;                             // a permitted call has come
  bool leasing = false;                            // it holds a lease
  double credit = double(daemon::unproven.burst);  // bytes that it may send now
  std::int64_t credited = now_ns();

  const Allowance& allowance() const {
    return leasing ? daemon::leasing : proven ? daemon::proven : daemon::unproven;
  }
  void earn(std::int64_t now) {
    const double more = double(now - credited) * 1e-9 * double(allowance().per_second);
    credit = std::min(credit + more, double(allowance().burst));
    credited = now;
  }
  bool may_read() const { return credit >= least_read && in.empty() && !in.ended; }
  // When its time is up, unless something happens (now_ns).
  std::int64_t due() const {
    if (drop_at != 0) return drop_at;
    if (calls > 0) return INT64_MAX;
    return since + std::int64_t((proven ? idle_time : unproven_time).value * 1e9);
  }
};

Connections::Connections(HandOver hand_over)
    : hand_over_(std::move(hand_over)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { serve(); }) {}

Connections::~Connections() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
}

void Connections::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_.get(), &one, sizeof one);
}

void Connections::add(int door, int listener, int fd) {
  {
    const std::lock_guard lock(mutex_);
    arrivals_.push_back({door, listener, OwnedFd(fd)});
  }
  wake();
}

Connections::Connection* Connections::find(const std::string& peer) const {
  const auto found = table_.find(peer);
  return found == table_.end() ? nullptr : found->second.get();
}

Source Connections::source(const std::string& peer) const {
  const std::lock_guard lock(mutex_);
  const Connection* c = find(peer);
  return c ? c->source : Source{"a connection that is gone", "?", false};
}

void Connections::call_begins(const std::string& peer, const std::string& certificate) {
  const std::lock_guard lock(mutex_);
  Connection* c = find(peer);
  if (!c) return;
  ++c->calls;
  if (!c->proven) c->credit += double(daemon::proven.burst - daemon::unproven.burst);
  c->proven = true;
  c->certificate = certificate;
}

void Connections::call_ends(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  Connection* c = find(peer);
  if (!c || --c->calls > 0) return;
  c->since = now_ns();
  wake();
}

void Connections::leases(const std::string& peer, bool does) {
  const std::lock_guard lock(mutex_);
  if (Connection* c = find(peer)) {
    c->leasing = does;
    if (does) c->credit = double(daemon::leasing.burst);
    wake();
  }
}

void Connections::message_read(const std::string& peer, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  Connection* c = find(peer);
  if (!c || !c->leasing) return;
  const bool waits = c->credit < least_read;
  // Frames, records of TLS and what it answers to our messages add some.
  c->credit = std::min(c->credit + double(bytes) * 1.1 + 64, double(daemon::leasing.burst));
  if (waits) wake();
}

void Connections::drop(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  Connection* c = find(peer);
  if (!c || c->drop_at != 0) return;
  c->drop_at = now_ns() + std::int64_t(farewell_time.value * 1e9);
  wake();
}

void Connections::keep_only(const std::function<bool(const std::string& certificate)>& condition) {
  const std::lock_guard lock(mutex_);
  for (const auto& [peer, c] : table_)
    if (!c->source.local && c->drop_at == 0 && !condition(c->certificate)) c->drop_at = now_ns();
  wake();
}

std::size_t Connections::count() const {
  const std::lock_guard lock(mutex_);
  return table_.size();
}

// Of those without calls, the oldest of the same source, or of all, goes; false: all are busy. Those that
// were proven go last, but of one source that keeps many of them: whoever comes anew is in the middle of a
// handshake.
bool Connections::make_room(const Source& source) {
  std::size_t same = 0, all = 0, kept = 0;
  auto oldest_same = table_.end(), oldest_kept = table_.end(), oldest = table_.end();
  for (auto c = table_.begin(); c != table_.end(); ++c) {
    const Connection& other = *c->second;
    if (other.source.local != source.local) continue;
    ++all;
    const bool alike = other.source.key == source.key;
    same += alike;
    if (other.calls > 0) continue;
    const auto older = [&](Table::iterator than) {
      return than == table_.end() ||
             std::pair(other.proven, other.since) < std::pair(than->second->proven, than->second->since);
    };
    if (alike && older(oldest_same)) oldest_same = c;
    if (older(oldest)) oldest = c;
    if (!alike || !other.proven) continue;
    ++kept;
    if (older(oldest_kept)) oldest_kept = c;
  }
  const bool too_many = same >= max_of_source;
  if (!too_many && all < (source.local ? max_local : max_tcp)) return true;
  const auto goes = !too_many ? oldest : kept > max_kept_of_source ? oldest_kept : oldest_same;
  const bool any = goes != table_.end();
  const Source& who = any ? goes->second->source : source;
  // A client that was proven and is idle, as a dashboard between two questions, loses nothing: it comes
  // again.
  if (!any || !goes->second->proven)
    log_refusal(who, "dropped a connection of {}: too many at once", who.text);
  if (any) {
    say_busy(goes->second->client.get());
    table_.erase(goes);
  }
  return any;
}

void Connections::take_new() {
  std::vector<Arrival> arrivals;
  {
    const std::lock_guard lock(mutex_);
    arrivals.swap(arrivals_);
  }
  for (Arrival& arrival : arrivals) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) continue;
    auto connection = std::make_unique<Connection>();
    connection->source = source_of(arrival.fd.get());
    connection->client = std::move(arrival.fd);
    connection->grpc = OwnedFd(pair[0]);
    OwnedFd theirs(pair[1]);
    // The kernel finds a free abstract name (unix(7), autobind).
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    socklen_t length = sizeof name;
    if (::bind(pair[0], reinterpret_cast<sockaddr*>(&name), sizeof name.sun_family) != 0 ||
        ::getsockname(pair[0], reinterpret_cast<sockaddr*>(&name), &length) != 0 ||
        length <= offsetof(sockaddr_un, sun_path) + 1)
      continue;
    const std::string peer =
        "unix-abstract:" + std::string(name.sun_path + 1, length - offsetof(sockaddr_un, sun_path) - 1);
    {
      const std::lock_guard lock(mutex_);
      if (!make_room(connection->source)) {
        say_busy(connection->client.get());
        continue;
      }
      table_[peer] = std::move(connection);
    }
    hand_over_(arrival.door, arrival.listener, theirs.release());
  }
}

bool Connections::move(Connection& c, std::int64_t now) {
  c.earn(now);
  if (now >= c.due()) return false;
  if (c.may_read()) {
    const Moved read = read_into(c.in, c.client.get(), std::min(buffer_bytes, std::size_t(c.credit)));
    c.credit -= double(c.in.bytes.size());
    if (read == Moved::broken) return false;
  }
  if (c.out.empty() && !c.out.ended && read_into(c.out, c.grpc.get(), buffer_bytes) == Moved::broken)
    c.out.ended = true;
  if (!c.in.empty() && write_from(c.in, c.grpc.get()) == Moved::broken) c.in = {{}, 0, true};
  if (!c.out.empty() && write_from(c.out, c.client.get()) == Moved::broken) return false;
  // gRPC is done with it, or the client is; what gRPC has left to say to a client that is gone is of no use.
  if (c.out.ended && c.out.empty()) return false;
  return !(c.in.ended && c.in.empty());
}

void Connections::serve() {
  std::vector<pollfd> polled;
  for (;;) {
    take_new();
    polled.assign(1, {wake_.get(), POLLIN, 0});
    std::int64_t due = INT64_MAX;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      const std::int64_t now = now_ns();
      for (auto it = table_.begin(); it != table_.end();) {
        Connection& c = *it->second;
        if (!move(c, now)) {
          it = table_.erase(it);
          continue;
        }
        short client = 0, grpc = 0;
        if (c.may_read()) client |= POLLIN;
        if (!c.out.empty()) client |= POLLOUT;
        if (c.out.empty()) grpc |= POLLIN;
        if (!c.in.empty()) grpc |= POLLOUT;
        // A negative one is passed over; a hang-up would be told again and again.
        polled.push_back({client ? c.client.get() : -1, client, 0});
        polled.push_back({grpc ? c.grpc.get() : -1, grpc, 0});
        due = std::min(due, c.due());
        if (c.credit < least_read) due = std::min(due, now + 50'000'000);
        ++it;
      }
    }
    const int wait =
        due == INT64_MAX ? -1 : int(std::clamp<std::int64_t>((due - now_ns()) / 1'000'000 + 1, 0, 60'000));
    ::poll(polled.data(), polled.size(), wait);
    std::uint64_t woken;
    [[maybe_unused]] const ssize_t n = ::read(wake_.get(), &woken, sizeof woken);
  }
}

}  // namespace ringtrue::daemon
