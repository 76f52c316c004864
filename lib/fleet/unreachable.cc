#include "fleet/unreachable.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "fleet/targets.h"
#include "pki/x509.h"

namespace ringtrue::fleet {
namespace {

// Whether somebody takes connections there.
bool listens(const Target& target) {
  constexpr int patience = 500;  // ms
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(target.host.c_str(), std::to_string(target.port).c_str(), &hints, &found) != 0) return true;
  const OwnedFd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int failed = fd.get() < 0 ? -1 : connect(fd.get(), found->ai_addr, found->ai_addrlen);
  const bool begun = failed == 0 || errno == EINPROGRESS;
  freeaddrinfo(found);
  pollfd ready{fd.get(), POLLOUT, 0};
  int why = 0;
  socklen_t size = sizeof why;
  return begun && poll(&ready, 1, patience) == 1 &&
         getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &why, &size) == 0 && why == 0;
}

}  // namespace

// The texts are those of gRPC 1.51, of OpenSSL 3 and of strerror(3), which unreachable_test.cc provokes.
Error why_unreachable(const Target& target, const pki::PemBundle* credentials, const std::string& status) {
  const std::string place = to_text(target), &node = target.node;
  const auto says = [&](std::initializer_list<std::string_view> texts) {
    return std::ranges::any_of(texts, [&](auto t) { return status.find(t) != std::string::npos; });
  };
  const auto reason = [&](Cause cause, std::string what, std::string next = {}) {
    return Error{cause, std::move(what), node, std::move(next)};
  };
  if (says({"Permission denied", "Operation not permitted"}))
    return reason(Cause::refused, "no permission to open " + place, "ask for the group of that socket");
  if (!target.socket.empty()) {
    if (says({"No such file", "Connection refused"}))
      return reason(Cause::unreachable, "no daemon listens at " + place,
                    "start ringtrued, or give the path of its --state folder's socket");
  } else if (says({"Connection refused"})) {
    return reason(Cause::unreachable, "connection refused: is ringtrued running on " + place + "?",
                  "start it there, or check --listen and the port");
  }
  if (says({"No route to host", "Network is unreachable", "Host is down"}))
    return reason(Cause::unreachable, "no route to " + place,
                  "check that the node is up, its link, and this machine's routes");
  if (says({"remote host: Timeout occurred", "tcp handshaker shutdown", "Connection timed out"}))
    return reason(Cause::unreachable, "no answer from " + place + ": the connection timed out",
                  "check that the node is up and that no firewall drops the port");
  if (says({"Handshake read failed", "Handshake timed out", "before receiving SETTINGS"}))
    return reason(Cause::deadline,
                  place + " took the connection but does not answer: its daemon may be stopped or overloaded",
                  "look at ringtrued on that node");

  if (says({"alert internal error"}))
    return reason(Cause::refused, place + " has no room for another connection: too many clients at once",
                  "try again in a minute; its daemon's log says whose they are");

  const std::string issue = "ringtrue pki issue --dir AUTHORITY " + certificate_name(target);
  if (says({"certificate verify failed"}))
    return reason(
        Cause::refused,
        node + "'s certificate is from another authority, or not valid today by this machine's clock",
        "compare the ca.crt on both sides and the clocks, or " + issue +
            ", copy the folder to that node and reload its daemon");
  if (says({"is not in peer certificate"}))
    return reason(Cause::refused, node + "'s certificate is not for " + certificate_name(target),
                  "give --hosts the name that its daemon has by --node, or make a certificate: " + issue);
  if (says({"wrong version number", "selected ALPN", "unknown protocol"}))
    return reason(Cause::refused,
                  node + " does not speak TLS (does its daemon run --insecure, or is this another program?)",
                  "start ringtrued there with --pki, or check the port");
  if (target.socket.empty() &&
      says({"Socket closed", "Endpoint read failed", "Connection reset", "Broken pipe"})) {
    // It may have been killed in the middle of the handshake.
    if (!listens(target))
      return reason(Cause::unreachable,
                    place + " closed the connection and takes no more: its daemon has just stopped",
                    "look at ringtrued on that node");
    if (!credentials)
      return reason(
          Cause::refused,
          "the connection was closed: probably " + node + " wants TLS, but this side runs --insecure",
          "give --pki DIR instead");
    const auto own = pki::read_certificate(credentials->cert);
    return reason(Cause::refused,
                  node + " refused our certificate" + (own ? fmt::format(" (\"{}\")", own->name) : "") +
                      " and gave no reason",
                  "compare the ca.crt on both sides and the clocks, or it runs --insecure, or has too many "
                  "clients; its daemon's log says more");
  }
  return reason(Cause::unreachable, "cannot connect to " + place + ": " + status);
}

}  // namespace ringtrue::fleet
