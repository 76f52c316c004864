// One UDP socket, and what the kernel knows of its paths.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace ringtrue::transport::udp {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  bool operator==(const SocketAddress& other) const;  // family, address and port
  bool ipv4() const;                                  // also one that stands in an IPv6 address
};
std::string to_text(const SocketAddress& address);

class Socket {
 public:
  Socket() = default;
  ~Socket();
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;

  // Bound and non-blocking; its packets are never fragmented. `address`: empty for all. Cause::unavailable
  // where the port is taken.
  static Result<Socket> open(const std::string& address, int port);

  int fd() const { return fd_; }
  Result<SocketAddress> resolve(const std::string& host, int port) const;
  // Bytes of an IP packet that the way to `peer` takes, as far as this machine knows; nullopt: there is none.
  std::optional<int> path_mtu(const SocketAddress& peer) const;

  // What the network has said of a datagram sent earlier.
  struct Complaint {
    SocketAddress peer;
    int error = 0;  // an errno
  };
  std::optional<Complaint> complaint();  // the next one, if any

 private:
  int fd_ = -1;
  int family_ = AF_INET6;
};

}  // namespace ringtrue::transport::udp
