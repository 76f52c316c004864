// Whether peers can be connected to, and whether long packets get there. Each end calls the other's port on
// lanes of its own, again where nobody answers, since a single SYN may be lost; then it sends segments of the
// full length on whichever connection came first. That they arrive is the kernels' word: until the peer's has
// acknowledged them, they stand in our queue.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "transport/tcp/transport.h"

namespace ringtrue::transport::tcp {

namespace {

constexpr Lane first_lane = 0xff00;  // of ours; far above those of data, below those that settle traces
constexpr std::array<double, 5> call_at{0, 0.25, 0.6, 1.05, 1.4};  // seconds
constexpr std::int64_t tick_ns = 10'000'000;
constexpr unsigned established =
    1;  // TCP_ESTABLISHED of <netinet/tcp.h>, which is not to be had beside <linux/tcp.h>
constexpr std::uint32_t most_in_flight = 48 * 1024;  // below any receiver's first window
constexpr std::byte end_mark{'E'};

bool is_trial(Lane lane) {
  return lane >= first_lane && lane < first_lane + 2 * call_at.size();
}
// Of a pair's lower seat, or of its higher one.
bool is_call(Lane lane, bool of_lower) {
  return is_trial(lane) && (lane & 1) == (of_lower ? 0 : 1);
}

std::optional<tcp_info> state_of(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return info;
}

// Addresses of those that call `port` and have not got our answer, from the kernel's table of sockets.
void add_knocking(const std::string& table, int port, std::set<IpBytes>& to) {
  std::ifstream sockets(table);
  constexpr std::string_view syn_received = "03";
  for (std::string line; std::getline(sockets, line);) {
    std::istringstream fields(line);
    std::array<std::string, 4> words;  // number, own end, far end, state
    for (std::string& word : words) fields >> word;
    if (words[3] != syn_received) continue;
    const auto port_of = [](std::string_view end) {
      const auto colon = end.rfind(':');
      unsigned number = 0;
      if (colon != end.npos) std::from_chars(end.data() + colon + 1, end.data() + end.size(), number, 16);
      return int(number);
    };
    if (port_of(words[1]) != port) continue;
    // Words of 32 bits, each as this machine has it in memory.
    const std::string digits = words[2].substr(0, words[2].rfind(':'));
    std::array<std::uint32_t, 4> parts{0, 0, htonl(0xffff), 0};
    const std::size_t count = digits.size() / 8;
    for (std::size_t i = 0; i < count && i < 4; ++i)
      std::from_chars(digits.data() + 8 * i, digits.data() + 8 * i + 8, parts[4 - count + i], 16);
    to.insert(std::bit_cast<IpBytes>(parts));
  }
}

// Takes what comes on a connection, until its other end says that it has sent all.
class Reader final : public Watcher {
 public:
  Reader(Loop& loop, int fd) : loop_(loop), fd_(fd) {}
  ~Reader() override { stop(); }
  Result<void> begin() {
    auto watched = loop_.watch(fd_, EPOLLIN, this);
    watching_ = watched.has_value();
    return watched;
  }
  bool ended() const { return ended_; }

  void ready(std::uint32_t) override {
    std::byte bytes[16384];
    for (;;) {
      const ssize_t n = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (n <= 0) return stop();
      ended_ = ended_ || bytes[n - 1] == end_mark;
    }
  }

 private:
  void stop() {
    if (std::exchange(watching_, false)) loop_.forget(fd_, this);
  }
  Loop& loop_;
  int fd_;
  bool watching_ = false, ended_ = false;
};

// The long packets of one end.
class LongPackets {
 public:
  bool begun() const { return fd_ >= 0; }
  bool acknowledged() const { return acknowledged_; }
  int bytes() const { return bytes_; }

  void begin(int fd) {
    const auto now = state_of(fd);
    if (!now || now->tcpi_snd_mss == 0) return;
    fd_ = fd;
    segment_ = now->tcpi_snd_mss;
    path_mtu_ = now->tcpi_pmtu;
    set_bytes(*now);
    const std::vector<std::byte> segment(segment_);
    const std::uint32_t count = std::clamp(most_in_flight / segment_, 1u, 3u);
    // Each by itself, so that none is joined with others and cut by a device that knows better.
    for (std::uint32_t i = 0; i < count; ++i)
      (void)::send(fd_, segment.data(), segment.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void look() {
    if (!begun() || acknowledged_) return;
    int queued = 1;
    const auto now = state_of(fd_);
    if (!now || now->tcpi_state != established || ::ioctl(fd_, SIOCOUTQ, &queued) != 0 || queued > 0) return;
    // A kernel that probes (net.ipv4.tcp_mtu_probing) cuts segments that vanish; where a router said how long
    // they may be, the way is fine.
    if (now->tcpi_snd_mss < segment_ && now->tcpi_pmtu >= path_mtu_) return;
    set_bytes(*now);
    acknowledged_ = true;
    (void)::send(fd_, &end_mark, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

 private:
  void set_bytes(const tcp_info& now) {
    SocketAddress peer;
    peer.size = sizeof peer.storage;
    ::getpeername(fd_, reinterpret_cast<sockaddr*>(&peer.storage), &peer.size);
    const std::uint32_t headers =
        (peer.ipv4() ? 20u : 40u) + 20u + (now.tcpi_options & TCPI_OPT_TIMESTAMPS ? 12u : 0u);
    bytes_ = int(std::min(now.tcpi_snd_mss + headers, now.tcpi_pmtu));
  }
  int fd_ = -1, bytes_ = 0;
  std::uint32_t segment_ = 0, path_mtu_ = 0;
  bool acknowledged_ = false;
};

}  // namespace

// A pair as this end tries it.
struct Transport::Trial {
  const ConnectionKey& key;
  const PeerAddress& peer;
  std::size_t calls = 0;  // made so far
  run::Reach seen{};
  std::map<int, Reader> readers{};  // by descriptor
  LongPackets packets{};

  bool lower() const { return key.self < key.peer; }
  bool well() const {
    return seen.called && seen.taken && packets.acknowledged() &&
           std::any_of(readers.begin(), readers.end(), [](const auto& r) { return r.second.ended(); });
  }
};

Result<void> Transport::go_on(Trial& trial, double seconds) {
  const ConnectionKey first{trial.key.self, trial.key.peer, first_lane};
  for (auto each = connections_.lower_bound(first); each != connections_.end(); ++each) {
    const ConnectionKey& key = each->first;
    if (key.self != first.self || key.peer != first.peer || !is_trial(key.lane)) break;
    (is_call(key.lane, trial.lower()) ? trial.seen.called : trial.seen.taken) = true;
    const int fd = each->second.get();
    const auto reader = trial.readers.try_emplace(fd, loop_, fd);
    if (!reader.second) continue;
    if (auto reads = reader.first->second.begin(); !reads) return reads;
    if (!trial.packets.begun()) trial.packets.begin(fd);
  }
  trial.packets.look();
  if (trial.seen.called || trial.calls >= call_at.size() || seconds < call_at[trial.calls]) return {};
  ConnectionKey key = trial.key;
  key.lane = Lane(first_lane + 2 * trial.calls++ + (trial.lower() ? 0 : 1));
  auto called = call(key, trial.peer);
  if (called || called.error().cause == Cause::unavailable) return called;
  if (trial.seen.why.empty()) trial.seen.why = called.error().what;
  return {};
}

Result<std::map<ConnectionKey, run::Reach>> Transport::reach(
    const std::map<ConnectionKey, PeerAddress>& wanted, const std::function<bool()>& stop, Seconds patience,
    const std::function<bool()>& others) {
  end_reach();
  loop_.change(listener_.fd.get(), EPOLLIN, this);
  max_pending_ = std::max(max_pending_, 4 * call_at.size() * wanted.size());
  std::map<ConnectionKey, std::string> failures;
  failures_ = &failures;
  std::vector<Trial> trials;
  trials.reserve(wanted.size());
  for (const auto& [key, peer] : wanted) {
    trials.push_back({key, peer});
    const bool ipv6 = peer.host.find(':') != std::string::npos;
    trials.back().seen.address =
        ipv6 ? fmt::format("[{}]:{}", peer.host, peer.port) : fmt::format("{}:{}", peer.host, peer.port);
  }
  const std::int64_t began = now_ns();
  std::optional<Error> error;
  std::function<void()> tick;
  Loop::TimerId timer;
  std::size_t first = 0;  // all before it are well
  tick = [&] {
    const double seconds = seconds_since(began).value;
    for (std::size_t i = first; i < trials.size() && !error; ++i)
      if (auto went = go_on(trials[i], seconds); !went) error = went.error();
    while (first < trials.size() && trials[first].well()) ++first;
    timer = loop_.at(now_ns() + tick_ns, tick);
  };
  tick();
  loop_.run([&] { return (first == trials.size() && others()) || error || stop(); }, Deadline::in(patience));
  loop_.cancel(timer);
  drop_calls();
  failures_ = nullptr;
  if (error) return tl::unexpected(*error);
  if (stop()) return fail(Cause::cancelled, "cancelled while peers were tried");

  std::set<IpBytes> knocking;
  if (std::any_of(trials.begin(), trials.end(), [](const Trial& t) { return !t.seen.taken; }))
    for (const char* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) add_knocking(table, port(), knocking);
  std::map<ConnectionKey, run::Reach> out;
  for (Trial& trial : trials) {
    run::Reach& seen = trial.seen;
    seen.packet = trial.packets.bytes();
    seen.acknowledged = trial.packets.acknowledged();
    for (const auto& [key, why] : failures)
      if (!seen.called && seen.why.empty() && key.self == trial.key.self && key.peer == trial.key.peer)
        seen.why = why;
    if (const auto at = resolve(trial.peer.host, trial.peer.port, SOCK_STREAM); at && !seen.taken) {
      const auto address = ip_of(reinterpret_cast<const sockaddr*>(&at->storage));
      seen.knocked = address && knocking.contains(*address);
    }
    out.emplace(trial.key, std::move(seen));
  }
  return out;
}

void Transport::end_reach() {
  std::erase_if(connections_, [](const auto& each) { return is_trial(each.first.lane); });
}

}  // namespace ringtrue::transport::tcp
