#include "daemon/call.h"

#include <fmt/format.h>
#include <grpc/grpc_security_constants.h>
#include <grpc/support/time.h>

#include "base/text.h"

namespace ringtrue::daemon {

Peer peer_of(const grpc::ServerContext& context, const CallContext& call) {
  Peer peer;
  peer.connection = context.peer();
  peer.source = call.connections->source(peer.connection);
  peer.name = peer.identity = peer.source.text;
  const auto auth = context.auth_context();
  const auto types = auth->FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  const bool tls = !types.empty() && types.front() == GRPC_SSL_TRANSPORT_SECURITY_TYPE;
  if (!tls) {
    // The Unix socket's mode, or --insecure, has let this client in.
    peer.role = pki::Role::run;
    return peer;
  }
  const auto pem = auth->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (!pem.empty()) peer.certificate = std::string(pem.front().data(), pem.front().size());
  const auto identity = call.certificates->identify(peer.certificate);
  if (!identity) {
    peer.refusal = identity.error().what;
    return peer;
  }
  peer.role = identity->role;
  peer.identity = one_line(identity->name, 64);
  peer.name = fmt::format("{} ({})", one_line(identity->name, 64), peer.source.text);
  return peer;
}

Result<void> may(const Peer& peer, pki::Role needed, const CallContext& context) {
  using pki::Role;
  if (peer.role == Role::run || (peer.role == Role::read && needed == Role::read)) return {};
  Error error{
      Cause::refused, peer.refusal, context.node,
      fmt::format("have one made where the authority is: ringtrue pki issue --dir AUTHORITY {} --role {}",
                  peer.identity.empty() ? "NAME" : peer.identity, key_of(needed))};
  if (peer.refusal.empty())
    error.what = fmt::format("this needs a certificate with the role '{}', that of {} has '{}'",
                             key_of(needed), peer.identity, key_of(peer.role));
  log_refusal(peer.source, "refused {}: {}", peer.name, error.what);
  if (peer.role != Role::read) context.connections->drop(peer.connection);
  return tl::unexpected(error);
}

void serve_queue(CallContext& context) {
  const auto due = [&context] {
    while (!context.timers.empty() && context.timers.begin()->first <= now_ns()) {
      const auto timer = context.timers.extract(context.timers.begin());
      timer.mapped()();
    }
    // Monotonic: a wall clock that is set must not end a lease.
    return context.timers.empty() ? gpr_inf_future(GPR_CLOCK_MONOTONIC)
                                  : gpr_time_from_nanos(context.timers.begin()->first, GPR_CLOCK_MONOTONIC);
  };
  void* tag = nullptr;
  bool ok = false;
  for (;;) {
    const auto next = context.queue->AsyncNext(&tag, &ok, due());
    if (next == grpc::CompletionQueue::SHUTDOWN) break;
    if (next == grpc::CompletionQueue::GOT_EVENT) static_cast<Op*>(tag)->done(ok);
  }
  context.timers.clear();  // they keep calls
}

void accept_calls(CallContext& context) {
  accept_unary_calls(context);
  accept_leases(context);
}

}  // namespace ringtrue::daemon
