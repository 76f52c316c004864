#include "base/ip.h"

#include <gtest/gtest.h>

namespace ringtrue {
namespace {

TEST(ParseIp, TakesIpv4AsRoceHasIt) {
  EXPECT_EQ(parse_ip("10.1.2.3"), parse_ip("::ffff:10.1.2.3"));
  EXPECT_EQ(parse_ip("10.1.2.3"), parse_ip("0000:0000:0000:0000:0000:ffff:0a01:0203"));
  EXPECT_NE(parse_ip("10.1.2.3"), parse_ip("10.1.2.4"));
}

TEST(ParseIp, TakesIpv6WithAndWithoutAZone) {
  EXPECT_EQ(parse_ip("fe80::1%eth0"), parse_ip("fe80:0000:0000:0000:0000:0000:0000:0001"));
}

TEST(ParseIp, SaysWhatIsNoAddress) {
  for (const char* text : {"", "node1", "10.1.2", "10.1.2.300", "fe80::1::2", "%eth0", "10.1.2.3%eth0"})
    EXPECT_FALSE(parse_ip(text)) << text;
}

TEST(IpNetwork, HoldsItsAddresses) {
  const auto holds = [](const char* network, const char* address) {
    return parse_network(network)->holds(*parse_ip(address));
  };
  EXPECT_TRUE(holds("10.2.0.0/15", "10.3.255.255"));
  EXPECT_FALSE(holds("10.2.0.0/15", "10.4.0.0"));
  EXPECT_TRUE(holds("10.2.3.4/15", "10.3.0.1"));  // bits of hosts are left out
  EXPECT_TRUE(holds("10.0.0.7", "10.0.0.7"));
  EXPECT_FALSE(holds("10.0.0.7", "10.0.0.6"));
  EXPECT_TRUE(holds("fd00:0:0:1::/63", "fd00::1"));
  EXPECT_FALSE(holds("fd00::/64", "fd00:0:0:1::1"));
  EXPECT_TRUE(holds("0.0.0.0/0", "8.8.8.8"));
  EXPECT_FALSE(holds("0.0.0.0/0", "fd00::1"));
  EXPECT_FALSE(holds("::/0", "10.0.0.1"));
}

TEST(IpNetwork, ReadsBack) {
  for (const char* text : {"10.0.0.0/8", "0.0.0.0/0", "10.0.0.7", "fd00::/64", "::/0", "fd00::7"})
    EXPECT_EQ(to_text(*parse_network(text)), text);
  for (const char* text : {"", "/8", "10.0.0.0/", "10.0.0.0/33", "fd00::/129", "node1/8", "10.0.0.0/-1",
                           "10.0.0.0/8x", "fe80::%eth0/64", "10.0.0.0/8/8"})
    EXPECT_FALSE(parse_network(text)) << text;
}

TEST(IpKinds, AreTold) {
  for (const char* text : {"127.0.0.1", "127.255.0.1", "::1"})
    EXPECT_TRUE(is_loopback(*parse_ip(text))) << text;
  for (const char* text : {"128.0.0.1", "::", "::2", "10.0.0.1"})
    EXPECT_FALSE(is_loopback(*parse_ip(text))) << text;
  for (const char* text : {"169.254.1.1", "fe80::1", "febf::1"})
    EXPECT_TRUE(is_link_local(*parse_ip(text))) << text;
  for (const char* text : {"169.253.1.1", "fec0::1"}) EXPECT_FALSE(is_link_local(*parse_ip(text))) << text;
  for (const char* text : {"10.0.0.1", "fd00::1", "::1"}) EXPECT_TRUE(is_of_one(*parse_ip(text))) << text;
  for (const char* text :
       {"0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.0.1", "255.255.255.255", "::", "ff02::1"})
    EXPECT_FALSE(is_of_one(*parse_ip(text))) << text;
}

}  // namespace
}  // namespace ringtrue
