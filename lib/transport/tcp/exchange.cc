// Messages over established connections: each behind its length, u32 little endian.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "transport/fields.h"
#include "transport/tcp/transport.h"

namespace ringtrue::transport::tcp {

namespace {

constexpr std::size_t length_bytes = sizeof(std::uint32_t);

class Exchange final : public Watcher {
 public:
  Exchange(Loop& loop, int fd, Transport::Message message, std::size_t max_bytes)
      : loop_(loop), fd_(fd), node_(std::move(message.node)), max_bytes_(max_bytes), into_(length_bytes) {
    const auto length = to_bytes(std::uint32_t(message.bytes.size()));
    ours_.assign(length.begin(), length.end());
    ours_.insert(ours_.end(), message.bytes.begin(), message.bytes.end());
  }
  ~Exchange() override { stop_watching(); }

  Result<void> begin() {
    auto watched = loop_.watch(fd_, EPOLLIN | EPOLLOUT, this);
    watched_ = watched.has_value();
    return watched;
  }

  void ready(std::uint32_t) override {
    if (over()) return;
    write();
    if (!failed_) read();
    if (over()) return stop_watching();
    // What follows the peer's message is for the connection's next user.
    const std::uint32_t reads = have_ ? 0u : EPOLLIN, writes = written_ < ours_.size() ? EPOLLOUT : 0u;
    loop_.change(fd_, reads | writes, this);
  }

  bool over() const { return failed_ || (have_ && written_ == ours_.size()); }
  const std::optional<Error>& failed() const { return failed_; }
  Transport::Message take() { return {std::move(into_), std::move(node_)}; }

 private:
  void stop_watching() {
    if (std::exchange(watched_, false)) loop_.forget(fd_, this);
  }

  void write() {
    while (written_ < ours_.size()) {
      const ssize_t n =
          ::send(fd_, ours_.data() + written_, ours_.size() - written_, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (n < 0) return lost(std::strerror(errno));
      written_ += std::size_t(n);
    }
  }

  void read() {
    while (!have_) {
      const ssize_t n = ::recv(fd_, into_.data() + got_, into_.size() - got_, MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (n <= 0) return lost(n == 0 ? "it closed the connection" : std::strerror(errno));
      got_ += std::size_t(n);
      if (got_ < into_.size()) continue;
      if (counted_) {
        have_ = true;
        return;
      }
      const std::size_t length = from_bytes<std::uint32_t>(into_);
      if (length > max_bytes_) {
        failed_ = Error{Cause::corrupted, fmt::format("{} announced {} bytes", node_, length), node_, {}};
        return;
      }
      counted_ = true;
      got_ = 0;
      into_.resize(length);
      have_ = length == 0;
    }
  }

  void lost(const std::string& why) {
    failed_ = Error{Cause::peer_lost, fmt::format("lost {}: {}", node_, why), node_, {}};
  }

  Loop& loop_;
  int fd_;
  std::string node_;
  std::size_t max_bytes_;
  std::vector<std::byte> ours_, into_;
  std::size_t written_ = 0, got_ = 0;
  bool watched_ = false, counted_ = false, have_ = false;
  std::optional<Error> failed_;
};

}  // namespace

Result<Transport::Messages> Transport::exchange(Messages ours, std::size_t max_bytes, const std::string& what,
                                                const std::function<bool()>& stop, Deadline deadline) {
  std::map<ConnectionKey, std::unique_ptr<Exchange>> exchanges;
  for (auto& [key, message] : ours) {
    const int fd = descriptor(key);
    if (fd < 0)
      return fail(Cause::internal, fmt::format("no connection to {} to exchange {}", message.node, what));
    const auto exchange =
        exchanges.emplace(key, std::make_unique<Exchange>(loop_, fd, std::move(message), max_bytes)).first;
    if (const auto begun = exchange->second->begin(); !begun) return tl::unexpected(begun.error());
  }
  auto next = exchanges.begin();  // all before it are over, and went well
  const bool stopped = loop_.run(
      [&] {
        while (next != exchanges.end() && next->second->over() && !next->second->failed()) ++next;
        return next == exchanges.end() || next->second->failed() || stop();
      },
      deadline);
  for (const auto& [key, exchange] : exchanges)
    if (const auto& error = exchange->failed())
      return fail(error->cause, fmt::format("{}, while exchanging {}", error->what, what), error->where);
  if (next != exchanges.end() && stopped)
    return fail(Cause::cancelled, fmt::format("cancelled while exchanging {}", what));
  if (next != exchanges.end()) {
    const std::string node = next->second->take().node;
    return fail(Cause::deadline, fmt::format("no {} came from {}", what, node), node,
                "was its process stopped, or is its node overloaded?");
  }
  Messages theirs;
  for (auto& [key, exchange] : exchanges) theirs.emplace(key, exchange->take());
  return theirs;
}

}  // namespace ringtrue::transport::tcp
