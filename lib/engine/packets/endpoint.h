// Packets, timers and the view on the data (collective/packets.h) of one rank on wires. What goes to a peer
// goes over its PacketRoute: over a channel, or in datagrams.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "collective/algorithm.h"
#include "collective/packets.h"
#include "engine/packets/route.h"
#include "transport/loop.h"

namespace ringtrue::engine {

class RankEndpoint;

// Bytes that a rank needs for the headers of its packets, beside its data and scratch; 0 for an algorithm
// without packets. They lie where the rank's channels can reach them.
std::uint64_t packet_room(const collective::Algorithm& algorithm, const collective::Layout& layout, Rank rank,
                          const collective::Call& call);

// What came to this rank in packets since the last reset, by peer.
struct PacketsReceived {
  Rank peer = 0;
  std::uint64_t packets = 0, bytes = 0;  // of payload
  std::int64_t span_ns = 0;  // from the first header to the end of the last packet, over all calls
};

class PacketEndpoint final : public collective::Packets, public PacketReceiver {
 public:
  struct Setup {
    const collective::Call* call = nullptr;  // outlives the endpoint
    std::byte* room = nullptr;               // packet_room() bytes
    std::uint64_t room_bytes = 0;
    // "aggregator 1 on node9 (rank 9)", and its node's name.
    std::function<std::string(Rank)> describe, node;
  };
  PacketEndpoint(RankEndpoint& self, transport::Loop& loop, Setup setup);

  // Before the run: memory for one peer's headers to arrive in (max_enveloped() bytes of the room), and the
  // route. At most one route a peer.
  std::span<std::byte> take_buffer();
  void add_route(std::unique_ptr<PacketRoute> route);

  // From now on told of every slice of the rank's that a packet is to be written to.
  void note_written(std::function<void(const collective::Slice&)> note) { note_written_ = std::move(note); }

  // Before each call: what is not zero in it, nullptr for ranks without data.
  void begin_call(collective::NonZeroBlocks* non_zero);
  // The program is gone, with its handler.
  void abandon() { handler_ = nullptr; }
  void reset_counters();  // the timed part begins
  bool aggregates() const;
  const std::vector<PacketsReceived>& received() const { return received_; }
  // What went to `peer` in datagrams; null where it has a channel, or no route at all.
  const transport::Traffic* sent_to(Rank peer) const;

  // Packets
  bool reliable() const override { return reliable_; }
  void handle(collective::PacketHandler* handler) override;
  collective::Token send_packet(std::span<const Rank> to, std::span<const std::byte> header,
                                std::span<const collective::Slice> parts) override;
  void neutral(collective::Slice into) override;
  void conclude(collective::Slice into, Rank missing) override;
  void collect(collective::Slice into, std::span<const std::uint64_t> elements) override;
  void distribute(std::span<const std::uint64_t> elements, collective::Slice from) override;
  void combine(collective::Slice into, std::span<const std::uint32_t> places,
               collective::Slice from) override;
  collective::NonZeroBlocks& non_zero() override { return *non_zero_; }
  Seconds now() const override;
  collective::Token timer(Seconds from_now) override;
  void cancel(collective::Token timer) override;
  collective::Token idle() override;
  collective::PacketCounts& counts() override { return counts_; }
  void give_up(Rank peer, std::string what) override;

  // PacketReceiver
  bool listening() const override { return handler_ != nullptr; }
  std::uint32_t call() const override { return calls_; }
  std::byte* address(const collective::Slice& slice) const override;
  void expect(std::uint32_t id, std::uint32_t messages) override { packets_[id].left += messages; }
  void sent(std::uint32_t id) override;
  Placed place(Rank from, std::span<const std::byte> header,
               std::vector<collective::PacketPart>& parts) override;
  void arrived(Rank from, std::span<const std::byte> header) override;
  Rank waiting_for() const override { return handler_ ? handler_->waiting_for() : -1; }
  void failed(Error error) override;
  std::string describe(Rank rank) const override { return setup_.describe(rank); }

 private:
  // A packet on its way out.
  struct Packet {
    std::uint64_t token = 0;
    std::uint32_t left = 0;  // messages not sent yet, and one while it is being posted
    std::byte* buffer = nullptr;
    std::vector<std::span<const std::byte>> parts;
    std::vector<Rank> to;  // only while it waits for a buffer
  };
  void post(std::uint32_t id, std::span<const Rank> to, std::span<const std::byte> header);
  PacketRoute& route(Rank peer);

  RankEndpoint& self_;
  transport::Loop& loop_;
  Setup setup_;
  bool reliable_ = true;
  std::vector<std::unique_ptr<PacketRoute>> routes_;  // by peer, null where there is none
  std::vector<PacketsReceived> received_;             // by peer
  std::vector<std::int64_t> first_, last_;            // of this call, by peer

  std::uint64_t buffer_bytes_;
  std::vector<std::byte*> buffers_;  // free ones
  std::uint64_t taken_ = 0;          // bytes of the room
  std::vector<Packet> packets_;
  std::vector<std::uint32_t> free_;
  struct Waiting {
    std::uint32_t id;
    std::vector<std::byte> header;
  };
  std::deque<Waiting> waiting_;  // for a buffer

  collective::PacketHandler* handler_ = nullptr;
  std::uint32_t calls_ = 0;  // how often a program began to handle packets
  std::unordered_map<std::uint64_t, transport::Loop::TimerId> timers_;
  std::function<void(const collective::Slice&)> note_written_;
  collective::NonZeroBlocks* non_zero_ = nullptr;
  collective::PacketCounts counts_;
};

}  // namespace ringtrue::engine
