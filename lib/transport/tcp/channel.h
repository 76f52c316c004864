// One end of a TCP connection between two ranks on one lane, for one run.
#pragma once

#include <netinet/in.h>

#include <deque>
#include <vector>

#include "transport/loop.h"
#include "transport/tcp/frame.h"
#include "transport/transport.h"

namespace ringtrue::transport::tcp {

class Channel final : public transport::Channel, public Watcher {
 public:
  // `fd`: connected, proven, non-blocking; stays the caller's. `staging`: scratch memory of the loop's
  // thread, of at least staging_bytes, used only inside calls. `ahead`: how many bytes are read beyond the
  // message in hand; many where many small messages come.
  Channel(int fd, Loop& loop, std::byte* staging, Hop hop, Owner& owner, const Reducer& reducer,
          faulty::Script script, std::size_t ahead = 4096);
  ~Channel() override;

  static constexpr std::size_t staging_bytes = 256 * 1024;

  void send(std::uint64_t token, const std::byte* from, std::uint64_t length, bool more = false) override;
  void receive(std::uint64_t token, const Destination& destination) override;
  void reset_counters() override;
  HopStatistics statistics() const override;

  void ready(std::uint32_t epoll_events) override;

 private:
  struct Outgoing {
    std::uint64_t token = 0;
    const std::byte* from = nullptr;
    std::uint64_t length = 0;
    std::array<std::byte, frame_bytes> header{};
    std::uint64_t written = 0;  // header and payload
    std::uint32_t sequence = 0;
    std::int64_t posted = 0, moved = 0;
    std::vector<std::byte> broken;  // stands in for the payload when a script breaks it
  };
  struct Incoming {
    std::uint64_t token = 0;
    Destination destination;
    std::int64_t posted = 0;
  };

  void enqueue(Outgoing message, bool more);
  void flush();
  void pump();
  bool fill_spill();
  bool start_message();
  void arrive(const std::byte* bytes, std::uint64_t count);
  void finish_message();
  bool read_payload();
  void acknowledge();
  void lost(const std::string& why) { owner_.failed(connection_lost(hop_, why)); }
  void corrupted(const std::string& what, std::string next = {});
  void update_interest();

  int fd_;
  Loop& loop_;
  std::byte* staging_;

  std::deque<Outgoing> outgoing_;
  std::uint32_t next_sequence_ = 0;
  std::int64_t busy_since_ = 0;
  std::size_t delayed_ = 0;  // messages that the script holds back

  std::deque<Incoming> incoming_;
  std::uint32_t expected_sequence_ = 0;
  bool in_message_ = false;
  Frame frame_;
  std::uint64_t arrived_ = 0;  // bytes of the message's payload
  std::int64_t message_began_ = 0;
  std::byte carry_[8];  // the beginning of an element whose end has not arrived
  std::size_t carried_ = 0;
  std::vector<std::byte> spill_;  // what was read beyond the message in hand
  std::size_t spill_begin_ = 0, spill_end_ = 0;
  static constexpr std::uint64_t acknowledged_from = 64 * 1024;  // bytes: shorter ones are worth no call
  std::uint64_t unacknowledged_ = 0;

  bool closed_ = false;  // the peer will not send any more
  bool pumping_ = false;
  bool drained_ = false;  // the last read took all that was there
  bool flushing_ = false;
  bool flush_waits_ = false;  // for room in the socket
  bool unwelcome_ = false;    // bytes are there that no receive was posted for
  std::uint32_t interest_ = 0;
  struct Kernel {
    std::uint64_t busy = 0, rwnd = 0, sndbuf = 0, retransmits = 0;
  } at_reset_;
};

}  // namespace ringtrue::transport::tcp
