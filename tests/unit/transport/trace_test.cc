// Tracing connections of a process with itself, where no router is between.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "transport/tcp/transport.h"

namespace ringtrue::transport::tcp {
namespace {

const auto never = [] { return false; };

class Trace : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    loop_ = *Loop::make();
    transport_ = *Transport::make({"", 0, 0, "a secret of the run", {{0, 0}, {1, 0}, {2, 0}}}, *loop_);
    for (const auto& [a, b] : {std::pair(0u, 1u), std::pair(0u, 2u), std::pair(1u, 2u)}) {
      wanted_[{{a, 0}, {b, 0}, 0}] = {GetParam(), transport_->port(), "there"};
      wanted_[{{b, 0}, {a, 0}, 0}] = {GetParam(), transport_->port(), "here"};
    }
  }
  auto trace() { return transport_->trace(wanted_, never, Deadline::in(Seconds(20))); }
  int port_of(const ConnectionKey& key) const {
    SocketAddress at;
    at.size = sizeof at.storage;
    ::getsockname(transport_->descriptor(key), reinterpret_cast<sockaddr*>(&at.storage), &at.size);
    return at.port();
  }
  void carries(const ConnectionKey& from, const ConnectionKey& to) {
    char got[6] = {};
    ASSERT_EQ(::send(transport_->descriptor(from), "hello", 5, MSG_NOSIGNAL), 5);
    while (::recv(transport_->descriptor(to), got, 5, 0) < 0 && errno == EAGAIN) ::usleep(1000);
    EXPECT_STREQ(got, "hello");
  }
  const ConnectionKey there_{{0, 0}, {1, 0}, 0}, back_{{1, 0}, {0, 0}, 0};

  std::unique_ptr<Loop> loop_;
  std::unique_ptr<Transport> transport_;
  std::map<ConnectionKey, PeerAddress> wanted_;
};

TEST_P(Trace, KnowsBothWaysAndLeavesConnectionsThatCarry) {
  const auto ways = trace();
  ASSERT_TRUE(ways) << ways.error().text();
  ASSERT_EQ(ways->size(), wanted_.size());
  for (const auto& [key, way] : *ways) EXPECT_EQ(way, (TracedWay{true, {}}));
  carries(there_, back_);
  carries(back_, there_);
  EXPECT_EQ(transport_->rejected(), 0u);
}

TEST_P(Trace, KeepsPortsSoThatAWayCanBeLookedAtAgain) {
  ASSERT_TRUE(transport_->connect(wanted_, never, Deadline::in(Seconds(5))));
  ASSERT_TRUE(trace());
  const int port = port_of(there_);
  carries(there_, back_);
  const auto again = trace();
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(port_of(there_), port);
  EXPECT_EQ(port_of(back_), transport_->port());
  carries(there_, back_);
}

TEST_P(Trace, EndsWhenToldTo) {
  const auto stopped = transport_->trace(
      wanted_, [] { return true; }, Deadline::in(Seconds(20)));
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().cause, Cause::cancelled);
}

INSTANTIATE_TEST_SUITE_P(Families, Trace, testing::Values("127.0.0.1", "::1"),
                         [](const auto& about) { return about.param == "::1" ? "IPv6" : "IPv4"; });

}  // namespace
}  // namespace ringtrue::transport::tcp
