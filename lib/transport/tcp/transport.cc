#include "transport/tcp/transport.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/log.h"
#include "transport/fields.h"

namespace ringtrue::transport::tcp {

namespace {

constexpr std::size_t min_callers = 256;  // that may be unproven at a time, however few are expected
constexpr std::int64_t handshake_timeout_ns = 5'000'000'000;  // with a caller that has not proven itself
constexpr std::uint64_t rejected_logged = 10;
constexpr std::int64_t pause_ns = 100'000'000;  // without descriptors for new callers

// bbr paces by its own model of the path, which disturbs what is measured; cubic is what the field runs.
void tune(int fd, std::string& congestion) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);  // where it is not allowed the default stays
  char name[16] = {};
  socklen_t size = sizeof name - 1;
  if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size) == 0) congestion = name;
}

}  // namespace

// A connection that has yet to prove itself, in either role.
class Transport::Pending final : public Watcher {
 public:
  Pending(Transport& transport, OwnedFd fd, std::string peer)
      : transport_(transport), fd_(std::move(fd)), peer_(std::move(peer)) {
    expect(hello_bytes);
  }
  Pending(Transport& transport, OwnedFd fd, const ConnectionKey& key, std::string node)
      : transport_(transport), fd_(std::move(fd)), peer_(std::move(node)), connector_(true), key_(key) {
    hello_ = Hello{key.self, key.peer, key.lane, make_nonce()};
  }
  ~Pending() override { release(); }

  void ready(std::uint32_t events) override {
    if (over_) return;
    if (connector_ && !called_) {
      int error = 0;
      socklen_t size = sizeof error;
      getsockopt(fd(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) return end(std::strerror(error));
      if (!(events & EPOLLOUT)) return;
      called_ = true;
      say(transport::tcp::encode(hello_));
      expect(challenge_bytes);
      transport_.loop_.change(fd(), EPOLLIN, this);
      return;
    }
    while (!over_) {
      const ssize_t n = ::recv(fd(), buffer_ + got_, wanted_ - got_, MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (n <= 0)
        return end(n == 0 ? "it closed the connection before proving itself" : std::strerror(errno));
      got_ += std::size_t(n);
      if (got_ == wanted_) step();
    }
  }

  bool over() const { return over_; }
  bool connector() const { return connector_; }
  std::int64_t since() const { return since_; }
  int fd() const { return fd_.get(); }
  const std::string& peer() const { return peer_; }
  const ConnectionKey& key() const { return key_; }  // of a connector
  void end(const std::string& why) {
    if (over_) return;
    over_ = true;
    release();
    transport_.reject(*this, why);
  }

 private:
  void expect(std::size_t bytes) { wanted_ = bytes, got_ = 0; }

  template <std::size_t n>
  void say(const std::array<std::byte, n>& bytes) {
    // A handful of bytes on a connection that carries nothing else: the kernel takes them whole or not at
    // all.
    if (::send(fd(), bytes.data(), n, MSG_NOSIGNAL | MSG_DONTWAIT) != ssize_t(n))
      end("it does not take our proof");
  }

  // The message that was expected is here.
  void step() {
    const std::string& secret = transport_.setup_.secret;
    if (!connector_ && stage_ == 0) {
      const auto hello = decode_hello(std::span<const std::byte, hello_bytes>(buffer_, hello_bytes));
      if (!hello) return end("it does not speak our protocol");
      hello_ = *hello;
      const auto& seats = transport_.setup_.seats;
      if (std::find(seats.begin(), seats.end(), hello_.to) == seats.end())
        return end("it asks for a rank that does not live here");
      nonce_ = make_nonce();
      say(to_bytes(Challenge{nonce_, acceptor_proof(secret, hello_, nonce_)}));
      stage_ = 1;
      expect(proof_bytes);
    } else if (!connector_) {
      if (!equal(std::span(buffer_, proof_bytes), connector_proof(secret, hello_, nonce_)))
        return end("it does not know the run's secret");
      say(std::array{welcome});
      if (!over_) succeed({hello_.to, hello_.from, hello_.lane});
    } else if (stage_ == 0) {
      const auto challenge = from_bytes<Challenge>(buffer_);
      if (!equal(challenge.mac, acceptor_proof(secret, hello_, challenge.nonce)))
        return end("it does not know the run's secret");
      say(connector_proof(secret, hello_, challenge.nonce));
      stage_ = 1;
      expect(welcome_bytes);
    } else {
      if (buffer_[0] != welcome) return end("it does not speak our protocol");
      succeed(key_);
    }
  }

  void succeed(const ConnectionKey& key) {
    over_ = true;
    transport_.established(key, release());
  }

  OwnedFd release() {
    if (fd_) transport_.loop_.forget(fd(), this);
    return std::move(fd_);
  }

  Transport& transport_;
  OwnedFd fd_;
  std::string peer_;
  bool connector_ = false;
  bool called_ = false;
  bool over_ = false;
  int stage_ = 0;
  ConnectionKey key_;
  Hello hello_;
  Nonce nonce_{};
  std::byte buffer_[64];
  std::size_t wanted_ = 0, got_ = 0;
  std::int64_t since_ = now_ns();
};

Transport::Transport(Setup setup, Loop& loop) : setup_(std::move(setup)), loop_(loop) {}

Result<std::unique_ptr<Transport>> Transport::make(Setup setup, Loop& loop) {
  std::unique_ptr<Transport> transport(new Transport(std::move(setup), loop));
  if (const auto listening = transport->listen(); !listening) return tl::unexpected(listening.error());
  return transport;
}

Transport::~Transport() {
  pending_.clear();
  if (listener_.fd) loop_.forget(listener_.fd.get(), this);
}

Result<void> Transport::listen() {
  const int low = setup_.port_low, high = setup_.port_high;
  auto bound = bind_socket(SOCK_STREAM, setup_.address, low, high, [&](int fd, int) {
    const int yes = 1;
    if (low != 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  if (!bound && bound.error().cause == Cause::bad_input) return tl::unexpected(bound.error());
  if (!bound)
    return fail(Cause::unavailable,
                low == 0 ? fmt::format("cannot listen for data: {}", bound.error().what)
                         : fmt::format("no free data port in {}-{}: {}", low, std::max(low, high),
                                       bound.error().what),
                {}, low == 0 ? "" : "widen --data-ports");
  listener_ = std::move(*bound);
  // What it accepts has it, too, so that ways can be traced from this port. While it listens nobody else gets
  // the port by that.
  const int yes = 1;
  setsockopt(listener_.fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  return loop_.watch(listener_.fd.get(), EPOLLIN, this);
}

void Transport::ready(std::uint32_t) {
  for (int i = 0; i < 64; ++i) {
    SocketAddress address;
    address.size = sizeof address.storage;
    OwnedFd fd(::accept4(listener_.fd.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.size,
                         SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      if (errno == EMFILE || errno == ENFILE) {
        // The connection stays in the backlog and would wake us again at once: back off from accept().
        loop_.change(listener_.fd.get(), 0, this);
        loop_.at(now_ns() + pause_ns, [this] { loop_.change(listener_.fd.get(), EPOLLIN, this); });
      }
      break;
    }
    tune(fd.get(), congestion_);
    sweep();
    if (pending_.size() >= max_pending_) {
      const auto caller = std::find_if(pending_.begin(), pending_.end(),
                                       [](const auto& p) { return !p->connector() && !p->over(); });
      if (caller != pending_.end()) (*caller)->end("too many unproven callers");
    }
    auto pending = std::make_unique<Pending>(*this, std::move(fd), to_text(address));
    if (loop_.watch(pending->fd(), EPOLLIN, pending.get())) pending_.push_back(std::move(pending));
  }
}

// Where the peer has called again, the old connection is dead to it.
void Transport::established(const ConnectionKey& key, OwnedFd fd) {
  connections_[key] = std::move(fd);
}

void Transport::reject(Pending& pending, const std::string& why) {
  if (pending.connector() && failures_) {
    failures_->try_emplace(pending.key(), why);
    return;
  }
  if (pending.connector()) {
    if (failure_.empty()) {
      failure_ = why;
      failed_node_ = pending.peer();
    }
    return;
  }
  if (++rejected_ <= rejected_logged)
    log_warn("dropped a data connection from {}: {}{}", pending.peer(), why,
             rejected_ == rejected_logged ? "; further ones are only counted" : "");
}

void Transport::sweep() {
  const std::int64_t now = now_ns();
  for (auto& pending : pending_)
    if (!pending->over() && !pending->connector() && now - pending->since() > handshake_timeout_ns)
      pending->end("it did not prove itself in time");
  std::erase_if(pending_, [](const auto& pending) { return pending->over(); });
}

void Transport::drop_calls() {
  std::erase_if(pending_, [](const auto& pending) { return pending->connector(); });
}

Result<void> Transport::call(const ConnectionKey& key, const PeerAddress& peer) {
  auto address = resolve(peer.host, peer.port, SOCK_STREAM);
  if (!address) {
    address.error().where = peer.node;
    return tl::unexpected(address.error());
  }
  OwnedFd fd(::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd)
    return fail(Cause::unavailable, fmt::format("no socket: {}", std::strerror(errno)), {},
                "raise the limit of open files (ulimit -n)");
  tune(fd.get(), congestion_);
  auto pending = std::make_unique<Pending>(*this, std::move(fd), key, peer.node);
  if (::connect(pending->fd(), reinterpret_cast<const sockaddr*>(&address->storage), address->size) != 0 &&
      errno != EINPROGRESS)
    return fail(Cause::unreachable,
                fmt::format("cannot connect to {}:{}: {}", peer.host, peer.port, std::strerror(errno)),
                peer.node);
  if (const auto watched = loop_.watch(pending->fd(), EPOLLOUT, pending.get()); !watched) return watched;
  pending_.push_back(std::move(pending));
  return {};
}

// For a call that the peer has taken already.
Result<void> Transport::prove(const ConnectionKey& key, const std::string& node, OwnedFd called) {
  tune(called.get(), congestion_);
  auto pending = std::make_unique<Pending>(*this, std::move(called), key, node);
  if (const auto watched = loop_.watch(pending->fd(), EPOLLOUT, pending.get()); !watched) return watched;
  pending_.push_back(std::move(pending));
  return {};
}

Result<void> Transport::connect(const std::map<ConnectionKey, PeerAddress>& wanted,
                                const std::function<bool()>& stop, Deadline deadline) {
  failure_.clear();
  raise_descriptor_limit();
  loop_.change(listener_.fd.get(), EPOLLIN, this);
  // Our own calls stand among the pending ones as well, and both ends do where we call ourselves.
  max_pending_ = std::max(min_callers, 4 * wanted.size());
  for (const auto& [key, peer] : wanted) {
    if (connections_.contains(key) || key.peer < key.self) continue;
    if (auto called = call(key, peer); !called) return called;
  }
  return await(wanted, stop, deadline);
}

// Until all of these are there.
Result<void> Transport::await(const std::map<ConnectionKey, PeerAddress>& wanted,
                              const std::function<bool()>& stop, Deadline deadline) {
  auto missing = [&]() -> const std::pair<const ConnectionKey, PeerAddress>* {
    for (const auto& entry : wanted)
      if (!connections_.contains(entry.first)) return &entry;
    return nullptr;
  };
  const auto* first_missing = missing();
  const bool stopped = loop_.run(
      [&] {
        if (first_missing && connections_.contains(first_missing->first)) first_missing = missing();
        return !first_missing || !failure_.empty() || stop();
      },
      deadline);
  sweep();
  if (!failure_.empty())
    return fail(Cause::unreachable,
                fmt::format("the data connection to {} failed: {}", failed_node_, failure_), failed_node_,
                "is its data port reachable from here? see --data-interface and --data-ports");
  if (!first_missing) return {};
  if (stopped) return fail(Cause::cancelled, "cancelled while connecting");
  const auto& [key, peer] = *first_missing;
  return fail(Cause::deadline,
              key.self < key.peer ? fmt::format("no answer from {} at {}:{}", peer.node, peer.host, peer.port)
                                  : fmt::format("{} did not connect", peer.node),
              peer.node, "is the data network between the nodes up? see --data-interface");
}

int Transport::descriptor(const ConnectionKey& key) const {
  const auto at = connections_.find(key);
  return at == connections_.end() ? -1 : at->second.get();
}

}  // namespace ringtrue::transport::tcp
