// Internet addresses, and the sockets on which a process takes data.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace ringtrue::transport {

struct PeerAddress {
  std::string host;
  int port = 0;
  std::string node;  // name, for errors
};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  bool operator==(const SocketAddress& other) const;  // family, address and port
  bool ipv4() const;                                  // also one that stands in an IPv6 address
  int port() const;
};
std::string to_text(const SocketAddress& address);

// `type`: SOCK_STREAM or SOCK_DGRAM. `family`: AF_UNSPEC, or that of the socket that is to reach it; IPv6
// sockets reach IPv4 addresses, too. Errors: unreachable.
Result<SocketAddress> resolve(const std::string& host, int port, int type, int family = AF_UNSPEC);

struct BoundSocket {
  OwnedFd fd;  // non-blocking; listens, if it is of SOCK_STREAM
  int family = AF_INET6;
  int port = 0;
};
// On the first port from `low` to `high` (0: any) of `address` (empty: all) that is free; of IPv6 where there
// is such a one, which takes IPv4 as well. `tune`: told of the socket before it is bound. Errors: bad_input
// for the address; unavailable, saying no more than the kernel's reason.
Result<BoundSocket> bind_socket(int type, const std::string& address, int low, int high,
                                const std::function<void(int fd, int family)>& tune);

}  // namespace ringtrue::transport
