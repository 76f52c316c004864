#include "transport/interfaces.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>

namespace ringtrue::transport {
namespace {

Interface made(const std::string& name, const std::string& address, double gigabits) {
  Interface out;
  out.name = name;
  out.addresses = {*parse_ip(address)};
  out.mtu = 9000;
  out.up = true;
  out.rate = BytesPerSecond(gigabits * 125e6);
  return out;
}

TEST(Interfaces, LoopbackIsOne) {
  const auto all = interfaces();
  const auto lo = std::find_if(all.begin(), all.end(), [](const Interface& each) { return each.loopback; });
  ASSERT_NE(lo, all.end());
  EXPECT_TRUE(std::find(lo->addresses.begin(), lo->addresses.end(), *parse_ip("127.0.0.1")) !=
              lo->addresses.end());
  EXPECT_GT(lo->mtu, 0);
  EXPECT_EQ(lo->rate.value, 0) << "it has no wire";
}

TEST(Interfaces, TheWayToThisMachineIsLoopback) {
  const auto outlet = outlet_to(*resolve("127.0.0.1", 1, SOCK_STREAM));
  ASSERT_TRUE(outlet);
  EXPECT_EQ(outlet->address, *parse_ip("127.0.0.1"));
  const auto network = network_of(*outlet, interfaces());
  ASSERT_TRUE(network);
  EXPECT_EQ(network->address, "127.0.0.1");
  EXPECT_GE(network->mtu, outlet->path_mtu);
  EXPECT_EQ(network->faster, "");
}

TEST(Interfaces, AFasterOneIsTold) {
  const Outlet outlet{*parse_ip("10.0.0.7"), 1500};
  Interface down = made("eth3", "10.3.0.7", 400), link_local = made("eth4", "169.254.0.7", 400);
  down.up = false;
  const auto network = network_of(outlet, {made("eth0", "10.0.0.7", 1), made("eth1", "10.1.0.7", 25),
                                           made("eth2", "10.2.0.7", 100), down, link_local});
  ASSERT_TRUE(network);
  EXPECT_EQ(network->interface, "eth0");
  EXPECT_EQ(network->mtu, 9000);
  EXPECT_EQ(network->path_mtu, 1500);
  EXPECT_EQ(network->faster, "eth2");
  EXPECT_EQ(network->faster_rate, BytesPerSecond(12.5e9));
}

TEST(Interfaces, BesideAnUnknownRateNoneIsFaster) {
  const Outlet outlet{*parse_ip("10.0.0.7"), 0};
  const auto network = network_of(outlet, {made("eth0", "10.0.0.7", 0), made("eth1", "10.1.0.7", 25)});
  ASSERT_TRUE(network);
  EXPECT_EQ(network->faster, "");
  EXPECT_FALSE(network_of({*parse_ip("10.9.9.9"), 0}, {made("eth0", "10.0.0.7", 1)}));
}

}  // namespace
}  // namespace ringtrue::transport
