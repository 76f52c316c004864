#include "transport/udp/reach.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

namespace ringtrue::transport::udp {

namespace {

constexpr std::int64_t again_after_ns = 150'000'000;  // datagrams may be lost without anybody's fault
// For a peer that has not heard that all is well to ask twice.
constexpr std::int64_t stay_ns = 5 * again_after_ns / 2;
// What a datagram's header says has come, and what its payload is.
constexpr std::uint8_t short_one = 1, long_one = 2, both = short_one | long_one;
// The header says, too, that its sender knows that both of its own have come.
constexpr std::uint8_t knows_both = 4;
// At once, so that neither a flood nor an error that stays keeps the loop from its deadline.
constexpr int max_taken = 256, max_errors = 8;
constexpr std::size_t said_bytes = 1;

}  // namespace

Trials::Trials(Socket& socket, Tagger& tagger, Loop& loop, std::uint64_t longest)
    : socket_(socket),
      tagger_(tagger),
      loop_(loop),
      longest_(std::clamp<std::uint64_t>(longest, said_bytes + 1, UINT16_MAX - framing_bytes - ipv6_bytes)) {}

Trials::~Trials() {
  if (timer_) loop_.cancel(*timer_);
}

void Trials::add(Ends ends, const PeerAddress& peer, const SocketAddress& address) {
  const bool ipv6 = peer.host.find(':') != std::string::npos;
  Trial& trial = trials_[ends];
  trial.address = address;
  trial.name =
      ipv6 ? fmt::format("[{}]:{}", peer.host, peer.port) : fmt::format("{}:{}", peer.host, peer.port);
}

void Trials::begin() {
  take_arrivals();  // of those that were here before us
  again();
}

bool Trials::well() const {
  const std::int64_t now = now_ns();
  return std::all_of(trials_.begin(), trials_.end(), [&](const auto& each) {
    const Trial& trial = each.second;
    return trial.well() && (trial.settled || now > trial.well_at + stay_ns);
  });
}

void Trials::again() {
  for (auto& [ends, trial] : trials_) {
    if (trial.well() && trial.settled) continue;
    send(ends, trial, false);
    if (!(trial.known & long_one)) send(ends, trial, true);
  }
  timer_ = loop_.at(now_ns() + again_after_ns, [this] { again(); });
}

void Trials::send(Ends ends, Trial& trial, bool is_long) {
  Head head;
  head.from = ends.first;
  head.to = ends.second;
  head.sequence = trial.sent++;
  head.header = said_bytes;
  head.payload = is_long ? std::uint16_t(longest_ - said_bytes) : std::uint16_t(0);
  std::vector<std::byte> datagram(head.datagram_bytes() - tag_bytes);
  const auto start = encode(head);
  std::copy(start.begin(), start.end(), datagram.begin());
  datagram[head_bytes] = std::byte(trial.got | (trial.known == both ? knows_both : 0));
  const Tag tag = tagger_.tag(datagram);
  datagram.insert(datagram.end(), tag.begin(), tag.end());
  const auto* const to = reinterpret_cast<const sockaddr*>(&trial.address.storage);
  // What the network has said of others' datagrams comes first, once each.
  for (int tries = 0; tries < 3; ++tries) {
    if (::sendto(socket_.fd(), datagram.data(), datagram.size(), MSG_DONTWAIT, to, trial.address.size) >= 0)
      return;
    // EMSGSIZE: longer than the kernel knows the way to take, and so one that does not arrive.
    if (errno == EMSGSIZE || errno == EAGAIN || errno == EWOULDBLOCK) return;
    if (errno != ECONNREFUSED && trial.why.empty()) trial.why = std::strerror(errno);
    take_refusals();
  }
}

void Trials::take_refusals() {
  while (const auto said = socket_.next_error())
    for (auto& [ends, trial] : trials_)
      if (trial.address == said->peer && said->error != EMSGSIZE) trial.why = std::strerror(said->error);
}

void Trials::take_arrivals() {
  take_refusals();
  std::vector<std::byte> bytes(longest_ + framing_bytes + 1);  // one byte more shows what is too long
  int errors = 0;
  for (int taken = 0; taken < max_taken && errors < max_errors; ++taken) {
    const ssize_t n = ::recv(socket_.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    const int error = errno;
    if (n >= 0) {
      take(std::span(bytes).first(std::size_t(n)));
    } else if (error == EAGAIN || error == EWOULDBLOCK) {
      return;
    } else if (error != EINTR) {
      // Mostly what the network has said of somebody, which has been told once then.
      take_refusals();
      if (++errors == max_errors) hear(error);
    }
  }
}

void Trials::hear(int error) {
  for (auto& [ends, trial] : trials_)
    if (trial.why.empty()) trial.why = std::strerror(error);
}

void Trials::take(std::span<const std::byte> datagram) {
  const auto head = decode(datagram);
  if (!head || head->epoch != 0 || head->header != said_bytes) return;
  const auto at = trials_.find({head->to, head->from});
  if (at == trials_.end() || !tagger_.proves(datagram)) return;
  Trial& trial = at->second;
  const std::uint8_t got = head->payload == 0 ? short_one : long_one;
  const auto word = std::to_integer<unsigned>(datagram[head_bytes]);
  const auto said = std::uint8_t(word & both);
  const bool news = (trial.got | got) != trial.got || (trial.known | said) != trial.known;
  trial.got |= got;
  trial.known |= said;
  if (!trial.well() && trial.got == both && trial.known == both) trial.well_at = now_ns();
  const bool knows = word & knows_both;
  trial.settled = trial.settled || knows;
  // At once, so that the peer need not wait for our next round, nor where it has not heard of the last one.
  if (news || (trial.well() && !knows)) send(at->first, trial, false);
}

std::vector<run::Reach> Trials::seen() const {
  std::vector<run::Reach> out;
  for (const auto& [ends, trial] : trials_) {
    run::Reach reach;
    reach.self = ends.first;
    reach.peer = ends.second;
    reach.datagrams = true;
    reach.address = trial.name;
    reach.called = trial.known & short_one;
    reach.taken = trial.got & short_one;
    if (!reach.called) reach.why = trial.why;
    reach.packet = int(longest_ + framing_bytes + (trial.address.ipv4() ? ipv4_bytes : ipv6_bytes));
    reach.acknowledged = trial.known & long_one;
    reach.long_taken = trial.got & long_one;
    out.push_back(std::move(reach));
  }
  return out;
}

}  // namespace ringtrue::transport::udp
