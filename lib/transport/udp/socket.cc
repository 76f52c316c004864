#include "transport/udp/socket.h"

#include <fmt/format.h>
#include <linux/errqueue.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>

namespace ringtrue::transport::udp {

namespace {

// Room for what comes while the thread computes.
constexpr int receive_buffer = 8 << 20;
// What waits in our own buffer is sent later than it was timed: at 100 Mbit/s this is 80 ms.
constexpr int send_buffer = 1 << 20;

template <class T>
bool option(int fd, int level, int name, T value) {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

void tune(int fd, int family) {
  // The forced sizes pass the machine's limits, where we may.
  if (!option(fd, SOL_SOCKET, SO_RCVBUFFORCE, receive_buffer))
    option(fd, SOL_SOCKET, SO_RCVBUF, receive_buffer);
  if (!option(fd, SOL_SOCKET, SO_SNDBUFFORCE, send_buffer)) option(fd, SOL_SOCKET, SO_SNDBUF, send_buffer);
  // An IPv6 socket carries IPv4 as well, and has options of both. With *_RECVERR the kernel tells of refused
  // packets, and of those that its own queues have no room for.
  option(fd, IPPROTO_IP, IP_MTU_DISCOVER, int(IP_PMTUDISC_DO));
  option(fd, IPPROTO_IP, IP_RECVERR, 1);
  if (family != AF_INET6) return;
  option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, int(IPV6_PMTUDISC_DO));
  option(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1);
  option(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
}

}  // namespace

Result<Socket> Socket::open(const std::string& address, int port) {
  auto bound = bind_socket(SOCK_DGRAM, address, port, port, tune);
  if (bound) return Socket(std::move(*bound));
  if (bound.error().cause == Cause::bad_input) return tl::unexpected(bound.error());
  return fail(Cause::unavailable,
              fmt::format("cannot receive datagrams on port {}: {}", port, bound.error().what), {},
              "try again, or name free ports with --data-ports");
}

Result<SocketAddress> Socket::resolve(const std::string& host, int port) const {
  return transport::resolve(host, port, SOCK_DGRAM, bound_.family);
}

std::optional<int> Socket::path_mtu(const SocketAddress& peer) const {
  // The kernel tells a path's MTU of connected sockets only.
  const OwnedFd probe(::socket(peer.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe) return std::nullopt;
  int mtu = 0;
  socklen_t size = sizeof mtu;
  const bool known =
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&peer.storage), peer.size) == 0 &&
      ::getsockopt(probe.get(), peer.ipv4() ? IPPROTO_IP : IPPROTO_IPV6, peer.ipv4() ? IP_MTU : IPV6_MTU,
                   &mtu, &size) == 0;
  return known ? std::optional(mtu) : std::nullopt;
}

std::optional<Socket::NetworkError> Socket::next_error() {
  for (;;) {
    NetworkError error;
    alignas(cmsghdr) char control[512];
    char payload[1];
    iovec into{payload, sizeof payload};
    msghdr message{};
    message.msg_name = &error.peer.storage;
    message.msg_namelen = sizeof error.peer.storage;
    message.msg_iov = &into;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (::recvmsg(fd(), &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
      if (errno == EINTR) continue;
      return std::nullopt;
    }
    error.peer.size = message.msg_namelen;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
      const bool ours = (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
                        (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
      if (!ours) continue;
      sock_extended_err raw;
      std::memcpy(&raw, CMSG_DATA(c), sizeof raw);
      error.error = int(raw.ee_errno);
    }
    return error;
  }
}

}  // namespace ringtrue::transport::udp
