#include "transport/address.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

namespace ringtrue::transport {

namespace {

using Found = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// By getaddrinfo(3); its error is text.
tl::expected<Found, std::string> look_up(const char* host, const char* port, int type, int family,
                                         int flags) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = type;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host, port, &hints, &found); error != 0)
    return tl::unexpected(std::string(::gai_strerror(error)));
  return Found(found, &::freeaddrinfo);
}

const in6_addr& ipv6_of(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in6&>(storage).sin6_addr;
}

// Both families have it in the same place.
in_port_t& port_of(sockaddr& address) {
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  return reinterpret_cast<sockaddr_in&>(address).sin_port;
}

// The reason where it cannot be had.
tl::expected<OwnedFd, int> bind_to(const addrinfo& at, const std::function<void(int, int)>& tune) {
  OwnedFd fd(::socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return tl::unexpected(errno);
  const int no = 0;
  if (at.ai_family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  tune(fd.get(), at.ai_family);
  if (::bind(fd.get(), at.ai_addr, at.ai_addrlen) != 0) return tl::unexpected(errno);
  if (at.ai_socktype == SOCK_STREAM && ::listen(fd.get(), 1024) != 0) return tl::unexpected(errno);
  return fd;
}

}  // namespace

bool SocketAddress::operator==(const SocketAddress& other) const {
  if (storage.ss_family != other.storage.ss_family || port() != other.port()) return false;
  if (storage.ss_family == AF_INET6)
    return std::memcmp(&ipv6_of(storage), &ipv6_of(other.storage), sizeof(in6_addr)) == 0;
  return reinterpret_cast<const sockaddr_in&>(storage).sin_addr.s_addr ==
         reinterpret_cast<const sockaddr_in&>(other.storage).sin_addr.s_addr;
}

bool SocketAddress::ipv4() const {
  return storage.ss_family == AF_INET || IN6_IS_ADDR_V4MAPPED(&ipv6_of(storage));
}

int SocketAddress::port() const {
  return ntohs(reinterpret_cast<const sockaddr_in&>(storage).sin_port);
}

std::string to_text(const SocketAddress& address) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address.storage), address.size, host, sizeof host,
                    port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "an unknown address";
  return fmt::format("{}:{}", host, port);
}

Result<SocketAddress> resolve(const std::string& host, int port, int type, int family) {
  const int flags = AI_NUMERICSERV | (family == AF_INET6 ? AI_V4MAPPED | AI_ALL : 0);
  const auto found = look_up(host.c_str(), std::to_string(port).c_str(), type, family, flags);
  if (!found)
    return fail(Cause::unreachable, fmt::format("cannot resolve '{}': {}", host, found.error()), {},
                "give an address that the other nodes can resolve");
  // The first one is what the resolver prefers, whatever families it may choose from.
  SocketAddress address;
  std::memcpy(&address.storage, (*found)->ai_addr, (*found)->ai_addrlen);
  address.size = (*found)->ai_addrlen;
  return address;
}

Result<BoundSocket> bind_socket(int type, const std::string& address, int low, int high,
                                const std::function<void(int fd, int family)>& tune) {
  const auto found =
      look_up(address.empty() ? nullptr : address.c_str(), "0", type, AF_UNSPEC, AI_PASSIVE | AI_NUMERICHOST);
  if (!found)
    return fail(Cause::bad_input, fmt::format("cannot receive data on '{}': {}", address, found.error()), {},
                "check --data-interface");
  std::string why = "no address";
  for (const int family : {AF_INET6, AF_INET})
    for (const addrinfo* at = found->get(); at; at = at->ai_next)
      for (int port = low; at->ai_family == family && port <= std::max(low, high); ++port) {
        port_of(*at->ai_addr) = htons(std::uint16_t(port));
        auto fd = bind_to(*at, tune);
        if (!fd) {
          why = std::strerror(fd.error());
          continue;
        }
        SocketAddress bound;
        bound.size = sizeof bound.storage;
        ::getsockname(fd->get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.size);
        return BoundSocket{std::move(*fd), family, bound.port()};
      }
  return fail(Cause::unavailable, why);
}

}  // namespace ringtrue::transport
