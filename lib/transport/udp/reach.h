// Whether datagrams reach peers at all: before a run each end of a pair sends the other a short one and one
// as long as the run's will be, again until the other says that both have come, and says itself what has come
// of the other's. Who has all stays until the other has heard so: what told it may have been lost. No call of
// a run has their epoch, 0, so that what comes late is taken for nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/reach.h"
#include "transport/address.h"
#include "transport/loop.h"
#include "transport/udp/datagram.h"
#include "transport/udp/socket.h"

namespace ringtrue::transport::udp {

// A pair's two ranks, this process's first.
using Ends = std::pair<collective::Rank, collective::Rank>;

class Trials {
 public:
  // `longest`: bytes of the run's longest packet, header and payload.
  Trials(Socket& socket, Tagger& tagger, Loop& loop, std::uint64_t longest);
  ~Trials();

  void add(Ends ends, const PeerAddress& peer, const SocketAddress& address);
  void begin();
  void take_arrivals();  // of the socket
  bool well() const;     // all, and their other ends know it or had time to ask
  std::vector<run::Reach> seen() const;

 private:
  struct Trial {
    SocketAddress address;
    std::string name;        // of it: "10.0.0.7:41234"
    std::uint8_t got = 0;    // of the peer's
    std::uint8_t known = 0;  // of ours, by the peer's word
    bool settled = false;    // the peer knows as much of its own
    std::int64_t well_at = 0;
    bool well() const { return well_at != 0; }  // all has come, both ways
    std::uint32_t sent = 0;
    std::string why;  // the kernel's or the network's word, "Connection refused"
  };
  void again();
  void send(Ends ends, Trial& trial, bool long_one);
  void take(std::span<const std::byte> datagram);
  void take_refusals();
  void hear(int error);  // what the socket says of itself

  Socket& socket_;
  Tagger& tagger_;
  Loop& loop_;
  const std::uint64_t longest_;
  std::map<Ends, Trial> trials_;
  std::optional<Loop::TimerId> timer_;
};

}  // namespace ringtrue::transport::udp
