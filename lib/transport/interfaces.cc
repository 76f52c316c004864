#include "transport/interfaces.h"

#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>

#include "base/fd.h"
#include "base/file.h"

namespace ringtrue::transport {

namespace {

ifreq request_of(const std::string& name) {
  ifreq request{};
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  return request;
}

bool ask(int fd, const std::string& name, void* command) {
  ifreq request = request_of(name);
  request.ifr_data = static_cast<char*>(command);
  return ::ioctl(fd, SIOCETHTOOL, &request) == 0;
}

// A device on a bus, or what is made of such ones.
bool has_a_wire(int fd, const std::string& name) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  if (!ask(fd, name, &info)) return false;
  const std::string driver = info.driver, bus = info.bus_info;
  if (driver == "bonding" || driver == "team" || driver.find("VLAN") != std::string::npos) return true;
  return !bus.empty() && bus != "N/A" && bus != "tap";
}

BytesPerSecond rate_of(int fd, const std::string& name) {
  if (!has_a_wire(fd, name)) return {};
  ethtool_cmd settings{};
  settings.cmd = ETHTOOL_GSET;
  // In the older form every kernel answers, in the newer one with a mask of link modes that is not needed.
  if (!ask(fd, name, &settings)) return {};
  const std::uint32_t megabits = ethtool_cmd_speed(&settings);
  return megabits == std::uint32_t(SPEED_UNKNOWN) ? BytesPerSecond() : BytesPerSecond(megabits * 125e3);
}

bool of_others(const IpBytes& address) {
  return !is_loopback(address) && !is_link_local(address);
}

}  // namespace

std::vector<Interface> interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  const OwnedFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  std::map<std::string, Interface> all;
  for (const ifaddrs* each = list; each; each = each->ifa_next) {
    Interface& known = all[each->ifa_name];
    if (known.name.empty()) {
      known.name = each->ifa_name;
      known.up = (each->ifa_flags & IFF_RUNNING) != 0;
      known.loopback = (each->ifa_flags & IFF_LOOPBACK) != 0;
      ifreq request = request_of(known.name);
      if (fd && ::ioctl(fd.get(), SIOCGIFMTU, &request) == 0) known.mtu = request.ifr_mtu;
      if (fd) known.rate = rate_of(fd.get(), known.name);
    }
    if (const auto address = ip_of(each->ifa_addr)) known.addresses.push_back(*address);
  }
  std::vector<Interface> out;
  for (auto& [name, each] : all) out.push_back(std::move(each));
  return out;
}

std::uint64_t largest_receive_buffer() {
  std::istringstream sizes(first_line("/proc/sys/net/ipv4/tcp_rmem"));
  std::uint64_t least = 0, usual = 0, most = 0;
  return sizes >> least >> usual >> most ? most : 0;
}

std::optional<Outlet> outlet_to(const SocketAddress& peer) {
  // Connecting a socket of datagrams sends nothing.
  const OwnedFd fd(::socket(peer.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&peer.storage), peer.size) != 0)
    return std::nullopt;
  SocketAddress own;
  own.size = sizeof own.storage;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.size) != 0) return std::nullopt;
  const auto address = ip_of(reinterpret_cast<const sockaddr*>(&own.storage));
  if (!address) return std::nullopt;
  Outlet out{*address};
  socklen_t size = sizeof out.path_mtu;
  const bool ipv4 = peer.ipv4();
  if (::getsockopt(fd.get(), ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_MTU : IPV6_MTU, &out.path_mtu,
                   &size) != 0)
    out.path_mtu = 0;
  return out;
}

std::optional<run::Network> network_of(const Outlet& outlet, const std::vector<Interface>& all) {
  const auto own = std::find_if(all.begin(), all.end(), [&](const Interface& each) {
    return std::find(each.addresses.begin(), each.addresses.end(), outlet.address) != each.addresses.end();
  });
  if (own == all.end()) return std::nullopt;
  run::Network out;
  out.interface = own->name;
  out.address = ringtrue::to_text(outlet.address);
  out.mtu = own->mtu;
  out.path_mtu = outlet.path_mtu;
  out.rate = own->rate;
  // Where the rate of the one in use is not known, no other one is known to be faster.
  if (out.rate.value <= 0) return out;
  for (const Interface& each : all) {
    if (!each.up || each.loopback || each.rate <= std::max(out.rate, out.faster_rate)) continue;
    if (std::none_of(each.addresses.begin(), each.addresses.end(), of_others)) continue;
    out.faster = each.name;
    out.faster_rate = each.rate;
  }
  return out;
}

}  // namespace ringtrue::transport
