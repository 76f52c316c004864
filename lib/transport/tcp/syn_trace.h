// Which routers a connection's packets pass, by attempts to open that very connection: the same addresses and
// ports, so that routers that hash them choose the same way. Each attempt's SYN may live for one hop more
// (Linux 5.10 and later queue the router's message for it).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"
#include "transport/address.h"
#include "transport/loop.h"
#include "transport/way_trace.h"

namespace ringtrue::transport::tcp {

class SynTrace final : public WayTrace {
 public:
  struct Ends {
    SocketAddress from, to;  // with ports; one family
    // The far end listens, and the last attempt is the connection, which is made even where routers say
    // nothing. Otherwise nobody listens there: the far end refuses, which ends the trace.
    bool listens = false;
    bool shares_port = false;  // our own port is also that of a listener with SO_REUSEPORT
  };
  SynTrace(Loop& loop, Ends ends);
  ~SynTrace() override;

  void begin() override;
  OwnedFd take() { return std::move(fd_); }        // the connection; none: see why()
  const std::string& why() const { return why_; }  // there is no connection

  void ready(std::uint32_t epoll_events) override;

 private:
  void attempt();
  void silent();
  void give_up();  // on the way
  void end(std::string why);
  void drop();
  std::optional<std::string> router();  // that has dropped this attempt's packet

  Loop& loop_;
  Ends ends_;
  OwnedFd fd_;
  int hops_ = 1;  // that an attempt may live for; 0: all
  int tries_ = 0;
  std::string why_;
  Loop::TimerId timer_;
};

}  // namespace ringtrue::transport::tcp
