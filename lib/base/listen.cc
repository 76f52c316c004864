#include "base/listen.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <regex>

#include "base/ip.h"

namespace ringtrue {
namespace {

Error listen_error(const ListenAddress& address, const std::string& flag, int error) {
  const std::string at = address.host.empty() ? "all addresses" : address.host;
  switch (error) {
    case EADDRINUSE:
      return {Cause::unavailable, fmt::format("port {} on {} is already in use", address.port, at), "",
              fmt::format("see whose it is with `ss -ltnp sport = :{}`, or choose another with {}",
                          address.port, flag)};
    case EACCES:
      return {Cause::unavailable, fmt::format("no permission to listen on port {} on {}", address.port, at),
              "", "choose a port above 1023 with " + flag};
    case EADDRNOTAVAIL:
      return {Cause::unavailable, fmt::format("{} is not an address of this machine", at), "",
              fmt::format("see `ip address`, or listen on all addresses with {} 0.0.0.0", flag)};
    default:
      return {Cause::unavailable,
              fmt::format("cannot listen on port {} on {}: {}", address.port, at, std::strerror(error)), "",
              ""};
  }
}

}  // namespace

Result<ListenAddress> parse_listen(const std::string& text, int default_port, const std::string& flag) {
  static const std::regex form(R"((?:\[([^\]]*)\]|([^:\[]*))(?::([0-9]{1,5}))?)");
  std::smatch parts;
  const bool fits = std::regex_match(text, parts, form);
  ListenAddress address{"", default_port};
  if (fits && parts[3].matched) address.port = std::stoi(parts[3]);
  if (fits && (address.port < 1 || address.port > 65'535))
    return fail(Cause::bad_input, fmt::format("'{}': ports are 1 to 65535", text), flag);
  if (!fits)
    return fail(Cause::bad_input, fmt::format("'{}' is not an address to listen on", text), flag,
                fmt::format("write ADDRESS:PORT, as in 0.0.0.0:{0} or [::]:{0}", default_port));
  address.host = parts[1].str() + parts[2].str();  // with brackets, or without
  if (address.host == "*") address.host.clear();
  return address;
}

bool is_loopback(const ListenAddress& address) {
  const auto ip = parse_ip(address.host);
  return address.host == "localhost" || (ip && is_loopback(*ip));
}

Result<OwnedFd> listen_on(const ListenAddress& address, const std::string& flag, int backlog) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string host = address.host.empty() ? "0.0.0.0" : address.host;
  if (const int e = ::getaddrinfo(host.c_str(), std::to_string(address.port).c_str(), &hints, &found); e != 0)
    return fail(Cause::bad_input,
                fmt::format("'{}' is not an address to listen on: {}", host, ::gai_strerror(e)), flag,
                "write ADDRESS:PORT, as in 0.0.0.0:" + std::to_string(address.port));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  OwnedFd socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return tl::unexpected(listen_error(address, flag, errno));
  const int one = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(socket.get(), backlog) != 0)
    return tl::unexpected(listen_error(address, flag, errno));
  return socket;
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

}  // namespace ringtrue
