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

}  // namespace
}  // namespace ringtrue
