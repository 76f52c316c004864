// Whether processes can be connected, between two that run at once on loopback and beside peers that refuse
// or say nothing.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>

#include "transport/tcp/transport.h"

namespace ringtrue::transport::tcp {
namespace {

struct End {
  std::unique_ptr<Loop> loop = *Loop::make();
  std::unique_ptr<Transport> transport;

  explicit End(std::uint32_t node, const std::string& address = "127.0.0.1") {
    transport = *Transport::make({address, 0, 0, "secret", {{node, 0}}}, *loop);
  }
};

ConnectionKey pair_of(std::uint32_t self, std::uint32_t peer) {
  return {{self, 0}, {peer, 0}, 0};
}

bool go_on() {
  return false;
}

using Seen = Result<std::map<ConnectionKey, run::Reach>>;

Seen try_one(End& end, const ConnectionKey& key, const PeerAddress& peer, Seconds patience) {
  return end.transport->reach({{key, peer}}, go_on, patience);
}

class Reach : public testing::TestWithParam<std::string> {};

TEST_P(Reach, BothWaysWithLongPackets) {
  const std::string& host = GetParam();
  End a(0, host), b(1, host);
  Seen theirs;
  std::thread other([&] {
    theirs = try_one(b, pair_of(1, 0), {host, a.transport->port(), "node0"}, Seconds(20));
  });
  const Seen ours = try_one(a, pair_of(0, 1), {host, b.transport->port(), "node1"}, Seconds(20));
  other.join();
  for (const Seen* const seen : std::initializer_list<const Seen*>{&ours, &theirs}) {
    ASSERT_TRUE(*seen) << seen->error().text();
    ASSERT_EQ((*seen)->size(), 1u);
    const run::Reach& reach = (*seen)->begin()->second;
    EXPECT_TRUE(reach.called);
    EXPECT_TRUE(reach.taken);
    EXPECT_TRUE(reach.acknowledged);
    EXPECT_GT(reach.packet, 1280);
    EXPECT_EQ(reach.why, "");
  }
  const std::string port = std::to_string(b.transport->port());
  EXPECT_EQ(ours->begin()->second.address, host == "::1" ? "[::1]:" + port : host + ":" + port);
}

TEST_P(Reach, ThenConnectsAsEver) {
  const std::string& host = GetParam();
  End a(0, host), b(1, host);
  const auto play = [&](End& self, const ConnectionKey& key, int port) {
    const PeerAddress peer{host, port, "peer"};
    ASSERT_TRUE(try_one(self, key, peer, Seconds(20)));
    const auto connected = self.transport->connect({{key, peer}}, go_on, Deadline::in(Seconds(5)));
    self.transport->end_reach();
    EXPECT_TRUE(connected);
    EXPECT_GE(self.transport->descriptor(key), 0);
  };
  std::thread other([&] { play(b, pair_of(1, 0), a.transport->port()); });
  play(a, pair_of(0, 1), b.transport->port());
  other.join();
}

INSTANTIATE_TEST_SUITE_P(Families, Reach, testing::Values("127.0.0.1", "::1"),
                         [](const auto& about) { return about.param == "::1" ? "IPv6" : "IPv4"; });

TEST(ReachOf, APortThatRefuses) {
  int port = 0;
  {
    const End gone(1);
    port = gone.transport->port();
  }
  End a(0);
  const Seen seen = try_one(a, pair_of(0, 1), {"127.0.0.1", port, "node1"}, Seconds(0.3));
  ASSERT_TRUE(seen) << seen.error().text();
  const run::Reach& reach = seen->begin()->second;
  EXPECT_FALSE(reach.called);
  EXPECT_FALSE(reach.taken);
  EXPECT_NE(reach.why.find("refused"), std::string::npos) << reach.why;
  EXPECT_EQ(reach.packet, 0);
}

TEST(ReachOf, OneThatListensAndSaysNothing) {
  const End silent(1);  // nobody runs its loop: its kernel alone answers
  End a(0);
  const Seen seen = try_one(a, pair_of(0, 1), {"127.0.0.1", silent.transport->port(), "node1"}, Seconds(0.3));
  ASSERT_TRUE(seen) << seen.error().text();
  const run::Reach& reach = seen->begin()->second;
  EXPECT_FALSE(reach.called) << "its program has not answered";
  EXPECT_EQ(reach.why, "");
}

TEST(ReachOf, EndsWhenToldTo) {
  const End silent(1);
  End a(0);
  const Seen seen = a.transport->reach(
      {{pair_of(0, 1), {"127.0.0.1", silent.transport->port(), "node1"}}}, [] { return true; }, Seconds(20));
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().cause, Cause::cancelled);
}

}  // namespace
}  // namespace ringtrue::transport::tcp
