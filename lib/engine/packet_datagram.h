// Packets to and from one peer in datagrams: they may be lost, doubled and reordered, and what recovers is
// the program.
#pragma once

#include "collective/algorithm.h"
#include "engine/job.h"
#include "engine/packet_route.h"
#include "transport/udp/transport.h"

namespace ringtrue::engine {

// A rank as its datagrams see it.
class DatagramReceiver final : public transport::udp::Receiver {
 public:
  explicit DatagramReceiver(PacketSink& sink) : sink_(sink) {}

  bool listening() const override { return sink_.listening(); }
  Placed place(Rank from, std::span<const std::byte> header,
               std::vector<transport::Destination>& into) override {
    return sink_.place(from, header, into);
  }
  void arrived(Rank from, std::span<const std::byte> header) override { sink_.arrived(from, header); }
  void sent(std::uint64_t token) override { sink_.sent(std::uint32_t(token)); }
  void failed(Error error) override { sink_.failed(std::move(error)); }

 private:
  PacketSink& sink_;
};

class DatagramRoute final : public PacketRoute {
 public:
  // The transport has opened the hop self -> peer, and outlives the route.
  DatagramRoute(Rank self, Rank peer, PacketSink& sink, transport::udp::Transport& transport)
      : self_(self), peer_(peer), sink_(sink), transport_(transport) {}

  Rank peer() const override { return peer_; }
  bool reliable() const override { return false; }
  void send(const PacketToSend& packet) override;
  void listen() override { transport_.begin_call(self_, peer_); }

 private:
  Rank self_, peer_;
  PacketSink& sink_;
  transport::udp::Transport& transport_;
};

// What a job that goes over udp must be: an algorithm that recovers, and packets that fit job.mtu. The error
// names the largest block that does.
Result<void> check_datagrams(const Job& job, const collective::Algorithm& algorithm);

}  // namespace ringtrue::engine
