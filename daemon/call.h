// What all calls of the service share: one operation on the queue, and who asks.
#pragma once

#include <grpcpp/server_context.h>

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "daemon/refusal_log.h"
#include "daemon/service.h"
#include "pki/pki.h"

namespace ringtrue::daemon {

// One operation on the queue; keeps its call alive until it is done.
class Op {
 public:
  using Handler = std::function<void(bool ok)>;
  // The tag for gRPC. An op is started again only after it was done.
  void* start(std::shared_ptr<void> call, Handler handler) {
    call_ = std::move(call);
    handler_ = std::move(handler);
    return this;
  }
  void done(bool ok) {
    // Moved out first: the handler may start the op again.
    const std::shared_ptr<void> call = std::move(call_);
    const Handler handler = std::move(handler_);
    handler(ok);
  }
  // It will not be done.
  void forget() {
    const std::shared_ptr<void> call = std::move(call_);
    handler_ = {};
  }

 private:
  std::shared_ptr<void> call_;
  Handler handler_;
};

// Who is at the other end, by certificate or by the kernel's word; nothing that the client says itself.
struct Peer {
  std::string connection;  // gRPC's name of it
  Source source;
  pki::Role role = pki::Role::none;
  std::string name;         // "alice (10.0.0.5)", "user alice"
  std::string identity;     // what counts as one: "alice", "user alice"
  std::string certificate;  // empty without TLS
  std::string refusal;      // why its certificate does not count; empty: it does
};

Peer peer_of(const grpc::ServerContext& context, const CallContext& call);

// Whether the peer may do what takes the role; if not, it is logged, and its connection is of no more use.
Result<void> may(const Peer& peer, pki::Role needed, const CallContext& context);

// Wait for the first call of each kind; each call then waits for the next one of its kind.
void accept_unary_calls(CallContext& context);
void accept_leases(CallContext& context);

}  // namespace ringtrue::daemon
