// Listening on TCP: addresses as people write them, and the socket.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace ringtrue {

struct ListenAddress {
  std::string host;  // empty: all addresses
  int port = 0;      // 0: the kernel chooses one
};
// "0.0.0.0:7464", "[::1]:7464", ":7464", "10.0.0.4". `flag`: what it was given by. Cause::bad_input.
Result<ListenAddress> parse_listen(const std::string& text, int default_port, const std::string& flag);
// Whether only this machine reaches it. A host's name counts as an address that others reach.
bool is_loopback(const ListenAddress& address);

// A socket that listens and does not block. Errors name the address and what to do: in use, no permission,
// not an address of this machine.
Result<OwnedFd> listen_on(const ListenAddress& address, const std::string& flag, int backlog);
int port_of(int socket);

}  // namespace ringtrue
