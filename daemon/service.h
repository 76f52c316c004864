// The gRPC service: streams in, events out. One thread serves all of gRPC; it never blocks.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "daemon/credentials.h"
#include "daemon/inspector.h"
#include "daemon/lease_manager.h"

namespace ringtrue::daemon {

class Service {
 public:
  struct Identity {
    std::string node;
    std::string version;
    std::function<std::uint64_t()> refused_handshakes;
  };
  // Which clients a connection may be of.
  enum class Door {
    local,  // the Unix socket, or TCP with --insecure: whoever comes may run
    tls,    // the role is in the client's certificate
  };

  // `certificates` may be null where no connection comes through Door::tls.
  static Result<std::unique_ptr<Service>> start(Identity identity, LeaseManager& manager,
                                                Inspector& inspector,
                                                std::shared_ptr<const Certificates> certificates);
  virtual ~Service() = default;

  // Takes a connection over, its descriptor included.
  virtual void serve(Door door, int listener, int fd) = 0;
  // Ends what still runs at the deadline. LeaseManager and inspector must outlive this, and the inspector
  // must have stopped: it may tell nobody any more.
  virtual void stop(Deadline deadline) = 0;
};

}  // namespace ringtrue::daemon
