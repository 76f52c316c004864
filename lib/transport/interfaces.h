// The network interfaces of this process's network namespace, as the kernel and their drivers tell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/units.h"
#include "run/reach.h"
#include "transport/address.h"

namespace ringtrue::transport {

struct Interface {
  std::string name;
  std::vector<IpBytes> addresses;
  int mtu = 0;  // bytes of IP
  bool up = false;
  bool loopback = false;
  BytesPerSecond rate;  // one way; 0: unknown, or a device that is only virtual, whose driver makes it up
};

std::vector<Interface> interfaces();

// The most that a TCP socket receives into unless its program asks for more, in bytes (the last number of
// net.ipv4.tcp_rmem); 0: unknown.
std::uint64_t largest_receive_buffer();

// What goes to `peer` leaves by that: by its own address, and how long packets may be as far as is known
// there. nullopt: there is no way.
struct Outlet {
  IpBytes address{};
  int path_mtu = 0;  // 0: unknown
};
std::optional<Outlet> outlet_to(const SocketAddress& peer);

// The interface of `outlet`, and the fastest other one that is up and has an address that others could reach.
// nullopt: none has that address.
std::optional<run::Network> network_of(const Outlet& outlet, const std::vector<Interface>& all);

}  // namespace ringtrue::transport
