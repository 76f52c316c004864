// Ways of connections. Both ends of each trace what they send, one after the other, as a SYN from either side
// at the same time would open the connection: first the one that was called, from its listener's port to a
// port of the caller at which nobody listens yet; then the caller, whose last attempt is the connection. They
// settle that over a further connection, which stays.
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "transport/fields.h"
#include "transport/tcp/transport.h"

namespace ringtrue::transport::tcp {

namespace {

constexpr Lane settling_lane = 0xfffe;

SocketAddress end_of(int fd, decltype(::getsockname)& ask) {
  SocketAddress out;
  out.size = sizeof out.storage;
  ask(fd, reinterpret_cast<sockaddr*>(&out.storage), &out.size);
  return plain(out);
}

SocketAddress own_end(int fd) {
  return end_of(fd, ::getsockname);
}

SocketAddress far_end(int fd) {
  return end_of(fd, ::getpeername);
}

SocketAddress with_port(SocketAddress address, int port) {
  reinterpret_cast<sockaddr_in&>(address.storage).sin_port = htons(std::uint16_t(port));
  return address;
}

// At once and on both ends, so that its ports can be used again.
void reset(OwnedFd fd) {
  const linger at_once{1, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

// A port of our own that nobody else takes meanwhile.
OwnedFd hold(const SocketAddress& at) {
  OwnedFd fd(::socket(at.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  if (fd) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (fd && ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at.storage), at.size) != 0) return {};
  return fd;
}

// Those that a process traces at a time.
using Traces = std::map<ConnectionKey, std::unique_ptr<SynTrace>>;

std::vector<WayTrace*> all_of(const Traces& traces) {
  std::vector<WayTrace*> out;
  for (const auto& [key, trace] : traces) out.push_back(trace.get());
  return out;
}

}  // namespace

Result<std::map<ConnectionKey, TracedWay>> Transport::trace(
    const std::map<ConnectionKey, PeerAddress>& wanted, const std::function<bool()>& stop,
    Deadline deadline) {
  const auto settling = [](ConnectionKey key) {
    key.lane = settling_lane;
    return key;
  };
  const auto calls = [](const ConnectionKey& key) { return key.self < key.peer; };
  std::map<ConnectionKey, PeerAddress> settled;
  for (const auto& [key, peer] : wanted) settled.emplace(settling(key), peer);
  if (auto connected = connect(settled, stop, deadline); !connected) return tl::unexpected(connected.error());

  std::map<ConnectionKey, OwnedFd> held;
  std::map<ConnectionKey, TracedWay> ways;
  Messages ours;
  for (const auto& [key, peer] : wanted) {
    if (const auto old = connections_.find(key); old != connections_.end()) {
      reset(std::move(old->second));
      connections_.erase(old);
    }
    std::uint16_t port = 0;
    if (calls(key)) {
      const SocketAddress own = own_end(descriptor(settling(key)));
      int& known = traced_ports_[key];
      held[key] = hold(with_port(own, known));
      if (!held[key] && known != 0) held[key] = hold(with_port(own, 0));
      if (!held[key])
        return fail(Cause::unavailable, fmt::format("no port to trace from: {}", std::strerror(errno)));
      known = own_end(held[key].get()).port();
      port = std::uint16_t(known);
    }
    const auto bytes = to_bytes(port);
    ours[settling(key)] = {{bytes.begin(), bytes.end()}, peer.node};
  }
  const auto theirs = exchange(ours, sizeof(std::uint16_t), "ports to trace", stop, deadline);
  if (!theirs) return tl::unexpected(theirs.error());

  Traces traces;
  for (const auto& [key, peer] : wanted) {
    if (calls(key)) continue;
    const auto& said = theirs->at(settling(key)).bytes;
    if (said.size() != sizeof(std::uint16_t))
      return fail(Cause::corrupted, fmt::format("{} named no port to trace", peer.node), peer.node);
    const int fd = descriptor(settling(key));
    traces[key] = std::make_unique<SynTrace>(
        loop_,
        SynTrace::Ends{own_end(fd), with_port(far_end(fd), from_bytes<std::uint16_t>(said)), false, true});
  }
  // For as long as it takes: whoever else listens on this port would take calls of ours.
  int shared = 1;
  ::setsockopt(listener_.fd.get(), SOL_SOCKET, SO_REUSEPORT, &shared, sizeof shared);
  const auto played = play(loop_, all_of(traces), stop, deadline);
  for (const auto& [key, trace] : traces) ways[key] = trace->way();
  traces.clear();
  shared = 0;
  ::setsockopt(listener_.fd.get(), SOL_SOCKET, SO_REUSEPORT, &shared, sizeof shared);
  if (!played) return tl::unexpected(played.error());

  const auto ready =
      exchange(std::move(ours), sizeof(std::uint16_t), "word that a way was traced", stop, deadline);
  if (!ready) return tl::unexpected(ready.error());
  failure_.clear();
  for (const auto& [key, peer] : wanted) {
    if (!calls(key)) continue;
    const int fd = descriptor(settling(key));
    const SocketAddress from = own_end(held[key].get());
    held.erase(key);
    traces[key] = std::make_unique<SynTrace>(loop_, SynTrace::Ends{from, far_end(fd), true, false});
  }
  if (const auto done = play(loop_, all_of(traces), stop, deadline); !done)
    return tl::unexpected(done.error());
  for (const auto& [key, trace] : traces) {
    const std::string& node = wanted.at(key).node;
    ways[key] = trace->way();
    OwnedFd called = trace->take();
    if (!called)
      return fail(Cause::unreachable, fmt::format("the data connection to {} failed: {}", node, trace->why()),
                  node, "is its data port reachable from here? see --data-interface and --data-ports");
    if (auto proving = prove(key, node, std::move(called)); !proving) return tl::unexpected(proving.error());
  }
  if (auto there = await(wanted, stop, deadline); !there) return tl::unexpected(there.error());
  return ways;
}

}  // namespace ringtrue::transport::tcp
