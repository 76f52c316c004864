#include "transport/tcp/syn_trace.h"

#include <linux/errqueue.h>
#include <netdb.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace ringtrue::transport::tcp {

namespace {

constexpr int max_hops = 30;
// Linux answers a host six times at once and then once a second.
constexpr std::int64_t patience_ns = 1'100'000'000;
constexpr int max_tries = 4;

bool is_v4(const SocketAddress& address) {
  return address.storage.ss_family == AF_INET;
}

void set(int fd, int level, int name, int value) {
  ::setsockopt(fd, level, name, &value, sizeof value);
}

// -1: as usual.
void live_for(int fd, bool v4, int hops) {
  v4 ? set(fd, IPPROTO_IP, IP_TTL, hops) : set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, hops);
}

void tell_errors(int fd, bool v4, int yes) {
  v4 ? set(fd, IPPROTO_IP, IP_RECVERR, yes) : set(fd, IPPROTO_IPV6, IPV6_RECVERR, yes);
}

std::string host_of(const sockaddr& address, socklen_t size) {
  char host[NI_MAXHOST];
  const bool told = ::getnameinfo(&address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) == 0;
  return told ? host : "";
}

}  // namespace

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

SynTrace::SynTrace(Loop& loop, Ends ends) : loop_(loop), ends_(std::move(ends)) {}

SynTrace::~SynTrace() {
  drop();
}

void SynTrace::begin() {
  attempt();
}

void SynTrace::drop() {
  loop_.cancel(timer_);
  if (fd_ && !over_) loop_.forget(fd_.get(), this);
  if (!over_) fd_ = OwnedFd();
}

void SynTrace::end(std::string why) {
  if (over_) return;
  loop_.cancel(timer_);
  if (fd_) loop_.forget(fd_.get(), this);
  over_ = true;
  if (why.empty()) return;
  why_ = std::move(why);
  fd_ = OwnedFd();
}

void SynTrace::attempt() {
  drop();
  const bool v4 = is_v4(ends_.from);
  fd_ = OwnedFd(::socket(ends_.from.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd_) return end(std::strerror(errno));
  set(fd_.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (ends_.shares_port) set(fd_.get(), SOL_SOCKET, SO_REUSEPORT, 1);
  if (hops_ > 0) live_for(fd_.get(), v4, hops_);
  tell_errors(fd_.get(), v4, hops_ > 0);
  const auto* from = reinterpret_cast<const sockaddr*>(&ends_.from.storage);
  const auto* to = reinterpret_cast<const sockaddr*>(&ends_.to.storage);
  if (auto watched = loop_.watch(fd_.get(), 0, this); !watched) return end(watched.error().what);
  if (::bind(fd_.get(), from, ends_.from.size) != 0 ||
      (::connect(fd_.get(), to, ends_.to.size) != 0 && errno != EINPROGRESS))
    return errno == ECONNREFUSED && !ends_.listens ? (void)(way_.known = true, end("refused"))
                                                   : end(std::strerror(errno));
  loop_.change(fd_.get(), EPOLLOUT, this);
  if (hops_ > 0) timer_ = loop_.at(now_ns() + patience_ns, [this] { silent(); });
}

void SynTrace::silent() {
  if (over_) return;
  ++tries_ < max_tries ? attempt() : give_up();
}

void SynTrace::give_up() {
  way_.known = false;
  if (!ends_.listens || hops_ == 0) return end("no answer");
  hops_ = 0;
  attempt();
}

std::optional<std::string> SynTrace::router() {
  alignas(cmsghdr) char control[512];
  char payload[1];
  iovec into{payload, sizeof payload};
  msghdr message{};
  message.msg_iov = &into;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(fd_.get(), &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return std::nullopt;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    const bool v4 = c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR;
    const bool v6 = c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR;
    const std::size_t name = v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if ((!v4 && !v6) || c->cmsg_len < CMSG_LEN(sizeof(sock_extended_err) + name)) continue;
    sock_extended_err error;
    std::memcpy(&error, CMSG_DATA(c), sizeof error);
    const bool expired = v4 ? error.ee_origin == SO_EE_ORIGIN_ICMP && error.ee_type == ICMP_TIME_EXCEEDED
                            : error.ee_origin == SO_EE_ORIGIN_ICMP6 && error.ee_type == ICMP6_TIME_EXCEEDED;
    if (!expired) continue;
    sockaddr_storage who{};
    std::memcpy(&who, CMSG_DATA(c) + sizeof error, name);
    return host_of(reinterpret_cast<const sockaddr&>(who), socklen_t(name));
  }
  return std::nullopt;
}

void SynTrace::ready(std::uint32_t events) {
  if (over_ || !fd_) return;
  if (hops_ > 0) {
    if (auto who = router(); who && !who->empty()) {
      way_.routers.push_back(std::move(*who));
      tries_ = 0;
      if (++hops_ > max_hops) return give_up();
      return attempt();
    }
  }
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0 && !(events & EPOLLOUT)) return;
  const bool arrived = error == 0 || (error == ECONNREFUSED && !ends_.listens);
  if (arrived) {
    way_.known = hops_ > 0;
    if (!ends_.listens) return end("refused");
    tell_errors(fd_.get(), is_v4(ends_.from), 0);
    live_for(fd_.get(), is_v4(ends_.from), -1);
    return end({});
  }
  if (hops_ > 0 && error != ECONNREFUSED) return give_up();  // a router says something else
  end(std::strerror(error));
}

}  // namespace ringtrue::transport::tcp
