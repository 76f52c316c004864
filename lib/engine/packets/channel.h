// Packets to and from one peer over a channel: one message with the header, then one a part. Behind the
// header stands an envelope that tells the parts' lengths, so that the receiver can take what it drops off
// the channel and finds out when the two ends disagree:
//
//   header | length u32 for each part | parts u16      (little endian)
//
// The route is the owner of its channel. It works off what comes as it comes, without a coroutine in between.
#pragma once

#include "engine/packets/route.h"
#include "run/trace.h"

namespace ringtrue::engine {

// Bytes of the longest header of the call's packets with its envelope.
std::size_t max_enveloped(const collective::Call& call);

// Writes the envelope behind the `header` bytes that stand in `buffer`; the number of bytes then. `buffer`
// has room for max_enveloped() bytes.
std::size_t put_envelope(std::byte* buffer, std::size_t header,
                         std::span<const std::span<const std::byte>> parts);

class ChannelRoute final : public PacketRoute, public transport::Owner {
 public:
  // `buffer`: max_enveloped() bytes that the channel can receive into. `clock`: of the trace and of events.
  ChannelRoute(Rank peer, PacketReceiver& rank, transport::Owner& clock, std::span<std::byte> buffer)
      : peer_(peer), rank_(rank), clock_(clock), buffer_(buffer) {}
  // The channel that was made with this route as its owner.
  void attach(transport::Channel* channel) { channel_ = channel; }

  Rank peer() const override { return peer_; }
  bool reliable() const override { return true; }
  void send(const PacketToSend& packet) override;
  void listen() override;

  void post_done(std::uint64_t token) override;
  // What breaks while no packets are due harms nobody.
  void failed(Error error) override;
  std::int64_t now() const override { return clock_.now(); }
  void record(const run::Event& event) override { clock_.record(event); }
  bool wants_events() const override { return clock_.wants_events(); }

 private:
  enum class Stage : std::uint8_t { quiet, header, parts };
  void work();  // off what is here, until something must come
  void post_header();
  bool open_packet();  // its header is here; false: the run is over
  transport::Destination destination(const std::byte* lengths, std::size_t part) const;

  Rank peer_;
  PacketReceiver& rank_;
  transport::Owner& clock_;
  std::span<std::byte> buffer_;
  transport::Channel* channel_ = nullptr;

  Stage stage_ = Stage::quiet;
  std::size_t left_ = 0;  // receives of this stage that are not done
  bool working_ = false;
  Placed placed_ = Placed::accepted;
  std::uint64_t came_ = 0;  // bytes of header and envelope
  std::size_t header_bytes_ = 0;
  std::vector<collective::PacketPart> parts_;
  std::optional<Error> broke_;
};

}  // namespace ringtrue::engine
