#include "transport/tcp/channel.h"

#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ringtrue::transport::tcp {

Channel::Channel(int fd, Loop& loop, std::byte* staging, Hop hop, Owner& owner, const Reducer& reducer,
                 faulty::Script script, std::size_t ahead)
    : transport::Channel(std::move(hop), owner, reducer, std::move(script)),
      fd_(fd),
      loop_(loop),
      staging_(staging),
      spill_(ahead) {
  if (const auto watched = loop_.watch(fd_, 0, this); !watched) owner_.failed(watched.error());
}

Channel::~Channel() {
  loop_.forget(fd_, this);
}

// ---- sending ----

void Channel::send(std::uint64_t token, const std::byte* from, std::uint64_t length, bool more) {
  Outgoing message;
  message.token = token;
  message.from = from;
  message.length = length;
  message.sequence = next_sequence_++;
  message.posted = owner_.now();
  message.header = encode({message.sequence, length, hop_.lane});
  if (busy_since_ == 0) busy_since_ = now_ns();
  if (script_.empty()) return enqueue(std::move(message), more);

  const faulty::Fate fate = script_.next(length, now_ns());
  if (fate.breaks) {
    ::shutdown(fd_, SHUT_RDWR);
    return lost("the connection was cut");
  }
  if (fate.silent) return;
  if (fate.vanishes) return owner_.post_done(token);
  if (fate.broken_frame) message.header[9] ^= std::byte{0x40};
  if (fate.broken_value && length > 0) {
    message.broken.assign(from, from + length);
    message.broken[reducer_.element_bytes() - 1] ^= std::byte{0x41};
  }
  if (fate.not_before == 0) return enqueue(std::move(message), false);
  ++delayed_;
  loop_.at(fate.not_before, [this, message = std::move(message)] {
    --delayed_;
    enqueue(message, false);
  });
}

// What is sent in answer to messages that are being read leaves after the last of them, in one piece.
void Channel::enqueue(Outgoing message, bool more) {
  outgoing_.push_back(std::move(message));
  if (!flush_waits_ && !more && !pumping_ && !flushing_) flush();
}

void Channel::flush() {
  flush_waits_ = false;
  flushing_ = true;  // an owner that hears that a message is gone may send the next one
  while (!outgoing_.empty()) {
    constexpr std::size_t max_messages = 48;
    iovec parts[2 * max_messages];
    std::size_t count = 0, messages = 0;
    for (Outgoing& m : outgoing_) {
      if (messages++ == max_messages) break;
      if (m.moved == 0) m.moved = owner_.now();
      const std::byte* payload = m.broken.empty() ? m.from : m.broken.data();
      if (m.written < frame_bytes) parts[count++] = {m.header.data() + m.written, frame_bytes - m.written};
      const std::uint64_t done = m.written < frame_bytes ? 0 : m.written - frame_bytes;
      if (done < m.length) parts[count++] = {const_cast<std::byte*>(payload) + done, m.length - done};
    }
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    ssize_t n = ::sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        flush_waits_ = true;
        break;
      }
      flushing_ = false;
      return lost(std::strerror(errno));
    }
    while (n > 0 ||
           (!outgoing_.empty() && outgoing_.front().written == outgoing_.front().length + frame_bytes)) {
      Outgoing& m = outgoing_.front();
      const std::uint64_t taken =
          std::min<std::uint64_t>(std::uint64_t(n), m.length + frame_bytes - m.written);
      m.written += taken;
      n -= ssize_t(taken);
      if (m.written < m.length + frame_bytes) break;
      ++sent_.messages;
      sent_.bytes += m.length;
      record_sent(m.sequence, m.length, m.posted, m.moved);
      const std::uint64_t token = m.token;
      outgoing_.pop_front();
      owner_.post_done(token);
    }
  }
  flushing_ = false;
  if (outgoing_.empty() && delayed_ == 0 && busy_since_ != 0) {
    sent_.busy_ns += now_ns() - busy_since_;
    busy_since_ = 0;
  }
  update_interest();
}

// ---- receiving ----

void Channel::receive(std::uint64_t token, const Destination& destination) {
  incoming_.push_back({token, destination, owner_.now()});
  if (closed_) return lost("it closed the connection");
  if (incoming_.size() > 1 || pumping_) return;
  // What was spilled behind the last message may be all of this one.
  if (spill_end_ > spill_begin_ || in_message_) pump();
  update_interest();
}

// Reads into the spill. False: nothing there, or the connection is over.
bool Channel::fill_spill() {
  if (spill_begin_ == spill_end_) {
    spill_begin_ = spill_end_ = 0;
  } else if (spill_begin_ > 0) {
    std::memmove(spill_.data(), spill_.data() + spill_begin_, spill_end_ - spill_begin_);
    spill_end_ -= spill_begin_;
    spill_begin_ = 0;
  }
  if (drained_) return false;
  const std::size_t wanted = spill_.size() - spill_end_;
  for (;;) {
    const ssize_t n = ::recv(fd_, spill_.data() + spill_end_, wanted, MSG_DONTWAIT);
    if (n > 0) {
      drained_ = std::size_t(n) < wanted;
      spill_end_ += std::size_t(n);
      return true;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    const std::string why = n == 0 ? "it closed the connection" : std::strerror(errno);
    closed_ = true;
    if (!incoming_.empty() || n < 0) lost(why);
    return false;
  }
}

// Takes the next header off the spill. False: not all of it is there, or it is broken.
bool Channel::start_message() {
  if (spill_end_ - spill_begin_ < frame_bytes) return false;
  const auto frame =
      decode(std::span<const std::byte, frame_bytes>(spill_.data() + spill_begin_, frame_bytes));
  const bool due = frame && frame->sequence == expected_sequence_ && frame->lane == hop_.lane;
  if (!due) {
    corrupted(frame ? fmt::format("message {} where message {} was due", frame->sequence, expected_sequence_)
                    : "its header does not match its checksum",
              "look for faulty memory or a middlebox on the path");
    return false;
  }
  spill_begin_ += frame_bytes;
  ++expected_sequence_;
  frame_ = *frame;
  arrived_ = 0;
  carried_ = 0;
  in_message_ = true;
  message_began_ = now_ns();
  return true;
}

void Channel::arrive(const std::byte* bytes, std::uint64_t count) {
  const Destination& to = incoming_.front().destination;
  if (to.discard) {
    arrived_ += count;
    return;
  }
  if (to.how == Arrival::store) {
    std::memcpy(to.into + arrived_, bytes, count);
    arrived_ += count;
    return;
  }
  const std::uint64_t unit = reducer_.element_bytes();
  if (carried_ > 0) {
    const std::uint64_t wanted = std::min(unit - carried_, count);
    std::memcpy(carry_ + carried_, bytes, wanted);
    carried_ += wanted;
    bytes += wanted;
    count -= wanted;
    if (carried_ < unit) return;
    reducer_.reduce(to.into + arrived_, to.with + arrived_, carry_, unit, to.how);
    arrived_ += unit;
    carried_ = 0;
  }
  const std::uint64_t whole = count / unit * unit;
  if (whole > 0) reducer_.reduce(to.into + arrived_, to.with + arrived_, bytes, whole, to.how);
  arrived_ += whole;
  carried_ = count - whole;
  std::memcpy(carry_, bytes + whole, carried_);
}

void Channel::finish_message() {
  const Incoming message = incoming_.front();
  incoming_.pop_front();
  in_message_ = false;
  ++received_.messages;
  received_.bytes += frame_.length;
  unacknowledged_ += frame_.length;
  if (message.destination.came) *message.destination.came = frame_.length;
  const std::int64_t took = now_ns() - message_began_;
  received_.busy_ns += took;
  record_received(frame_.sequence, frame_.length, message.posted, took);
  owner_.post_done(message.token);
}

// One read straight to where the payload belongs, and the spill behind it. False: nothing there.
bool Channel::read_payload() {
  if (drained_) return false;
  const Destination& to = incoming_.front().destination;
  const std::uint64_t left = frame_.length - arrived_ - carried_;
  const bool direct = to.how == Arrival::store && !to.discard;
  const std::uint64_t wanted = direct ? left : std::min<std::uint64_t>(left, staging_bytes);
  std::byte* into = direct ? to.into + arrived_ : staging_;
  spill_begin_ = spill_end_ = 0;
  iovec parts[2] = {{into, wanted}, {spill_.data(), spill_.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = wanted == left ? 2 : 1;
  for (;;) {
    const ssize_t n = ::recvmsg(fd_, &message, MSG_DONTWAIT);
    if (n > 0) {
      drained_ = std::uint64_t(n) < wanted + (wanted == left ? spill_.size() : 0);
      const std::uint64_t payload = std::min<std::uint64_t>(std::uint64_t(n), wanted);
      spill_end_ = std::size_t(n) - payload;
      if (direct) {
        arrived_ += payload;
      } else {
        arrive(staging_, payload);
      }
      return true;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    closed_ = true;
    lost(n == 0 ? "it closed the connection" : std::strerror(errno));
    return false;
  }
}

void Channel::pump() {
  pumping_ = true;
  drained_ = false;  // a read that gets less than it could saves the one that would get nothing
  // A bounded number of reads, so that one busy peer does not starve the others. What was spilled is always
  // used up: the kernel reminds us only of what it holds itself.
  constexpr int max_reads = 8;
  int reads = 0;
  while (!closed_) {
    if (!in_message_) {
      if (incoming_.empty()) break;
      if (spill_end_ - spill_begin_ < frame_bytes) {
        if (reads++ == max_reads || !fill_spill()) break;
      }
      if (!start_message()) continue;
      const std::uint64_t due = incoming_.front().destination.length;
      if (incoming_.front().destination.up_to ? frame_.length > due : frame_.length != due) {
        corrupted(fmt::format("{} bytes where {} were due", frame_.length, due));
        break;
      }
    }
    const std::uint64_t spilled =
        std::min<std::uint64_t>(spill_end_ - spill_begin_, frame_.length - arrived_ - carried_);
    if (spilled > 0) {
      const std::size_t at = spill_begin_;
      spill_begin_ += spilled;
      arrive(spill_.data() + at, spilled);
    }
    if (arrived_ == frame_.length) {
      finish_message();
      continue;
    }
    if (reads++ == max_reads || !read_payload()) break;
    if (arrived_ == frame_.length) finish_message();
  }
  pumping_ = false;
  if (!outgoing_.empty() && !flush_waits_) return flush();  // which asks for what it needs, too
  if (incoming_.empty() && unacknowledged_ >= acknowledged_from) acknowledge();
  update_interest();
}

// Nothing more is due and nothing goes back. Where both sides send, the kernel would keep the last
// acknowledgement for 40 ms, in the hope of an answer to send it with, and the hop would count as busy.
void Channel::acknowledge() {
  const int one = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof one);
  unacknowledged_ = 0;
}

void Channel::ready(std::uint32_t events) {
  if (events & EPOLLOUT) flush();
  if ((events & (EPOLLHUP | EPOLLERR)) && (incoming_.empty() || closed_)) {
    // Gone while nothing is due from it: an error only for whoever needs it later; or its owner knows and
    // goes on. Hang-ups cannot be masked.
    closed_ = true;
    loop_.forget(fd_, this);
    return;
  }
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
    unwelcome_ = incoming_.empty();
    pump();
  }
}

// Asking the kernel anew costs a system call, so reading stays asked for between messages, until one comes
// that nobody has posted a receive for.
void Channel::update_interest() {
  if (!incoming_.empty()) unwelcome_ = false;
  std::uint32_t wanted = 0;
  if (!unwelcome_ && !closed_) wanted |= EPOLLIN;
  if (flush_waits_) wanted |= EPOLLOUT;
  if (wanted == interest_) return;
  interest_ = wanted;
  loop_.change(fd_, wanted, this);
}

void Channel::corrupted(const std::string& what, std::string next) {
  closed_ = true;
  owner_.failed({Cause::corrupted,
                 fmt::format("a broken frame from rank {} on {} to rank {}: {}", hop_.peer, hop_.peer_node,
                             hop_.self, what),
                 hop_.peer_node, std::move(next)});
}

// ---- counting ----

namespace {

std::optional<tcp_info> info_of(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return info;
}

}  // namespace

void Channel::reset_counters() {
  transport::Channel::reset_counters();
  if (const auto info = info_of(fd_))
    at_reset_ = {info->tcpi_busy_time, info->tcpi_rwnd_limited, info->tcpi_sndbuf_limited,
                 info->tcpi_total_retrans};
}

HopStatistics Channel::statistics() const {
  const auto info = info_of(fd_);
  if (!info) return {};
  run::TcpHop hop;
  hop.busy = Seconds(double(info->tcpi_busy_time - at_reset_.busy) * 1e-6);
  hop.rwnd_limited = Seconds(double(info->tcpi_rwnd_limited - at_reset_.rwnd) * 1e-6);
  hop.sndbuf_limited = Seconds(double(info->tcpi_sndbuf_limited - at_reset_.sndbuf) * 1e-6);
  hop.retransmits = info->tcpi_total_retrans - at_reset_.retransmits;
  hop.min_rtt = Seconds(info->tcpi_min_rtt == ~0u ? 0 : double(info->tcpi_min_rtt) * 1e-6);
  hop.delivery_rate = BytesPerSecond(double(info->tcpi_delivery_rate));
  // A script holds messages back above the kernel; then only we know how long the hop was busy.
  if (!script_.empty()) hop.busy = std::max(hop.busy, Seconds(double(sent_.busy_ns) * 1e-9));
  return hop;
}

}  // namespace ringtrue::transport::tcp
