// IP addresses as text.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace ringtrue {

using IpBytes = std::array<std::byte, 16>;

// As people write them, and as sysfs writes GIDs; an IPv6 address may have a zone (%eth0), which is left out.
// IPv4 as ::ffff:a.b.c.d, as RoCE has it. nullopt: no address.
std::optional<IpBytes> parse_ip(const std::string& text);
std::string to_text(const IpBytes& address);  // IPv4 without ::ffff:
// nullopt: of another family, or none.
std::optional<IpBytes> ip_of(const sockaddr* address);

bool is_ipv4(const IpBytes& address);
bool is_loopback(const IpBytes& address);    // 127.0.0.0/8, ::1
bool is_link_local(const IpBytes& address);  // 169.254.0.0/16, fe80::/10
bool is_of_one(const IpBytes& address);  // of one machine or none: not 0.0.0.0, not multicast, no broadcast

// A network, or a single address. IPv6 networks hold no IPv4 addresses.
struct IpNetwork {
  IpBytes address{};  // without the bits of hosts
  int bits = 128;     // of the network, counted as in IPv6: 120 for 10.0.0.0/24

  bool holds(const IpBytes& other) const;
  bool operator==(const IpNetwork&) const = default;
};
IpNetwork network_of(const IpBytes& address, int bits);
// "10.0.0.0/24", "fd00::/64", "10.0.0.7"; bits of hosts may be set. nullopt: no network.
std::optional<IpNetwork> parse_network(const std::string& text);
std::string to_text(const IpNetwork& network);
// "10.0.0.0/24, fd00::/64", the first few of them; "none".
std::string to_text(const std::vector<IpNetwork>& networks);

}  // namespace ringtrue
