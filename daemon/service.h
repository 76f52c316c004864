// The gRPC service: streams in, events out. One thread serves all of gRPC; it never blocks.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/calls.h"
#include "daemon/credentials.h"

namespace ringtrue::daemon {

class Service {
 public:
  // Which clients a connection may be of.
  enum class Door {
    local,  // the Unix socket, or TCP with --insecure: whoever comes may run
    tls,    // the role is in the client's certificate
  };

  // LeaseManager and inspector must outlive this.
  Service(std::string node, LeaseManager& manager, Inspector& inspector);
  ~Service() { stop(Deadline::in(Seconds(0))); }

  // `certificates` may be null where no connection comes through Door::tls.
  Result<void> start(std::shared_ptr<const Certificates> certificates);
  // Takes a connection over, its descriptor included.
  void serve(Door door, int listener, int fd);
  // Ends what still runs at the deadline. The inspector must have stopped: it may tell nobody any more.
  void stop(Deadline deadline);

 private:
  CallContext context_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> local_, tls_;
  std::unique_ptr<grpc::Server> server_;
  std::thread thread_;
};

}  // namespace ringtrue::daemon
