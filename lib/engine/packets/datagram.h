// Packets to and from one peer in datagrams: they may be lost, doubled and reordered, and what recovers is
// the program.
#pragma once

#include "collective/algorithm.h"
#include "engine/packets/route.h"
#include "run/job.h"
#include "transport/udp/transport.h"

namespace ringtrue::engine {

class DatagramRoute final : public PacketRoute {
 public:
  // The transport, in which the rank has opened the peer, outlives the route.
  DatagramRoute(Rank self, Rank peer, transport::udp::Transport& transport)
      : self_(self), peer_(peer), transport_(transport) {}

  Rank peer() const override { return peer_; }
  bool reliable() const override { return false; }
  void send(const PacketToSend& packet) override {
    transport_.send(self_, peer_, packet.id, packet.header, packet.parts);
  }
  void listen() override { transport_.listen(self_, peer_); }
  void reset_counters() override { transport_.reset_counters(self_, peer_); }
  const transport::Traffic* sent_traffic() override { return &transport_.sent(self_, peer_); }

 private:
  Rank self_, peer_;
  transport::udp::Transport& transport_;
};

// What a job that goes over udp must be: an algorithm that recovers, and packets that fit job.mtu. The error
// names the largest block that does.
Result<void> check_datagrams(const run::Job& job, const collective::Algorithm& algorithm);

}  // namespace ringtrue::engine
