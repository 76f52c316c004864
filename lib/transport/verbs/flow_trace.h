// Which routers RoCE packets pass between two ports. Their source port follows from the flow label that the
// queue pair was given, so that a datagram from the same port to the same one meets the routers that they do
// wherever those hash addresses, protocol and ports.
//
// Such a datagram never arrives: an adapter says nothing of one, and it is not ours to take. So first others,
// to a port at which nobody listens, tell how many hops it is to the node; then those of the flow's own ports
// live for fewer.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/ip.h"
#include "transport/address.h"
#include "transport/loop.h"
#include "transport/way_trace.h"

namespace ringtrue::transport::verbs {

// Of packets from one RoCE port to another, 1 to 0x3fff: the same in all runs.
std::uint32_t flow_label(const IpBytes& from, const IpBytes& to);

// What one queue pair sends.
struct Flow {
  IpBytes from{}, to{};          // RoCE v2
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
  bool of_flow() const { return distance_ > 0; }  // the datagrams are the flow's own
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
  int hops_ = 1;         // that a datagram may live for
  int distance_ = 0;     // hops to the far end; 0: not known yet
  int silent_hops_ = 0;  // in a row
  int tries_ = 0;
  std::string last_;  // to tell a late answer
  Loop::TimerId timer_;
};

}  // namespace ringtrue::transport::verbs
