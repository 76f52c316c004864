// One UDP socket, and what the kernel knows of its paths.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "transport/address.h"

namespace ringtrue::transport::udp {

class Socket {
 public:
  // Bound and non-blocking; its packets are never fragmented. `address`: empty for all. Cause::unavailable
  // where the port is taken.
  static Result<Socket> open(const std::string& address, int port);

  int fd() const { return bound_.fd.get(); }
  Result<SocketAddress> resolve(const std::string& host, int port) const;
  // Bytes of an IP packet that the way to `peer` takes, as far as this machine knows; nullopt: there is none.
  std::optional<int> path_mtu(const SocketAddress& peer) const;

  // What the network has said of a datagram sent earlier.
  struct NetworkError {
    SocketAddress peer;
    int error = 0;  // an errno
  };
  std::optional<NetworkError> next_error();  // the next one, if any

 private:
  explicit Socket(BoundSocket bound) : bound_(std::move(bound)) {}

  BoundSocket bound_;
};

}  // namespace ringtrue::transport::udp
