#include "transport/way_trace.h"

#include <linux/errqueue.h>
#include <netdb.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>

#include <cstring>

namespace ringtrue::transport {

namespace {

std::string host_of(const sockaddr& address, socklen_t size) {
  char host[NI_MAXHOST];
  const bool told = ::getnameinfo(&address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) == 0;
  return told ? host : "";
}

PacketError::Kind kind_of(const sock_extended_err& error) {
  using enum PacketError::Kind;
  if (error.ee_origin == SO_EE_ORIGIN_ICMP) {
    if (error.ee_type == ICMP_TIME_EXCEEDED) return expired;
    if (error.ee_type == ICMP_DEST_UNREACH && error.ee_code == ICMP_PORT_UNREACH) return port_unreachable;
  }
  if (error.ee_origin == SO_EE_ORIGIN_ICMP6) {
    if (error.ee_type == ICMP6_TIME_EXCEEDED) return expired;
    if (error.ee_type == ICMP6_DST_UNREACH && error.ee_code == ICMP6_DST_UNREACH_NOPORT)
      return port_unreachable;
  }
  return other;
}

}  // namespace

Result<void> play(Loop& loop, const std::vector<WayTrace*>& traces, const std::function<bool()>& stop,
                  Deadline deadline) {
  for (WayTrace* trace : traces) trace->begin();
  auto next = traces.begin();  // all before it are over
  loop.run(
      [&] {
        while (next != traces.end() && (*next)->over()) ++next;
        return next == traces.end() || stop();
      },
      deadline);
  if (next == traces.end()) return {};
  if (deadline.passed())
    return fail(Cause::deadline, "the ways were not traced in time", {}, "raise --deadline");
  return fail(Cause::cancelled, "cancelled while ways were traced");
}

std::optional<PacketError> next_packet_error(int fd) {
  alignas(cmsghdr) char control[512];
  char payload[1];
  iovec into{payload, sizeof payload};
  msghdr message{};
  message.msg_iov = &into;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return std::nullopt;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    const bool v4 = c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR;
    const bool v6 = c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR;
    const std::size_t name = v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if ((!v4 && !v6) || c->cmsg_len < CMSG_LEN(sizeof(sock_extended_err) + name)) continue;
    sock_extended_err error;
    std::memcpy(&error, CMSG_DATA(c), sizeof error);
    sockaddr_storage who{};
    std::memcpy(&who, CMSG_DATA(c) + sizeof error, name);
    return PacketError{kind_of(error), host_of(reinterpret_cast<const sockaddr&>(who), socklen_t(name))};
  }
  return PacketError{};
}

void set_option(int fd, int level, int name, int value) {
  ::setsockopt(fd, level, name, &value, sizeof value);
}

void tell_packet_errors(int fd, bool ipv4, bool yes) {
  ipv4 ? set_option(fd, IPPROTO_IP, IP_RECVERR, yes) : set_option(fd, IPPROTO_IPV6, IPV6_RECVERR, yes);
}

void set_time_to_live(int fd, bool ipv4, int hops) {
  ipv4 ? set_option(fd, IPPROTO_IP, IP_TTL, hops) : set_option(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, hops);
}

SocketAddress plain(const SocketAddress& address) {
  if (address.storage.ss_family != AF_INET6 || !address.ipv4()) return address;
  const auto& in6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
  SocketAddress out;
  auto& in = reinterpret_cast<sockaddr_in&>(out.storage);
  in.sin_family = AF_INET;
  in.sin_port = in6.sin6_port;
  std::memcpy(&in.sin_addr, in6.sin6_addr.s6_addr + 12, sizeof in.sin_addr);
  out.size = sizeof in;
  return out;
}

}  // namespace ringtrue::transport
