// The gRPC service: streams in, events out. One thread serves all of gRPC; it never blocks.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/connections.h"
#include "daemon/credentials.h"
#include "daemon/inspector.h"
#include "daemon/lease_manager.h"
#include "wire/node.grpc.pb.h"

namespace ringtrue::daemon {

class PassiveWatch;

// What the calls share.
struct CallContext {
  std::string node;
  LeaseManager& manager;
  Inspector& inspector;
  PassiveWatch* watch = nullptr;
  rpc::Node::AsyncService service;
  std::shared_ptr<const Certificates> certificates{};  // null where no connection has TLS
  std::unique_ptr<Connections> connections{};
  std::unique_ptr<grpc::ServerCompletionQueue> queue{};
  std::atomic<bool> stopping = false;
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

class Service {
 public:
  // Which clients a connection may be of.
  enum class Door {
    local,  // the Unix socket, or TCP with --insecure: whoever comes may run
    tls,    // the role is in the client's certificate
  };

  // All three must outlive this; `watch` may be null.
  Service(std::string node, LeaseManager& manager, Inspector& inspector, PassiveWatch* watch = nullptr);
  ~Service() { stop(Deadline::in(Seconds(0))); }

  // `certificates` may be null where no connection comes through Door::tls.
  Result<void> start(std::shared_ptr<const Certificates> certificates);
  // Takes a connection over, its descriptor included.
  void serve(Door door, int listener, int fd);
  // Ends connections whose certificates count no more.
  void certificates_changed();
  // Ends what still runs at the deadline. The inspector must have stopped: it may tell nobody any more.
  void stop(Deadline deadline);

 private:
  CallContext context_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> local_, tls_;
  std::unique_ptr<grpc::Server> server_;
  std::thread thread_;
};

}  // namespace ringtrue::daemon
