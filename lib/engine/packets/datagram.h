// Packets to and from one peer in datagrams: they may be lost, doubled and reordered, and what recovers is
// the program.
#pragma once

#include "collective/algorithm.h"
#include "engine/packets/endpoint.h"
#include "engine/packets/route.h"
#include "run/job.h"
#include "transport/udp/transport.h"

namespace ringtrue::engine {

class DatagramRoute final : public PacketRoute, public transport::udp::Receiver {
 public:
  // To be opened in the transport as a receiver before anything is sent. The transport outlives the route.
  DatagramRoute(Rank self, Rank peer, PacketEndpoint& rank, transport::udp::Transport& transport)
      : self_(self), peer_(peer), rank_(rank), transport_(transport) {}

  Rank peer() const override { return peer_; }
  bool reliable() const override { return false; }
  void send(const PacketToSend& packet) override;
  void listen() override { transport_.listen(self_, peer_); }
  void reset_counters() override { transport_.reset_counters(self_, peer_); }
  const transport::Traffic* sent_traffic() override { return &transport_.sent(self_, peer_); }

  bool listening() const override { return rank_.listening(); }
  std::uint32_t call() const override { return std::uint32_t(rank_.calls()); }
  Placed place(Rank from, std::span<const std::byte> header,
               std::vector<transport::Destination>& into) override {
    return rank_.place(from, header, into);
  }
  void arrived(Rank from, std::span<const std::byte> header) override { rank_.arrived(from, header); }
  void sent(std::uint64_t token) override { rank_.sent(std::uint32_t(token)); }
  void failed(Error error) override { rank_.failed(std::move(error)); }

 private:
  Rank self_, peer_;
  PacketEndpoint& rank_;
  transport::udp::Transport& transport_;
};

// What a job that goes over udp must be: an algorithm that recovers, and packets that fit job.mtu. The error
// names the largest block that does.
Result<void> check_datagrams(const run::Job& job, const collective::Algorithm& algorithm);

}  // namespace ringtrue::engine
