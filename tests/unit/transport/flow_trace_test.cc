// Flow labels, and tracing what a node would send itself, where no router is between.
#include "transport/verbs/flow_trace.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/ip.h"
#include "transport/verbs/library.h"

namespace ringtrue::transport::verbs {
namespace {

TEST(FlowLabel, IsFoldedIntoThePortAsAdaptersDo) {
  EXPECT_EQ(source_port(0x00001), 0xc001);
  EXPECT_EQ(source_port(0x03fff), 0xffff);
  EXPECT_EQ(source_port(0xfc000), 0xc03f);
  EXPECT_EQ(source_port(0x12345), 0xc000 | (0x2345 ^ 0x4));
}

TEST(FlowLabel, IsOneOfADirectionAndNeverNone) {
  std::set<std::uint32_t> labels;
  for (int a = 1; a <= 32; ++a)
    for (int b = 1; b <= 32; ++b) {
      if (a == b) continue;
      const IpBytes from = *parse_ip("10.0.0." + std::to_string(a)),
                    to = *parse_ip("10.0.0." + std::to_string(b));
      const std::uint32_t label = flow_label(from, to);
      EXPECT_EQ(label, flow_label(from, to));
      EXPECT_GE(label, 1u);
      EXPECT_LE(label, 0x3fffu);
      labels.insert(label);
    }
  EXPECT_GT(labels.size(), 900u) << "of 992 directions in 16,383 labels";
}

class FlowTraces : public testing::TestWithParam<std::string> {
 protected:
  // A port of the address at which nobody listens: its socket takes nothing but what port 1 sends, and while
  // it is open nobody else is given the port.
  int closed_port() {
    const bool v4 = GetParam().find(':') == std::string::npos;
    const int family = v4 ? AF_INET : AF_INET6;
    SocketAddress at = *resolve(GetParam(), 0, SOCK_DGRAM, family);
    const SocketAddress only = *resolve(GetParam(), 1, SOCK_DGRAM, family);
    const OwnedFd& fd = held_.emplace_back(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&at.storage), at.size), 0);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&only.storage), only.size), 0);
    at.size = sizeof at.storage;
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&at.storage), &at.size);
    return at.port();
  }
  const IpBytes gid_ = *parse_ip(GetParam());
  std::vector<OwnedFd> held_;
  std::unique_ptr<Loop> loop_ = *Loop::make();
};

TEST_P(FlowTraces, KnowTheWayToANeighbour) {
  FlowTrace there(*loop_, {gid_, gid_, 17}, 4791, closed_port());
  FlowTrace back(*loop_, {gid_, gid_, 18}, 4791, closed_port());
  const auto played = play(
      *loop_, {&there, &back}, [] { return false; }, Deadline::in(Seconds(5)));
  ASSERT_TRUE(played) << played.error().text();
  EXPECT_EQ(there.way(), (TracedWay{true, {}}));
  EXPECT_EQ(back.way(), (TracedWay{true, {}}));
}

TEST_P(FlowTraces, EndWhenToldTo) {
  FlowTrace trace(*loop_, {gid_, gid_, 17}, 4791, closed_port());
  const auto stopped = play(
      *loop_, {&trace}, [] { return true; }, Deadline::in(Seconds(5)));
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().cause, Cause::cancelled);
}

TEST(FlowTrace, FromAnAddressThatIsNotOursIsUnknown) {
  const auto loop = *Loop::make();
  FlowTrace trace(*loop, {*parse_ip("192.0.2.1"), *parse_ip("127.0.0.1"), 17});
  ASSERT_TRUE(play(
      *loop, {&trace}, [] { return false; }, Deadline::in(Seconds(5))));
  EXPECT_EQ(trace.way(), TracedWay{});
}

INSTANTIATE_TEST_SUITE_P(Families, FlowTraces, testing::Values("127.0.0.1", "::1"),
                         [](const auto& about) { return about.param == "::1" ? "IPv6" : "IPv4"; });

}  // namespace
}  // namespace ringtrue::transport::verbs
