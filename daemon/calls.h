// The calls of the service as state machines on one completion queue. For service.cc.
#pragma once

#include <grpcpp/completion_queue.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "daemon/inspector.h"
#include "daemon/lease_manager.h"
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
  std::string node;
  LeaseManager& manager;
  Inspector& inspector;
  rpc::Node::AsyncService service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  std::atomic<bool> stopping;
  std::atomic<int> leases = 0;  // streams that are open
  // Of the queue's thread: what to do at its time (now_ns). Not grpc::Alarm: after a few that ring every
  // second, gRPC's own timer thread wakes several times a second for ever.
  std::multimap<std::int64_t, std::function<void()>> timers{};

  void after(Seconds time, std::function<void()> act) {
    timers.emplace(Deadline::in(time).at_ns(), std::move(act));
  }
};

// Handles what comes in until the queue is shut down.
void serve_queue(CallContext& context);
// Waits for the first call of each kind; each call then waits for the next one of its kind.
void accept_calls(CallContext& context);

}  // namespace ringtrue::daemon
