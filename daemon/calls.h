// The calls of the service as state machines on one completion queue. For service.cc.
#pragma once

#include <grpcpp/completion_queue.h>

#include <atomic>
#include <functional>
#include <memory>

#include "daemon/inspector.h"
#include "daemon/lease_manager.h"
#include "daemon/service.h"
#include "wire/node.grpc.pb.h"

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

 private:
  std::shared_ptr<void> call_;
  Handler handler_;
};

struct CallContext {
  Service::Identity identity;
  LeaseManager& manager;
  Inspector& inspector;
  rpc::Node::AsyncService service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  std::atomic<bool> stopping;
  std::atomic<int> leases = 0;  // streams that are open
};

// Waits for the first call of each kind; each call then waits for the next one of its kind.
void accept_calls(CallContext& context);

}  // namespace ringtrue::daemon
