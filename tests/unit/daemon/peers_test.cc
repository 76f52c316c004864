#include "daemon/peers.h"

#include <gtest/gtest.h>

namespace ringtrue::daemon {
namespace {

Peers peers(std::initializer_list<const char*> networks) {
  std::vector<IpNetwork> list;
  for (const char* text : networks) list.push_back(*parse_network(text));
  return Peers(list);
}

TEST(Peers, AreInTheConfiguredNetworks) {
  const Peers some = peers({"10.1.0.0/16", "fd00:1::/32", "192.0.2.7"});
  for (const char* host : {"10.1.255.3", "::ffff:10.1.0.9", "fd00:1:2::3", "192.0.2.7"})
    EXPECT_TRUE(some.allow("node1", host, false)) << host;
  for (const char* host :
       {"10.2.0.1", "192.0.2.8", "fd00:2::1", "8.8.8.8", "169.254.169.254", "fe80::1", "fe80::1%eth0"})
    EXPECT_FALSE(some.allow("node1", host, false)) << host;
  const auto refused = some.allow("node1", "169.254.169.254", false);
  EXPECT_EQ(refused.error().cause, Cause::refused);
  EXPECT_EQ(refused.error().what,
            "node1 is said to be at 169.254.169.254, outside of this node's configured networks "
            "(10.1.0.0/16, fd00:1::/32, 192.0.2.7)");
  EXPECT_NE(refused.error().next.find("peers under [daemon]"), std::string::npos);
}

TEST(Peers, AreNumbers) {
  const Peers all = peers({"0.0.0.0/0", "::/0"});
  EXPECT_TRUE(all.allow("node1", "10.0.0.1", false));
  for (const char* host : {"localhost", "node1", "10.1", "0x7f000001", "2130706433", "", "10.0.0.1 ", "a\nb"})
    EXPECT_FALSE(all.allow("node1", host, true)) << host;
}

// Datagrams to all of them, or to whatever this machine takes 0.0.0.0 for.
TEST(Peers, AreNoGroups) {
  const Peers all = peers({"0.0.0.0/0", "::/0"});
  for (const char* host :
       {"0.0.0.0", "::", "224.0.0.1", "239.1.2.3", "255.255.255.255", "ff02::1", "::ffff:0.0.0.0"})
    EXPECT_FALSE(all.allow("node1", host, true)) << host;
}

TEST(Peers, AreOnLoopbackOnlyWhereTheOperatorIs) {
  for (const Peers& some : {Peers(), peers({"10.1.0.0/16"})})
    for (const char* host : {"127.0.0.1", "127.8.8.8", "::1"}) {
      EXPECT_TRUE(some.allow("node1", host, true)) << host;
      EXPECT_FALSE(some.allow("node1", host, false)) << host;
    }
  EXPECT_TRUE(peers({"127.0.0.0/8"}).allow("node1", "127.0.0.1", false));
}

TEST(Peers, AreToldToWorkersAsNetworks) {
  const auto all = [](const Peers& some, bool local) { return to_text(*some.networks(local)); };
  EXPECT_EQ(all(peers({"10.1.0.0/16"}), false), "10.1.0.0/16");
  EXPECT_EQ(all(peers({"10.1.0.0/16"}), true), "10.1.0.0/16, 127.0.0.0/8, ::1");
  EXPECT_EQ(*Peers().networks(false), *own_networks());
}

TEST(Peers, AreNobodyWhereInterfacesCannotBeListed) {
  const Peers blind({}, [] { return fail(Cause::unavailable, "cannot list this node's interfaces: why"); });
  for (const bool local : {false, true}) {
    ASSERT_FALSE(blind.networks(local));
    EXPECT_EQ(blind.allow("node1", "10.0.0.1", local).error().what,
              "cannot list this node's interfaces: why");
  }
  EXPECT_TRUE(blind.allow("node1", "127.0.0.1", true));  // which takes no list
}

TEST(Peers, AreByDefaultInTheNetworksOfInterfaces) {
  const auto own = own_networks();
  ASSERT_TRUE(own) << own.error().text();
  for (const IpNetwork& network : *own) {
    EXPECT_FALSE(is_loopback(network.address) || is_link_local(network.address)) << to_text(network);
    IpBytes neighbour = network.address;
    if (network.bits < 128) neighbour[15] |= std::byte(1);
    EXPECT_TRUE(Peers().allow("node1", to_text(neighbour), false)) << to_text(network);
  }
  for (const char* host : {"169.254.169.254", "fe80::1"})
    EXPECT_FALSE(Peers().allow("node1", host, true)) << host;
}

}  // namespace
}  // namespace ringtrue::daemon
