// Messages over connections that stand, between two processes' transports on one loop.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/tcp/transport.h"

namespace ringtrue::transport::tcp {
namespace {

constexpr std::size_t longest = 64 * 1024;
const auto never = [] { return false; };

std::vector<std::byte> bytes(std::size_t count, int value) {
  return std::vector<std::byte>(count, std::byte(value));
}

// Two seats of one process, connected with themselves on a few lanes.
class Exchange : public testing::Test {
 protected:
  void SetUp() override {
    loop_ = *Loop::make();
    transport_ = *Transport::make({"127.0.0.1", 0, 0, "a secret of the run", {{0, 0}, {1, 0}}}, *loop_);
    std::map<ConnectionKey, PeerAddress> wanted;
    for (Lane lane = 0; lane < 3; ++lane) {
      wanted[{{0, 0}, {1, 0}, lane}] = {"127.0.0.1", transport_->port(), "node1"};
      wanted[{{1, 0}, {0, 0}, lane}] = {"127.0.0.1", transport_->port(), "node0"};
    }
    const auto connected = transport_->connect(wanted, never, Deadline::in(Seconds(5)));
    ASSERT_TRUE(connected) << connected.error().text();
  }
  ConnectionKey there(Lane lane) const { return {{0, 0}, {1, 0}, lane}; }
  ConnectionKey back(Lane lane) const { return {{1, 0}, {0, 0}, lane}; }
  Result<Transport::Messages> exchange(Transport::Messages messages, double seconds = 5) {
    return transport_->exchange(std::move(messages), longest, "RDMA addresses", never,
                                Deadline::in(Seconds(seconds)));
  }
  void write(Lane lane, const void* from, std::size_t count) {
    ASSERT_EQ(::send(transport_->descriptor(back(lane)), from, count, MSG_NOSIGNAL), ssize_t(count));
  }

  std::unique_ptr<Loop> loop_;
  std::unique_ptr<Transport> transport_;
};

TEST_F(Exchange, BringsEachPeersMessageOnEveryLane) {
  for (int round = 0; round < 2; ++round) {
    Transport::Messages messages;
    for (Lane lane = 0; lane < 3; ++lane) {
      messages[there(lane)] = {bytes(lane * (longest / 2), 1 + lane + round), "node1"};
      messages[back(lane)] = {bytes(7, 10 + lane), "node0"};
    }
    const auto theirs = exchange(messages);
    ASSERT_TRUE(theirs) << theirs.error().text();
    ASSERT_EQ(theirs->size(), 6u);
    for (Lane lane = 0; lane < 3; ++lane) {
      EXPECT_EQ(theirs->at(back(lane)).bytes, messages[there(lane)].bytes);
      EXPECT_EQ(theirs->at(there(lane)).bytes, messages[back(lane)].bytes);
      EXPECT_EQ(theirs->at(there(lane)).node, "node1");
    }
  }
}

TEST_F(Exchange, LeavesWhatFollowsAMessage) {
  write(0, "\x02\0\0\0OKafter", 11);
  const auto theirs = exchange({{there(0), {bytes(3, 1), "node1"}}});
  ASSERT_TRUE(theirs) << theirs.error().text();
  EXPECT_EQ(theirs->at(there(0)).bytes.size(), 2u);
  char rest[16] = {};
  EXPECT_EQ(::recv(transport_->descriptor(there(0)), rest, sizeof rest, 0), 5);
  EXPECT_STREQ(rest, "after");
}

TEST_F(Exchange, NamesThePeerThatSaysNothing) {
  write(1, "\x09\0\0\0half", 8);
  const auto theirs = exchange({{there(1), {bytes(3, 1), "node1"}}}, 0.1);
  ASSERT_FALSE(theirs);
  EXPECT_EQ(theirs.error().cause, Cause::deadline);
  EXPECT_EQ(theirs.error().where, "node1");
  EXPECT_NE(theirs.error().what.find("no RDMA addresses came from node1"), std::string::npos);
}

TEST_F(Exchange, NamesThePeerThatIsGone) {
  ::shutdown(transport_->descriptor(back(2)), SHUT_RDWR);
  const auto theirs =
      exchange({{there(1), {bytes(3, 1), "node1"}}, {back(1), {{}, "node0"}}, {there(2), {{}, "node1"}}});
  ASSERT_FALSE(theirs);
  EXPECT_EQ(theirs.error().cause, Cause::peer_lost) << theirs.error().text();
  EXPECT_EQ(theirs.error().where, "node1");
}

TEST_F(Exchange, RefusesALengthThatNobodyAgreedOn) {
  write(0, "\x01\x00\x01\x00!", 5);
  const auto theirs = exchange({{there(0), {{}, "node1"}}});
  ASSERT_FALSE(theirs);
  EXPECT_EQ(theirs.error().cause, Cause::corrupted);
  EXPECT_EQ(theirs.error().where, "node1");
}

TEST_F(Exchange, StopsWhenTold) {
  const auto theirs = transport_->exchange(
      {{there(0), {{}, "node1"}}}, longest, "RDMA addresses", [] { return true; }, Deadline::in(Seconds(5)));
  ASSERT_FALSE(theirs);
  EXPECT_EQ(theirs.error().cause, Cause::cancelled);
}

}  // namespace
}  // namespace ringtrue::transport::tcp
