#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/ip.h"
#include "transport/verbs/greeting.h"
#include "transport/verbs/slice.h"

namespace ringtrue::transport::verbs {
namespace {

using testing::HasSubstr;

std::array<std::byte, 16> ipv4(int last) {
  std::array<std::byte, 16> gid{};
  gid[10] = gid[11] = std::byte{0xff};
  gid[12] = std::byte{10};
  gid[15] = std::byte(last);
  return gid;
}

Greeting roce(int node) {
  Greeting greeting;
  for (const char* name : {"mlx5_0:1", "mlx5_1:1"})
    greeting.rails.push_back({name,
                              LinkLayer::ethernet,
                              0,
                              true,
                              ipv4(node),
                              4096,
                              0x1234u,
                              {{0x100u, 1u}, {0xffffffu, 0xffffffu}}});
  greeting.ring_address = 0x7f00'1234'5678;
  greeting.slots = 8;
  greeting.slot_bytes = 256 * 1024;
  return greeting;
}
Greeting infiniband(std::uint16_t lid) {
  Greeting greeting = roce(1);
  for (Greeting::Rail& rail : greeting.rails) {
    rail.layer = LinkLayer::infiniband;
    rail.lid = lid;
    rail.global = false;
  }
  return greeting;
}

TEST(VerbsGreeting, ArrivesAsItWasSent) {
  const auto bytes = encode(roce(3));
  const auto came = decode(bytes);
  ASSERT_TRUE(came);
  EXPECT_EQ(encode(*came), bytes);
  EXPECT_EQ(came->ring_address, 0x7f00'1234'5678u);
  EXPECT_EQ(came->slots, 8u);
  EXPECT_EQ(came->slot_bytes, 256u * 1024);
  ASSERT_EQ(came->rails.size(), 2u);
  const Greeting::Rail& rail = came->rails[1];
  EXPECT_EQ(rail.name, "mlx5_1:1");
  EXPECT_EQ(rail.layer, LinkLayer::ethernet);
  EXPECT_TRUE(rail.global);
  EXPECT_EQ(rail.gid, ipv4(3));
  EXPECT_EQ(rail.mtu, 4096);
  EXPECT_EQ(rail.ring_key, 0x1234u);
  ASSERT_EQ(rail.queue_pairs.size(), 2u);
  EXPECT_EQ(rail.queue_pairs[1].queue_pair, 0xffffffu);
  EXPECT_EQ(rail.queue_pairs[1].packet_sequence, 0xffffffu);
  EXPECT_EQ(decode(encode(infiniband(77)))->rails[0].lid, 77);
}

TEST(VerbsGreeting, AReasonArrivesAloneAndReadable) {
  Greeting greeting = roce(1);
  greeting.why_not = "no RDMA device";
  const auto came = decode(encode(greeting));
  ASSERT_TRUE(came);
  EXPECT_EQ(came->why_not, "no RDMA device");
  EXPECT_TRUE(came->rails.empty());
  greeting.why_not = "a\x1b[2Jb\n" + std::string(100'000, 'x');
  const auto cleaned = decode(encode(greeting));
  ASSERT_TRUE(cleaned);
  EXPECT_THAT(cleaned->why_not, testing::StartsWith("a?[2Jb?xxx"));
  EXPECT_LT(cleaned->why_not.size(), 2000u);
}

TEST(VerbsGreeting, WhatEncodeNeverMakesIsRefused) {
  const auto refused = [](auto change) {
    Greeting greeting = roce(1);
    change(greeting);
    EXPECT_FALSE(decode(encode(greeting)));
  };
  refused([](Greeting& g) { g.slots = 1; });
  refused([](Greeting& g) { g.slots = 65; });
  refused([](Greeting& g) { g.slot_bytes = 0; });
  refused([](Greeting& g) { g.slot_bytes = 100; });
  refused([](Greeting& g) { g.slot_bytes = (4 << 20) + 64; });
  refused([](Greeting& g) { g.rails.clear(); });
  refused([](Greeting& g) { g.rails.resize(65, g.rails[0]); });
  refused([](Greeting& g) { g.rails[0].mtu = 1500; });
  refused([](Greeting& g) { g.rails[0].mtu = 128; });
  refused([](Greeting& g) { g.rails[0].layer = LinkLayer(2); });
  refused([](Greeting& g) { g.rails[0].queue_pairs.clear(); });
  refused([](Greeting& g) { g.rails[0].queue_pairs.resize(17); });
  refused([](Greeting& g) { g.rails[0].queue_pairs[0].queue_pair = 1u << 24; });
  refused([](Greeting& g) { g.rails[0].queue_pairs[0].packet_sequence = 1u << 24; });

  const auto bytes = encode(roce(1));
  EXPECT_LT(bytes.size(), max_greeting);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode(std::span(bytes).first(length))) << length;
  auto longer = bytes;
  longer.push_back({});
  EXPECT_FALSE(decode(longer));
  std::minstd_rand random(1);
  for (int i = 0; i < 20'000; ++i) {
    auto changed = bytes;
    for (unsigned n = 1 + random() % 4; n > 0; --n) changed[random() % changed.size()] = std::byte(random());
    const auto came = decode(changed);
    EXPECT_TRUE(!came || encode(*came) == changed);
  }
}

TEST(VerbsGreeting, TheMostThatSettingsAllowFits) {
  Greeting greeting = roce(1);
  greeting.rails[0].name = std::string(90, 'm');
  greeting.rails[0].queue_pairs.resize(16);
  greeting.rails.resize(64, greeting.rails[0]);
  const auto bytes = encode(greeting);
  EXPECT_LE(bytes.size(), max_greeting);
  EXPECT_TRUE(decode(bytes));
}

TEST(VerbsGreeting, WhoCannotBeConnectedIsToldWhy) {
  EXPECT_EQ(mismatch(roce(1), roce(2)), "");
  EXPECT_EQ(mismatch(infiniband(1), infiniband(2)), "");
  Greeting without;
  without.why_not = "no RDMA device";
  EXPECT_EQ(mismatch(roce(1), without), "no RDMA device");
  EXPECT_EQ(mismatch(without, roce(1)), "no RDMA device");
  EXPECT_EQ(mismatch(roce(1), infiniband(2)), "mlx5_0:1 is Ethernet, mlx5_0:1 InfiniBand");
  EXPECT_EQ(mismatch(infiniband(2), roce(1)), "mlx5_0:1 is InfiniBand, mlx5_0:1 Ethernet");
  EXPECT_EQ(mismatch(infiniband(1), infiniband(0)), "mlx5_0:1 has no LID");
  Greeting six = roce(1);
  six.rails[1].gid = {};
  EXPECT_EQ(mismatch(roce(1), six), "mlx5_1:1 has an IPv4 GID, mlx5_1:1 an IPv6 GID");
  Greeting one = six;
  one.rails.pop_back();
  EXPECT_EQ(mismatch(roce(1), one), "") << "only pairs of rails count";
}

// InfiniBand rails of these names, each with its subnet and, where routers know it, its FLID.
struct Port {
  const char* name;
  int subnet = 0, flid = 0;
};
Greeting ports(std::initializer_list<Port> all) {
  Greeting greeting = infiniband(9);
  greeting.rails.resize(all.size(), greeting.rails[0]);
  std::size_t r = 0;
  for (const Port& port : all) {
    Greeting::Rail& rail = greeting.rails[r++];
    rail.name = port.name;
    rail.gid = {};
    rail.gid[0] = std::byte(0xfe);
    rail.gid[5] = std::byte(port.flid);
    rail.gid[7] = std::byte(port.subnet);
  }
  return greeting;
}
using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
Pairs paired(const Greeting& ours, const Greeting& theirs) {
  Pairs back;
  for (const auto& [t, r] : pair_rails(theirs, ours)) back.emplace_back(r, t);
  std::sort(back.begin(), back.end());
  EXPECT_EQ(pair_rails(ours, theirs), back) << "both ends agree";
  return pair_rails(ours, theirs);
}

TEST(VerbsGreeting, RailsArePairedByNameThenInOrder) {
  const Greeting four = ports({{"a"}, {"b"}, {"c"}, {"d"}});
  EXPECT_EQ(paired(four, four), (Pairs{{0, 0}, {1, 1}, {2, 2}, {3, 3}}));
  EXPECT_EQ(paired(four, ports({{"a"}, {"c"}, {"d"}})), (Pairs{{0, 0}, {2, 1}, {3, 2}}))
      << "b has no partner";
  EXPECT_EQ(paired(four, ports({{"x"}, {"y"}})), (Pairs{{0, 0}, {1, 1}}));
  EXPECT_EQ(paired(four, ports({{"d"}, {"x"}, {"a"}})), (Pairs{{0, 2}, {1, 1}, {3, 0}}));
  Greeting ethernet = roce(1), one = roce(2);
  one.rails.erase(one.rails.begin());
  EXPECT_EQ(paired(ethernet, one), (Pairs{{1, 0}}));
}

TEST(VerbsGreeting, OnInfiniBandRailsOfOneSubnetArePaired) {
  EXPECT_EQ(paired(ports({{"a", 1}, {"b", 2}}), ports({{"a", 2}, {"b", 1}})), (Pairs{{0, 1}, {1, 0}}));
  // Each lacks another one: what is left cannot reach each other, and is no reason to do without the rest.
  const Greeting ours = ports({{"a", 1}, {"b", 2}}), theirs = ports({{"a", 1}, {"c", 3}});
  EXPECT_EQ(paired(ours, theirs), (Pairs{{0, 0}}));
  EXPECT_EQ(mismatch(ours, theirs), "");
}

TEST(VerbsGreeting, OtherSubnetsAreReachedThroughRoutersAlone) {
  const Greeting here = ports({{"a", 1}}), there = ports({{"b", 2}});
  EXPECT_EQ(mismatch(here, there), "a is in subnet 0x0001, b 0x0002, and no GID of theirs is routed");
  EXPECT_NE(mismatch(ports({{"a", 1, 8}}), there), "");
  EXPECT_EQ(mismatch(ports({{"a", 1, 8}}), ports({{"b", 2, 9}})), "");
  const Route routed = route(ports({{"a", 1, 8}}).rails[0], ports({{"b", 2, 9}}).rails[0]);
  EXPECT_TRUE(routed.global);
  EXPECT_EQ(routed.lid, 9);
  const Route direct = route(ports({{"a", 1, 8}}).rails[0], ports({{"b", 1, 7}}).rails[0]);
  EXPECT_FALSE(direct.global);
  EXPECT_EQ(direct.lid, 9) << "the port's own";
  Greeting asked = here, answered = there;
  asked.rails[0].global = true;
  EXPECT_TRUE(route(asked.rails[0], here.rails[0]).global) << "one end that needs it is enough";
  EXPECT_NE(mismatch(asked, answered), "");
  answered.rails[0].global = true;
  EXPECT_EQ(mismatch(asked, answered), "") << "the operator knows";
}

// A peer says itself where its ports are: what carries an IP address is held to networks.
TEST(VerbsGreeting, PeersPortsLieInTheNetworksOfTheNode) {
  const auto networks = [](std::initializer_list<const char*> texts) {
    std::vector<IpNetwork> list;
    for (const char* text : texts) list.push_back(*parse_network(text));
    return list;
  };
  const auto at = [](const char* address) {
    Greeting greeting = roce(1);
    greeting.rails.resize(1);
    greeting.rails[0].gid = *parse_ip(address);
    return greeting;
  };
  const auto tens = networks({"10.0.0.0/24", "fd00:1::/32"});
  EXPECT_EQ(outside(roce(1), roce(2), tens), "");
  EXPECT_EQ(outside(at("fd00:1::1"), at("fd00:1::2"), tens), "");
  EXPECT_EQ(outside(roce(1), at("10.0.1.2"), tens),
            "10.0.1.2 (mlx5_0:1), outside of this node's networks (10.0.0.0/24, fd00:1::/32)");
  const auto all = networks({"0.0.0.0/0", "::/0"});
  for (const char* group : {"224.0.0.1", "255.255.255.255", "0.0.0.0"})
    EXPECT_NE(outside(roce(1), at(group), all), "") << group;
  for (const char* group : {"ff02::1", "::"})
    EXPECT_NE(outside(at("fd00:1::1"), at(group), all), "") << group;
  // Of the link: to whom is on it as well.
  EXPECT_EQ(outside(at("fe80::1"), at("fe80::2"), tens), "");
  EXPECT_NE(outside(at("fd00:1::1"), at("fe80::2"), tens), "");
  EXPECT_EQ(outside(at("169.254.3.1"), at("169.254.3.2"), tens), "");
  EXPECT_NE(outside(roce(1), at("169.254.169.254"), tens), "");
  // The second of two rails.
  Greeting astray = roce(2);
  astray.rails[1].gid = *parse_ip("192.0.2.1");
  EXPECT_EQ(outside(roce(1), astray, tens),
            "192.0.2.1 (mlx5_1:1), outside of this node's networks (10.0.0.0/24, fd00:1::/32)");
}

TEST(VerbsGreeting, WhatAFabricWithoutIpReachesIsOfOurSubnet) {
  const auto port = [](const char* gid, bool global) {
    Greeting greeting = roce(1);
    greeting.rails.resize(1);
    Greeting::Rail& rail = greeting.rails[0];
    rail.layer = LinkLayer::infiniband;
    rail.lid = 7;
    rail.global = global;
    rail.gid = *parse_ip(gid);
    return greeting;
  };
  const std::vector<IpNetwork> tens{*parse_network("10.0.0.0/24")};
  EXPECT_EQ(outside(port("fe80::1", false), port("fe80::2", false), tens), "");  // by LID
  EXPECT_EQ(outside(port("fe80::1", true), port("fe80::2", true), tens), "");
  EXPECT_EQ(outside(port("fec0:0:7::1", true), port("fec0:0:8:1::2", true), tens), "");  // routers' FLIDs
  EXPECT_NE(outside(port("fe80::1", true), port("fec0::1:0:0:0:2", true), tens), "");
  EXPECT_EQ(outside(port("fe80::1", true), port("fec0::1:0:0:0:2", true), {*parse_network("fec0::/16")}), "");
}

TEST(VerbsSlice, HeadsAndImmediatesAreReadBack) {
  const Head head{0x0123'4567'89ab, 77};
  const auto bytes = encode(head, 5);
  EXPECT_EQ(decode(bytes, 5), head);
  EXPECT_FALSE(decode(bytes, 6));
  for (std::size_t i = 0; i < 8 * bytes.size(); ++i) {
    auto changed = bytes;
    changed[i / 8] ^= std::byte(1 << i % 8);
    EXPECT_FALSE(decode(changed, 5)) << i;
  }
  for (const auto kind : {Immediate::Kind::slice, Immediate::Kind::last, Immediate::Kind::credits})
    for (const std::uint32_t number : {0u, 1u, number_mask}) {
      const auto came = decode(encode(Immediate{kind, number}));
      ASSERT_TRUE(came);
      EXPECT_EQ(came->kind, kind);
      EXPECT_EQ(came->number, number);
    }
  EXPECT_EQ(decode(encode(Immediate{Immediate::Kind::last, number_mask + 1}))->number, 0u) << "it goes round";
  EXPECT_FALSE(decode(0xc0000000u));
}

}  // namespace
}  // namespace ringtrue::transport::verbs
