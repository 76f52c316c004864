// The sending half of the transport: packets become datagrams, scripts spoil them, the socket takes them.
#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transport/udp/transport.h"

namespace ringtrue::transport::udp {

namespace {

// The kernel's own queue is full, and nothing tells when it is not any more.
constexpr std::int64_t pause_ns = 500'000;
// A datagram that a script holds back goes after so long in any case: further ones may never come.
constexpr std::int64_t held_ns = 2'000'000;

}  // namespace

Transport::Outgoing Transport::fresh() {
  if (spare_.empty()) return {};
  Outgoing message = std::move(spare_.back());
  spare_.pop_back();
  message.owner = nullptr;
  message.clock = nullptr;
  return message;
}

void Transport::send(Rank self, Rank peer, std::uint32_t id, std::span<const std::byte> header,
                     std::span<const std::span<const std::byte>> parts) {
  Hop& hop = this->hop(self, peer);
  hop.player.receiver->expect(id, 1);
  std::size_t payload = 0;
  for (const auto part : parts) payload += part.size();
  assert(header.size() + payload <= max_packet_ && "a packet longer than the run was begun for");
  const Head head{hop.player.receiver->call(), self, peer, hop.next_sequence++, std::uint16_t(header.size()),
                  std::uint16_t(payload)};

  hop.last = now_ns();
  if (hop.busy_since == 0) hop.busy_since = hop.last;
  ++hop.unanswered;
  ++hop.sent.messages;
  hop.sent.bytes += header.size() + payload;

  Outgoing message = fresh();
  message.to = hop.to;
  message.owner = hop.player.receiver;
  message.id = id;
  const auto start = encode(head);
  std::vector<std::byte>& datagram = message.datagram;
  datagram.assign(start.begin(), start.end());
  datagram.insert(datagram.end(), header.begin(), header.end());
  for (const auto part : parts) datagram.insert(datagram.end(), part.begin(), part.end());
  const Tag tag = tagger_.tag(datagram);
  datagram.insert(datagram.end(), tag.begin(), tag.end());
  if (hop.player.clock && hop.player.clock->wants_events()) {
    message.clock = hop.player.clock;
    const std::int64_t now = message.clock->now();
    message.event = {self, peer, collective::packet_lane, head.sequence, header.size() + payload, now,
                     now,  now};
  }
  if (hop.script.empty()) return queue(std::move(message));

  if (message.clock) message.clock->record(message.event);
  queue_scripted(hop, std::move(datagram), header.size() + payload, head.sequence);
  hop.player.receiver->sent(id);
}

void Transport::queue_scripted(Hop& hop, std::vector<std::byte> datagram, std::uint64_t bytes,
                               std::uint32_t sequence) {
  const std::int64_t now = now_ns();
  const faulty::Fate fate = hop.script.next(bytes, now);
  if (fate.breaks)
    return hop.player.receiver->failed(connection_lost(
        {hop.player.rank, hop.peer, collective::packet_lane, hop.to->where.node}, "the connection was cut"));
  // Held ones count this one, too, whatever becomes of it.
  std::vector<std::uint32_t> released;
  for (Held& held : hop.held)
    if (--held.left == 0) released.push_back(held.sequence);
  const bool goes = !fate.silent && !fate.vanishes && !fate.lost;
  if (goes) {
    const std::size_t header =
        std::to_integer<std::size_t>(datagram[20]) | std::to_integer<std::size_t>(datagram[21]) << 8;
    if (fate.broken_frame) datagram[9] ^= std::byte{0x40};
    if (fate.broken_value) datagram[std::min(head_bytes + header, datagram.size() - 1)] ^= std::byte{0x41};
    if (fate.broken) {
      const std::uint64_t bit = fate.broken_bit % (8 * datagram.size());
      datagram[bit / 8] ^= std::byte(1 << bit % 8);
    }
    if (fate.doubled) queue_copy(hop, datagram);
    if (fate.late > 0) {
      hop.held.push_back({sequence, fate.late, std::move(datagram)});
      later(std::max(now, fate.not_before) + held_ns,
            [this, &hop, sequence] { release_held(hop, sequence); });
    } else if (fate.not_before > 0) {
      later(fate.not_before, [this, &hop, datagram = std::move(datagram)] { queue_copy(hop, datagram); });
    } else {
      queue_copy(hop, std::move(datagram));
    }
  }
  for (const std::uint32_t s : released) release_held(hop, s);
}

// Hops stay where they are until end_run(), which cancels all of these.
void Transport::later(std::int64_t when, std::function<void()> action) {
  const auto id = std::make_shared<Loop::TimerId>();
  *id = loop_.at(when, [this, id, action = std::move(action)] {
    script_timers_.erase(*id);
    action();
  });
  script_timers_.insert(*id);
}

void Transport::release_held(Hop& hop, std::uint32_t sequence) {
  const auto at = std::find_if(hop.held.begin(), hop.held.end(),
                               [&](const Held& held) { return held.sequence == sequence; });
  if (at == hop.held.end()) return;
  std::vector<std::byte> datagram = std::move(at->datagram);
  hop.held.erase(at);
  queue_copy(hop, std::move(datagram));
}

void Transport::queue_copy(const Hop& hop, std::vector<std::byte> datagram) {
  Outgoing message = fresh();
  message.to = hop.to;
  message.datagram = std::move(datagram);
  queue(std::move(message));
}

// What comes in quick succession leaves in one system call: the copies of a multicast, and all that a batch
// of arrivals brings about.
void Transport::queue(Outgoing message) {
  outgoing_.push_back(std::move(message));
  if (blocked_ || taking_ || flushing_) return;
  if (outgoing_.size() >= batch) return flush();
  if (!flush_soon_)
    flush_soon_ = loop_.at(0, [this] {
      flush_soon_.reset();
      flush();
    });
}

void Transport::finish_front() {
  Outgoing message = std::move(outgoing_.front());
  outgoing_.pop_front();
  if (message.clock) {
    message.event.moved = message.event.done = message.clock->now();
    message.clock->record(message.event);
  }
  if (message.owner) message.owner->sent(message.id);
  if (spare_.size() < 1024) spare_.push_back(std::move(message));
}

void Transport::flush() {
  if (std::exchange(flushing_, true)) return;
  while (!outgoing_.empty() && !blocked_) {
    mmsghdr messages[batch];
    iovec slices[batch];
    const std::size_t count = std::min(batch, outgoing_.size());
    for (std::size_t i = 0; i < count; ++i) {
      Outgoing& m = outgoing_[i];
      slices[i] = {m.datagram.data(), m.datagram.size()};
      messages[i] = {};
      msghdr& to = messages[i].msg_hdr;
      to.msg_name = const_cast<sockaddr_storage*>(&m.to->address.storage);
      to.msg_namelen = m.to->address.size;
      to.msg_iov = &slices[i];
      to.msg_iovlen = 1;
    }
    const int n = ::sendmmsg(socket_.fd(), messages, unsigned(count), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) {
      if (stopped(errno)) break;
      continue;
    }
    for (int i = 0; i < n; ++i) finish_front();
  }
  flushing_ = false;
  update_interest();
}

// True: no more for now.
bool Transport::stopped(int error) {
  const Peer& to = *outgoing_.front().to;
  switch (error) {
    case EINTR:
      return false;
    case EAGAIN:
      return blocked_ = true;
    case ENOBUFS:
      blocked_ = true;
      pause_ = loop_.at(now_ns() + pause_ns, [this] {
        pause_.reset();
        blocked_ = false;
        flush();
      });
      return true;
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN: {
      // Said of this datagram, or of an earlier one to anybody; then this one can go now. What cannot is
      // lost, and the collective asks again.
      if (!take_network_errors()) finish_front();
      return false;
    }
    case EMSGSIZE: {
      const auto mtu = socket_.path_mtu(to.address);
      fail_run(Error{Cause::bad_input,
                     fmt::format("packets of up to {} bytes do not fit the path to {}, which takes {}",
                                 max_packet_ + framing_bytes + (to.address.ipv4() ? ipv4_bytes : ipv6_bytes),
                                 to.where.node, mtu ? fmt::format("{}", *mtu) : "less"),
                     to.where.node, "use the path's --mtu, and a smaller --block"});
      break;
    }
    default:
      fail_run(Error{Cause::unreachable,
                     fmt::format("cannot send to {} at {}: {}", to.where.node, to_text(to.address),
                                 std::strerror(error)),
                     to.where.node, "is the data network between the nodes up? see --data-interface"});
  }
  outgoing_.clear();
  return true;
}

// What the network says of datagrams sent earlier. False: nothing.
bool Transport::take_network_errors() {
  bool any = false;
  while (const auto error = socket_.next_error()) {
    any = true;
    if (error->error != ECONNREFUSED || !anyone_listens()) continue;
    for (const auto& [pair, hop] : hops_) {
      if (hop.to->address != error->peer || !hop.player.receiver->listening()) continue;
      hop.player.receiver->failed(Error{Cause::peer_lost,
                                        fmt::format("rank {} on {} is gone: nothing receives on {} any more",
                                                    hop.peer, hop.to->where.node, to_text(hop.to->address)),
                                        hop.to->where.node, "see the log of ringtrued there"});
      break;
    }
  }
  return any;
}

}  // namespace ringtrue::transport::udp
