// What lies between the packets of a rank (endpoint.h) and the wires: one route per peer, over a channel
// (channel.h) or over datagrams (datagram.h).
//
// All of it belongs to one Loop and is used on that loop's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collective/packets.h"
#include "transport/transport.h"

namespace ringtrue::engine {

using collective::PacketReceiver;
using collective::Placed;
using collective::Rank;

// A packet to send. Header and parts stay where they are and as they are until the receiver has heard
// sent(id) as often as it was told to expect.
struct PacketToSend {
  std::uint32_t id = 0;
  // What the program wrote, and the same with the envelope that channels need behind it (channel.h).
  std::span<const std::byte> header, enveloped;
  std::span<const std::span<const std::byte>> parts;
};

// All packets to and from one peer.
class PacketRoute {
 public:
  virtual ~PacketRoute() = default;
  virtual Rank peer() const = 0;
  virtual bool reliable() const = 0;  // every packet once and in order
  // Never blocks. Calls expect(id, n) before the first of its n calls of sent(id).
  virtual void send(const PacketToSend& packet) = 0;
  // The program handles packets from here on. Called from the loop; may place packets before it returns.
  virtual void listen() = 0;
  // A route that is no channel counts what it sends itself; channels are counted where they are.
  virtual void reset_counters() {}
  virtual const transport::Traffic* sent_traffic() { return nullptr; }
};

}  // namespace ringtrue::engine
