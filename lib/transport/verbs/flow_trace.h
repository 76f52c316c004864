// Which routers RoCE packets pass between two ports. Their source port follows from the flow label that the
// queue pair was given, so that a datagram from the same port to the same one meets the routers that they do
// wherever those hash addresses, protocol and ports.
//
// Such a datagram never arrives: an adapter says nothing of one, and it is not ours to take. So first others,
// to a port at which nobody listens, tell how many hops it is to the node; then those of the flow's own ports
// live for fewer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/fd.h"
#include "transport/address.h"
#include "transport/loop.h"
#include "transport/way_trace.h"

namespace ringtrue::transport::verbs {

using RawGid = std::array<std::byte, 16>;

// Of packets from one RoCE port to another, 1 to 0x3fff: the same in all runs.
std::uint32_t flow_label(const RawGid& from, const RawGid& to);
// UDP's, which adapters that keep to the label's own rule take (rdma_flow_label_to_udp_sport of Linux,
// ibv_flow_label_to_udp_sport of libibverbs): the label's low 14 bits, folded with its high ones, from 49152.
std::uint16_t source_port(std::uint32_t flow_label);

// What one queue pair sends.
struct Flow {
  RawGid from{}, to{};           // RoCE v2
  std::uint32_t queue_pair = 0;  // theirs
};

class FlowTrace final : public WayTrace {
 public:
  // `roce_port` and `closed_port` of the far end: others than usual for tests.
  FlowTrace(Loop& loop, const Flow& flow, int roce_port = 4791, int closed_port = 33434);
  ~FlowTrace() override;

  void begin() override;
  void ready(std::uint32_t epoll_events) override;

 private:
  bool open(int from_port, int to_port);
  void attempt();
  void silent();
  void next_hop();
  void measure_flow();
  void end(bool known);

  Loop& loop_;
  Flow flow_;
  int roce_port_, closed_port_;
  OwnedFd fd_;
  bool of_flow_ = false;  // the datagrams are the flow's own
  int hops_ = 1;          // that a datagram may live for
  int distance_ = 0;      // hops to the far end
  int silent_hops_ = 0;   // in a row
  int tries_ = 0;
  std::string last_;  // to tell a late answer
  Loop::TimerId timer_;
};

}  // namespace ringtrue::transport::verbs
