// What was received is acknowledged at once, so that a hop counts as busy only while its bytes are in flight.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "run/trace.h"
#include "transport/tcp/channel.h"
#include "transport/transport.h"

namespace ringtrue::transport {
namespace {

class NoReducer final : public Reducer {
 public:
  std::uint64_t element_bytes() const override { return 1; }
  void reduce(std::byte*, const std::byte*, const std::byte*, std::uint64_t, Arrival) const override {}
  void reduce_many(std::byte*, const std::byte* const*, int, std::uint64_t, Arrival) const override {}
};

class Post final : public Owner {
 public:
  void post_done(std::uint64_t) override { ++done; }
  void failed(Error error) override { failure = std::move(error); }
  std::int64_t now() const override { return now_ns(); }
  void record(const run::Event&) override {}
  bool wants_events() const override { return false; }

  int done = 0;
  std::optional<Error> failure;
};

// Both ends of a TCP connection over the loopback.
std::array<int, 2> connection() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  std::array<int, 2> ends{-1, -1};
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), length) == 0 && ::listen(listener, 1) == 0 &&
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
    ends[0] = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(ends[0], reinterpret_cast<sockaddr*>(&address), length) == 0)
      ends[1] = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
  }
  ::close(listener);
  const int one = 1;
  for (const int end : ends) ::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return ends;
}

class Pair {
 public:
  Pair() : fds_(connection()), loop_(*Loop::make()) {
    for (const int r : {0, 1}) {
      ends[std::size_t(r)] = std::make_unique<tcp::Channel>(fds_[std::size_t(r)], *loop_, staging_.data(),
                                                            Hop{r, 1 - r, 0, "other"}, owners[r], reducer_,
                                                            faulty::Script{}, 64 * 1024);
    }
  }
  ~Pair() {
    for (auto& end : ends) end.reset();
    for (const int fd : fds_) ::close(fd);
  }

  // Moves `bytes` from one to the other; false if that does not succeed.
  bool move(int from, std::uint64_t bytes) {
    Destination into;
    into.into = memory_[1].data();
    into.length = bytes;
    const int done = owners[0].done + owners[1].done;
    ends[std::size_t(1 - from)]->receive(1, into);
    ends[std::size_t(from)]->send(2, memory_[0].data(), bytes, false);
    const auto over = [&] { return owners[0].done + owners[1].done == done + 2; };
    const Deadline deadline = Deadline::in(Seconds(5));
    while (!over() && !deadline.passed()) loop_->run(over, Deadline::in(Seconds(0.01)));
    return over();
  }

  std::array<std::unique_ptr<tcp::Channel>, 2> ends;
  Post owners[2];

 private:
  std::array<int, 2> fds_;
  std::unique_ptr<Loop> loop_;
  NoReducer reducer_;
  std::vector<std::byte> staging_{256 * 1024};
  std::vector<std::byte> memory_[2] = {std::vector<std::byte>(1 << 20), std::vector<std::byte>(1 << 20)};
};

TEST(Acknowledge, OfOneDirectionDoesNotWaitForTheOther) {
  // To and fro, as of two nodes one direction at a time: from the second message on the kernel takes the
  // connection for a dialogue. A busy machine may be late, but not always.
  double least = 1;
  for (int attempt = 0; attempt < 10 && least > 0.02; ++attempt) {
    Pair pair;
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(pair.move(i % 2, 100'000));
    for (const int r : {0, 1}) pair.ends[std::size_t(r)]->reset_counters();
    ASSERT_TRUE(pair.move(0, 100'000));
    ASSERT_TRUE(pair.move(1, 100'000));
    ::usleep(60'000);  // longer than an acknowledgement is held back
    const auto there = pair.ends[0]->statistics(), back = pair.ends[1]->statistics();
    const auto busy = [](const HopStatistics& of) { return std::get<run::TcpHop>(of).busy.value; };
    least = std::min(least, std::max(busy(there), busy(back)));
  }
  EXPECT_LT(least, 0.02);
}

}  // namespace
}  // namespace ringtrue::transport
