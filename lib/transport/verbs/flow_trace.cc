#include "transport/verbs/flow_trace.h"

#include <netinet/in.h>

#include <cerrno>
#include <cstring>

#include "transport/verbs/library.h"

namespace ringtrue::transport::verbs {

namespace {

constexpr int max_silent_hops = 2;  // beyond them nobody will say anything

SocketAddress address_of(const IpBytes& gid, int port) {
  SocketAddress out;
  auto& in6 = reinterpret_cast<sockaddr_in6&>(out.storage);
  in6.sin6_family = AF_INET6;
  in6.sin6_port = htons(std::uint16_t(port));
  std::memcpy(&in6.sin6_addr, gid.data(), gid.size());
  out.size = sizeof in6;
  return plain(out);
}

// A base transport header and the place of its checksum, for routers that hash the queue pair as well:
// "write only" to that number, of the default partition.
std::array<std::uint8_t, 16> packet_to(std::uint32_t queue_pair) {
  std::array<std::uint8_t, 16> out{0x0a, 0, 0xff, 0xff};
  for (std::size_t i = 0; i < 3; ++i) out[5 + i] = std::uint8_t(queue_pair >> (16 - 8 * i));
  return out;
}

}  // namespace

// FNV-1a, folded to 14 bits; 0 would leave the port to the adapter.
std::uint32_t flow_label(const IpBytes& from, const IpBytes& to) {
  std::uint32_t hash = 2166136261;
  for (const IpBytes* gid : {&from, &to})
    for (const std::byte b : *gid) hash = (hash ^ std::to_integer<std::uint32_t>(b)) * 16777619;
  return (hash ^ hash >> 14) % 0x3fff + 1;
}

FlowTrace::FlowTrace(Loop& loop, const Flow& flow, int roce_port, int closed_port)
    : loop_(loop), flow_(flow), roce_port_(roce_port), closed_port_(closed_port) {}

FlowTrace::~FlowTrace() {
  end(false);
}

void FlowTrace::begin() {
  if (!open(0, closed_port_)) return end(false);
  attempt();
}

bool FlowTrace::open(int from_port, int to_port) {
  if (fd_) loop_.forget(fd_.get(), this);
  const SocketAddress from = address_of(flow_.from, from_port), to = address_of(flow_.to, to_port);
  fd_ = OwnedFd(::socket(from.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd_) return false;
  set_option(fd_.get(), SOL_SOCKET, SO_REUSEADDR, 1);  // flows to several peers may have one port
  tell_packet_errors(fd_.get(), from.ipv4(), true);
  return ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&from.storage), from.size) == 0 &&
         ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.size) == 0 &&
         loop_.watch(fd_.get(), 0, this);
}

void FlowTrace::attempt() {
  set_time_to_live(fd_.get(), is_ipv4(flow_.from), hops_);
  const auto packet = packet_to(flow_.queue_pair);
  // What was said of an earlier one is this call's error, once.
  for (int i = 0; i < 2 && ::send(fd_.get(), packet.data(), packet.size(), 0) < 0; ++i)
    if (errno == EPERM || errno == EINVAL) return end(false);
  timer_ = loop_.at(now_ns() + hop_patience_ns, [this] { silent(); });
}

void FlowTrace::silent() {
  if (over_) return;
  if (++tries_ < max_tries_per_hop) return attempt();
  if (of_flow() || ++silent_hops_ > max_silent_hops) return end(false);
  next_hop();
}

void FlowTrace::next_hop() {
  tries_ = 0;
  ++hops_;
  if (of_flow() && hops_ == distance_) return end(true);
  if (hops_ > max_hops) return end(false);
  attempt();
}

void FlowTrace::measure_flow() {
  distance_ = hops_;
  if (distance_ == 1) return end(true);
  hops_ = 1;
  tries_ = 0;
  last_.clear();
  if (!open(source_port(flow_label(flow_.from, flow_.to)), roce_port_)) return end(false);
  attempt();
}

void FlowTrace::ready(std::uint32_t) {
  while (!over_ && fd_) {
    const auto error = next_packet_error(fd_.get());
    if (!error) return;
    if (error->from.empty() || error->from == last_) continue;
    loop_.cancel(timer_);
    if (error->kind == PacketError::Kind::port_unreachable) return of_flow() ? end(true) : measure_flow();
    if (error->kind != PacketError::Kind::expired) return end(false);
    last_ = error->from;
    silent_hops_ = 0;
    if (of_flow()) way_.routers.push_back(error->from);
    next_hop();
  }
}

void FlowTrace::end(bool known) {
  if (over_) return;
  over_ = true;
  way_.known = known;
  loop_.cancel(timer_);
  if (fd_) loop_.forget(fd_.get(), this);
  fd_ = OwnedFd();
}

}  // namespace ringtrue::transport::verbs
