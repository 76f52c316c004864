// The daemon's sockets. We accept ourselves and hand to gRPC only what begins like a client of ours:
// whoever sends anything else, or nothing, costs a descriptor and no more.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/listen.h"
#include "base/result.h"
#include "daemon/connections.h"

namespace ringtrue::daemon {

inline constexpr int default_port = 7464;
// As ringtrue::parse_listen, of --listen.
Result<ListenAddress> parse_listen(const std::string& text);

class Listener {
 public:
  enum class Opening {
    any,        // handed over at once: a Unix socket's clients were let in by its mode
    tls,        // a TLS handshake record
    plaintext,  // HTTP/2's preface
  };
  // Takes over a connection.
  using HandOver = std::function<void(int listener, int fd)>;

  // Errors name the address and what to do: in use, no permission, not an address of this machine.
  static Result<Listener> tcp(const ListenAddress& address, Opening opening, HandOver hand_over);
  // Replaces a socket that a former process left; the caller holds the folder's lock.
  static Result<Listener> unix_socket(const std::string& path, HandOver hand_over);

  // For poll(2): our descriptors, and when to call serve() at the latest.
  void add_to(std::vector<pollfd>& polled) const;
  Deadline next_due() const;
  // Accepts, looks, hands over, drops; never blocks.
  void serve();

  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Waiting {
    OwnedFd fd;
    std::int64_t since = 0;
    Source source;
  };
  Listener(OwnedFd socket, Opening opening, HandOver hand_over);
  void accept_all();
  void look_at_waiting();
  void crowd_out(const Source& newest);
  void drop(const Source& source, const char* why);

  OwnedFd socket_;
  Opening opening_;
  HandOver hand_over_;
  std::list<Waiting> waiting_;
  std::int64_t accept_again_ = 0;  // now_ns, after accept(2) failed for lack of something
  std::uint64_t dropped_ = 0;
};

}  // namespace ringtrue::daemon
