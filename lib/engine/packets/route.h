// What lies between the packets of a rank (packet_endpoint.h) and the wires: one route per peer, over a
// channel (packet_channel.h) or over datagrams.
//
// All of it belongs to one Loop and is used on that loop's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "collective/packets.h"
#include "transport/transport.h"

namespace ringtrue::engine {

using collective::Placed;
using collective::Rank;

// A packet to send. Header and parts stay where they are and as they are until the sink has heard sent(id) as
// often as it was told to expect.
struct PacketToSend {
  struct Part {
    const std::byte* from = nullptr;
    std::uint64_t length = 0;
  };
  std::uint32_t id = 0;
  // What the program wrote, and the same with the envelope that channels need behind it (packet_channel.h).
  std::span<const std::byte> header, enveloped;
  std::span<const Part> parts;
};

// The rank's side: implemented once, by PacketEndpoint.
class PacketSink {
 public:
  virtual ~PacketSink() = default;

  // Of sending: `messages` more calls of sent(id) will come, possibly at once.
  virtual void expect(std::uint32_t id, std::uint32_t messages) = 0;
  virtual void sent(std::uint32_t id) = 0;

  // Of receiving. Whether the program handles packets now: if not, a route that is reliable keeps its packets
  // until listen(), and another one drops them.
  virtual bool listening() const = 0;
  // A header is here: where its parts belong, by part, of the lengths that the receiver expects. For
  // Placed::broken the sink has failed the run already. Between place() and arrived() of a peer no other
  // packet of that peer may be placed.
  virtual Placed place(Rank from, std::span<const std::byte> header,
                       std::vector<transport::Destination>& into) = 0;
  // Everything is at its place (stored, or combined by reducer()).
  virtual void arrived(Rank from, std::span<const std::byte> header) = 0;

  virtual void failed(Error error) = 0;               // the run is over
  virtual std::string describe(Rank rank) const = 0;  // for errors: its role, node and number
};

// All packets to and from one peer.
class PacketRoute {
 public:
  virtual ~PacketRoute() = default;
  virtual Rank peer() const = 0;
  virtual bool reliable() const = 0;  // every packet once and in order
  // Never blocks. Calls sink.expect(id, n) before the first of its n calls of sent(id).
  virtual void send(const PacketToSend& packet) = 0;
  // The program handles packets from here on. Called from the loop; may place packets before it returns.
  virtual void listen() = 0;
  // A route that is no channel counts what it sends itself; channels are counted where they are.
  virtual void reset_counters() {}
  virtual const transport::Traffic* sent_traffic() { return nullptr; }
};

}  // namespace ringtrue::engine
