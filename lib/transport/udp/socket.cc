#include "transport/udp/socket.h"

#include <fmt/format.h>
#include <linux/errqueue.h>
#include <netdb.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

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

void set_port(sockaddr* address, int port) {
  if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = htons(std::uint16_t(port));
  } else {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(std::uint16_t(port));
  }
}

}  // namespace

bool SocketAddress::operator==(const SocketAddress& other) const {
  if (storage.ss_family != other.storage.ss_family) return false;
  if (storage.ss_family == AF_INET6) {
    const auto& a = reinterpret_cast<const sockaddr_in6&>(storage);
    const auto& b = reinterpret_cast<const sockaddr_in6&>(other.storage);
    return a.sin6_port == b.sin6_port && std::memcmp(&a.sin6_addr, &b.sin6_addr, sizeof a.sin6_addr) == 0;
  }
  const auto& a = reinterpret_cast<const sockaddr_in&>(storage);
  const auto& b = reinterpret_cast<const sockaddr_in&>(other.storage);
  return a.sin_port == b.sin_port && a.sin_addr.s_addr == b.sin_addr.s_addr;
}

bool SocketAddress::ipv4() const {
  return storage.ss_family == AF_INET ||
         IN6_IS_ADDR_V4MAPPED(&reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr);
}

std::string to_text(const SocketAddress& address) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address.storage), address.size, host, sizeof host, port,
                  sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "an unknown address";
  return fmt::format("{}:{}", host, port);
}

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

Socket::Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)), family_(other.family_) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(family_, other.family_);
  return *this;
}

Result<Socket> Socket::open(const std::string& address, int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(address.empty() ? nullptr : address.c_str(), "0", &hints, &found);
      error != 0)
    return fail(Cause::bad_input,
                fmt::format("cannot receive data on '{}': {}", address, gai_strerror(error)), {},
                "check --data-interface");
  std::string why = "no address";
  Socket socket;
  // IPv6 first: its socket takes IPv4 as well.
  for (const int family : {AF_INET6, AF_INET}) {
    for (addrinfo* a = found; a && socket.fd_ < 0; a = a->ai_next) {
      if (a->ai_family != family) continue;
      const int fd = ::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      if (fd < 0) {
        why = std::strerror(errno);
        continue;
      }
      if (family == AF_INET6) option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
      tune(fd, family);
      set_port(a->ai_addr, port);
      if (::bind(fd, a->ai_addr, a->ai_addrlen) == 0) {
        socket.fd_ = fd;
        socket.family_ = family;
      } else {
        why = std::strerror(errno);
        ::close(fd);
      }
    }
  }
  freeaddrinfo(found);
  if (socket.fd_ < 0)
    return fail(Cause::unavailable, fmt::format("cannot receive datagrams on port {}: {}", port, why), {},
                "try again, or name free ports with --data-ports");
  return socket;
}

Result<SocketAddress> Socket::resolve(const std::string& host, int port) const {
  addrinfo hints{};
  hints.ai_family = family_;
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICSERV | (family_ == AF_INET6 ? AI_V4MAPPED | AI_ALL : 0);
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0)
    return fail(Cause::unreachable, fmt::format("cannot resolve '{}': {}", host, gai_strerror(error)), {},
                "give an address that the other nodes can resolve");
  // tcp takes the first that the resolver prefers among both families; AI_ALL sorts the same way.
  SocketAddress address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.size = found->ai_addrlen;
  freeaddrinfo(found);
  return address;
}

std::optional<int> Socket::path_mtu(const SocketAddress& peer) const {
  // The kernel tells a path's MTU of connected sockets only.
  const int probe = ::socket(peer.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return std::nullopt;
  int mtu = 0;
  socklen_t size = sizeof mtu;
  const bool known = ::connect(probe, reinterpret_cast<const sockaddr*>(&peer.storage), peer.size) == 0 &&
                     ::getsockopt(probe, peer.ipv4() ? IPPROTO_IP : IPPROTO_IPV6,
                                  peer.ipv4() ? IP_MTU : IPV6_MTU, &mtu, &size) == 0;
  ::close(probe);
  return known ? std::optional(mtu) : std::nullopt;
}

std::optional<Socket::Complaint> Socket::complaint() {
  for (;;) {
    Complaint complaint;
    alignas(cmsghdr) char control[512];
    char payload[1];
    iovec into{payload, sizeof payload};
    msghdr message{};
    message.msg_name = &complaint.peer.storage;
    message.msg_namelen = sizeof complaint.peer.storage;
    message.msg_iov = &into;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (::recvmsg(fd_, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
      if (errno == EINTR) continue;
      return std::nullopt;
    }
    complaint.peer.size = message.msg_namelen;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
      const bool ours = (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
                        (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
      if (!ours) continue;
      sock_extended_err error;
      std::memcpy(&error, CMSG_DATA(c), sizeof error);
      complaint.error = int(error.ee_errno);
    }
    return complaint;
  }
}

}  // namespace ringtrue::transport::udp
