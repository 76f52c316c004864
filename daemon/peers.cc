#include "daemon/peers.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/text.h"

namespace ringtrue::daemon {
namespace {

int bits_of(const sockaddr* mask, int family) {
  int bits = 0;
  // A netmask's family is not set everywhere.
  const auto* const v4 =
      reinterpret_cast<const unsigned char*>(&reinterpret_cast<const sockaddr_in*>(mask)->sin_addr);
  const auto* const v6 =
      reinterpret_cast<const unsigned char*>(&reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr);
  const bool is_v4 = family == AF_INET;
  for (int i = 0; i < (is_v4 ? 4 : 16); ++i) bits += std::popcount((is_v4 ? v4 : v6)[i]);
  return is_v4 ? 96 + bits : bits;
}

}  // namespace

Result<std::vector<IpNetwork>> own_networks() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0)
    return fail(
        Cause::unavailable, fmt::format("cannot list this node's interfaces: {}", std::strerror(errno)), "",
        "name the networks of its peers under [daemon] in this node's configuration (peers), or let the "
        "daemon use netlink sockets");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  std::vector<IpNetwork> networks;
  for (const ifaddrs* a = list; a; a = a->ifa_next) {
    const auto address = ip_of(a->ifa_addr);
    if (!address || !a->ifa_netmask || !(a->ifa_flags & IFF_UP) || (a->ifa_flags & IFF_LOOPBACK)) continue;
    if (is_loopback(*address) || is_link_local(*address)) continue;
    const IpNetwork network = network_of(*address, bits_of(a->ifa_netmask, a->ifa_addr->sa_family));
    if (std::ranges::find(networks, network) == networks.end()) networks.push_back(network);
  }
  return networks;
}

Result<std::vector<IpNetwork>> Peers::networks(bool local) const {
  auto networks = configured_.empty() ? interfaces_() : configured_;
  if (networks && local)
    for (const char* loopback : {"127.0.0.0/8", "::1"}) networks->push_back(*parse_network(loopback));
  return networks;
}

Result<void> Peers::allow(const std::string& node, const std::string& host, bool local) const {
  const auto address = parse_ip(host);
  if (!address)
    return fail(Cause::refused,
                fmt::format("{} is said to be at '{}', which is no address", one_line(node, 255),
                            one_line(host, 255)),
                "", "give addresses to daemons; `ringtrue` resolves names itself");
  if (local && is_loopback(*address)) return {};
  const auto networks = this->networks(false);
  if (!networks) return tl::unexpected(networks.error());
  const auto holds = [&](const IpNetwork& network) { return network.holds(*address); };
  if (is_of_one(*address) && std::ranges::any_of(*networks, holds)) return {};
  return fail(
      Cause::refused,
      fmt::format("{} is said to be at {}, outside of this node's {} ({})", one_line(node, 255),
                  to_text(*address), configured_.empty() ? "interfaces' networks" : "configured networks",
                  to_text(*networks)),
      "", "if it is there, add its network to peers under [daemon] in this node's configuration");
}

}  // namespace ringtrue::daemon
