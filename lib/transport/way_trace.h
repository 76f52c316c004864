// Which routers packets pass: each attempt may live for one hop more, and the router that drops it says so.
// What routers say reaches the socket that sent (IP_RECVERR), which needs no privileges.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "transport/address.h"
#include "transport/loop.h"

namespace ringtrue::transport {

// What packets from one end of a connection to the other pass.
struct TracedWay {
  bool known = false;                // all of it
  std::vector<std::string> routers;  // their addresses, nearest first, as far as they told
  bool operator==(const TracedWay&) const = default;
};

// One way, as its transport's packets go.
class WayTrace : public Watcher {
 public:
  virtual void begin() = 0;
  bool over() const { return over_; }
  const TracedWay& way() const { return way_; }

 protected:
  TracedWay way_;
  bool over_ = false;
};

// All at once. Errors: deadline, cancelled.
Result<void> play(Loop& loop, const std::vector<WayTrace*>& traces, const std::function<bool()>& stop,
                  Deadline deadline);

inline constexpr int max_hops = 30;
// For an answer. Linux answers a host six times at once and then once a second.
inline constexpr std::int64_t hop_patience_ns = 1'100'000'000;
inline constexpr int max_tries_per_hop = 4;

// An ICMP message about a packet of ours.
struct PacketError {
  enum class Kind { expired, port_unreachable, other } kind = Kind::other;
  std::string from;  // address
};
std::optional<PacketError> next_packet_error(int fd);
void tell_packet_errors(int fd, bool ipv4, bool yes);
void set_time_to_live(int fd, bool ipv4, int hops);  // -1: as usual
void set_option(int fd, int level, int name, int value);

// As a socket of its own family has it: an IPv4 address that stands in an IPv6 one becomes IPv4.
SocketAddress plain(const SocketAddress& address);

}  // namespace ringtrue::transport
