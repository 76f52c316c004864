#include "transport/udp/transport.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace ringtrue::transport::udp {

namespace {

constexpr std::uint64_t rejected_logged = 10;
constexpr std::size_t max_early = 256;  // datagrams a hop

}  // namespace

Transport::Transport(Socket socket, const std::string& secret, Loop& loop)
    : socket_(std::move(socket)), secret_(secret), tagger_(secret), earlier_(secret), loop_(loop) {}

Result<std::unique_ptr<Transport>> Transport::make(const Setup& setup, Loop& loop) {
  auto socket = Socket::open(setup.address, setup.port);
  if (!socket) return tl::unexpected(socket.error());
  std::unique_ptr<Transport> transport(new Transport(std::move(*socket), setup.secret, loop));
  if (const auto watched = loop.watch(transport->socket_.fd(), 0, transport.get()); !watched)
    return tl::unexpected(watched.error());
  return transport;
}

Transport::~Transport() {
  end_run();
  loop_.forget(socket_.fd(), this);
}

void Transport::begin_run(std::vector<collective::Fault> faults, std::uint64_t max_packet,
                          std::uint64_t run) {
  end_run();
  if (run != run_) {
    earlier_ = std::exchange(tagger_, Tagger(secret_, run));
    run_ = run;
  }
  faults_ = std::move(faults);
  max_packet_ = max_packet;
  // One byte more than the longest shows what is too long; whole cache lines.
  stride_ = (max_packet_ + framing_bytes + 64) / 64 * 64;
  arrivals_.resize(batch * stride_);
}

Result<void> Transport::begin_reach(const std::map<Ends, PeerAddress>& peers, std::uint64_t max_packet,
                                    std::uint64_t run) {
  begin_run({}, max_packet, run);
  trials_ = std::make_unique<Trials>(socket_, tagger_, loop_, max_packet);
  for (const auto& [ends, peer] : peers) {
    const auto address = way_to(peer);
    if (!address) return trials_.reset(), tl::unexpected(address.error());
    trials_->add(ends, peer, *address);
  }
  reading_ = true;
  update_interest();
  trials_->begin();
  return {};
}

std::vector<run::Reach> Transport::end_reach() {
  if (!trials_) return {};
  auto seen = trials_->seen();
  end_run();
  return seen;
}

void Transport::end_run() {
  trials_.reset();
  if (flush_soon_) loop_.cancel(*flush_soon_);
  flush_soon_.reset();
  if (pause_) loop_.cancel(*pause_);
  pause_.reset();
  for (const Loop::TimerId& timer : script_timers_) loop_.cancel(timer);
  script_timers_.clear();
  outgoing_.clear();
  hops_.clear();
  peers_.clear();
  receivers_.clear();
  blocked_ = reading_ = false;
  update_interest();
}

Result<SocketAddress> Transport::way_to(const PeerAddress& where) const {
  auto address = socket_.resolve(where.host, where.port);
  if (!address) {
    address.error().where = where.node;
    return address;
  }
  const auto mtu = socket_.path_mtu(*address);
  if (!mtu)
    return fail(Cause::unreachable, fmt::format("no way to {} at {}", where.node, to_text(*address)),
                where.node, "is the data network between the nodes up? see --data-interface");
  const std::uint64_t needed = max_packet_ + framing_bytes + (address->ipv4() ? ipv4_bytes : ipv6_bytes);
  if (needed > std::uint64_t(*mtu))
    return fail(Cause::bad_input,
                fmt::format("packets of {} bytes do not fit the path to {}, which takes {}", needed,
                            where.node, *mtu),
                where.node, fmt::format("use --mtu {} and a smaller --block", *mtu));
  return address;
}

Result<void> Transport::open(const Player& player, Rank peer, const PeerAddress& where) {
  if (!peers_.contains(peer)) {
    const auto address = way_to(where);
    if (!address) return tl::unexpected(address.error());
    peers_[peer] = {where, *address};
  }
  Hop& hop = hops_[{player.rank, peer}];
  hop.player = player;
  hop.peer = peer;
  hop.to = &peers_[peer];
  hop.script = {faults_, player.rank, peer};
  if (std::find(receivers_.begin(), receivers_.end(), player.receiver) == receivers_.end())
    receivers_.push_back(player.receiver);
  return {};
}

void Transport::fail_run(Error error) {
  if (!receivers_.empty()) receivers_.front()->failed(std::move(error));
}

// ---- receiving ----

void Transport::listen(Rank self, Rank peer) {
  Hop& hop = this->hop(self, peer);
  settle(hop);
  reading_ = true;
  update_interest();
  for (auto early = std::exchange(hop.early, {}); !early.empty(); early.pop_front())
    take_known(hop, *decode(early.front()), early.front());
}

bool Transport::anyone_listens() const {
  return std::any_of(receivers_.begin(), receivers_.end(), [](const auto* r) { return r->listening(); });
}

void Transport::ready(std::uint32_t events) {
  if (trials_) return trials_->take_arrivals();
  if (events & EPOLLERR) {
    take_network_errors();
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket_.fd(), SOL_SOCKET, SO_ERROR, &error, &size);  // reading it clears it
  }
  if (events & EPOLLOUT) blocked_ = blocked_ && pause_;
  if (events & EPOLLIN) {
    if (anyone_listens()) {
      taking_ = true;
      read();
      taking_ = false;
    } else {
      reading_ = false;
    }
  }
  flush();
}

void Transport::read() {
  mmsghdr messages[batch];
  SocketAddress from[batch];
  iovec into[batch];
  // A bounded number of datagrams, so that other work does not starve.
  for (int round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < batch; ++i) {
      into[i] = {arrivals_.data() + i * stride_, stride_};
      messages[i] = {};
      messages[i].msg_hdr.msg_name = &from[i].storage;
      messages[i].msg_hdr.msg_namelen = sizeof from[i].storage;
      messages[i].msg_hdr.msg_iov = &into[i];
      messages[i].msg_hdr.msg_iovlen = 1;
    }
    const int n = ::recvmmsg(socket_.fd(), messages, batch, MSG_DONTWAIT, nullptr);
    if (n < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      take_network_errors();  // otherwise it is what the network has said, once
      continue;
    }
    for (int i = 0; i < n; ++i) {
      from[i].size = messages[i].msg_hdr.msg_namelen;
      if (messages[i].msg_hdr.msg_flags & MSG_TRUNC) {
        reject(from[i]);
        continue;
      }
      take({arrivals_.data() + std::size_t(i) * stride_, messages[i].msg_len}, from[i]);
    }
    if (std::size_t(n) < batch) return;
  }
}

void Transport::take(std::span<const std::byte> datagram, const SocketAddress& from) {
  const auto head = decode(datagram);
  const auto at = head ? hops_.find({head->to, head->from}) : hops_.end();
  if (at == hops_.end()) return reject(from);
  if (!tagger_.proves(datagram)) {
    if (!earlier_.proves(datagram)) return reject(from);
    ++late_;
    return;
  }
  take_known(at->second, *head, datagram);
}

void Transport::take_known(Hop& hop, const Head& head, std::span<const std::byte> datagram) {
  const collective::PacketReceiver& receiver = *hop.player.receiver;
  if (head.epoch == receiver.call() && receiver.listening()) return deliver(hop, head, datagram);
  // The peer may have begun the next call already.
  if (head.epoch == receiver.call() + 1 && hop.early.size() < max_early) {
    hop.early.emplace_back(datagram.begin(), datagram.end());
  } else {
    ++late_;
  }
}

void Transport::deliver(Hop& hop, const Head& head, std::span<const std::byte> datagram) {
  const auto header = datagram.subspan(head_bytes, head.header);
  const std::byte* payload = datagram.data() + head_bytes + head.header;
  hop.last = now_ns();
  if (hop.unanswered > 0 && --hop.unanswered == 0) settle(hop);

  parts_.clear();
  collective::PacketReceiver& receiver = *hop.player.receiver;
  if (receiver.place(hop.peer, header, parts_) != collective::Placed::accepted) return;
  std::uint64_t due = 0;
  for (const collective::PacketPart& part : parts_) due += part.into.length;
  if (due != head.payload)
    return receiver.failed(
        Error{Cause::corrupted,
              fmt::format("a broken packet from rank {} on {} to rank {}: {} bytes where "
                          "{} were due",
                          hop.peer, hop.to->where.node, hop.player.rank, head.payload, due),
              hop.to->where.node,
              {}});
  for (const collective::PacketPart& part : parts_) {
    std::byte* const into = receiver.address(part.into);
    if (part.reduce)
      hop.player.reducer->reduce(into, into, payload, part.into.length, Arrival::reduce);
    else
      std::memcpy(into, payload, part.into.length);
    payload += part.into.length;
  }
  if (Owner* const clock = hop.player.clock; clock && clock->wants_events()) {
    const std::int64_t now = clock->now();  // nobody posts receives of packets
    clock->record({hop.peer, hop.player.rank, collective::packet_lane, head.sequence,
                   std::uint64_t(head.header) + head.payload, now, now, now});
  }
  receiver.arrived(hop.peer, header);
}

void Transport::reject(const SocketAddress& from) {
  const bool known = std::any_of(peers_.begin(), peers_.end(),
                                 [&](const auto& peer) { return peer.second.address == from; });
  if (known) {
    // A script is no news to who wrote it.
    if (corrupted_++ == 0 && faults_.empty())
      log_warn("dropped a datagram from {}: its bytes were changed on the way; further ones are only counted",
               to_text(from));
    return;
  }
  if (++rejected_ <= rejected_logged)
    log_warn("dropped a datagram from {}: it does not belong to the run{}", to_text(from),
             rejected_ == rejected_logged ? "; further ones are only counted" : "");
}

// ---- counting, and the rest ----

void Transport::settle(Hop& hop) {
  if (hop.busy_since != 0) hop.sent.busy_ns += hop.last - hop.busy_since;
  hop.busy_since = 0;
  hop.unanswered = 0;
}

const Traffic& Transport::sent(Rank self, Rank peer) {
  Hop& hop = this->hop(self, peer);
  settle(hop);
  return hop.sent;
}

void Transport::reset_counters(Rank self, Rank peer) {
  Hop& hop = this->hop(self, peer);
  settle(hop);
  hop.sent = {};
}

void Transport::update_interest() {
  const std::uint32_t wanted = (reading_ ? EPOLLIN : 0u) | (blocked_ && !pause_ ? EPOLLOUT : 0u);
  if (wanted == interest_) return;
  interest_ = wanted;
  loop_.change(socket_.fd(), wanted, this);
}

}  // namespace ringtrue::transport::udp
