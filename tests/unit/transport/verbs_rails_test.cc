#include "transport/verbs/rails.h"

#include <gtest/gtest.h>

#include "run/rdma.h"
#include "tests/support/fake_verbs.h"

namespace ringtrue::transport::verbs {
namespace {

class VerbsRails : public testing::Test {
 protected:
  // What choose_rails says of a node with these devices, as "mlx5_0:1 10.1.0.7, ..." or "error; next".
  std::string choose(std::vector<FakeDevice> devices, const run::RdmaSettings& settings = {},
                     const std::string& data_address = "",
                     const std::optional<std::vector<std::string>>& others = {}) {
    FakeFabric fabric;
    const auto opened = open_devices(fabric.add_node(std::move(devices)));
    const auto choice = choose_rails(*opened, settings, {data_address, others});
    left_out.clear();
    if (!choice) {
      EXPECT_EQ(choice.error().cause, Cause::unavailable);
      return choice.error().what + "; " + choice.error().next;
    }
    for (const LeftOut& each : choice->left_out)
      left_out.push_back((each.other_kind ? "other: " : "") + each.why);
    std::string text;
    for (const Rail& rail : choice->rails) {
      text += (text.empty() ? "" : ", ") + to_text(rail.name) + " ";
      text += rail.global ? to_text(rail.gid) : "LID " + std::to_string(rail.port.lid);
    }
    return text;
  }
  std::vector<std::string> left_out;  // of the last choice
  static FakeDevice down(FakeDevice device, const std::string& state = "down") {
    device.ports[0].state.active = false;
    device.ports[0].state.state = state;
    return device;
  }
  static FakeDevice rate(FakeDevice device, double gigabits) {
    device.ports[0].state.rate = BytesPerSecond(gigabits * 1e9 / 8);
    return device;
  }
  // RoCE with these v2 GIDs, each behind the v1 GID of the same address, as kernels list them.
  static FakeDevice roce(const std::string& name, const std::vector<std::string>& addresses) {
    FakeDevice device = fake_roce(name, addresses.at(0));
    auto& gids = device.ports[0].gids;
    gids.clear();
    for (const std::string& address : addresses)
      for (const Gid::Type type : {Gid::Type::roce_v1, Gid::Type::roce_v2})
        gids.push_back(fake_gid(address, int(gids.size()), type));
    return device;
  }
};

TEST_F(VerbsRails, TakesEveryActiveInfiniBandPortByItsLid) {
  EXPECT_EQ(choose({fake_infiniband("mlx5_1", 8), fake_infiniband("mlx5_0", 7)}),
            "mlx5_0:1 LID 7, mlx5_1:1 LID 8");
  EXPECT_EQ(choose({fake_infiniband("mlx5_0", 7), down(fake_infiniband("mlx5_1", 8))}), "mlx5_0:1 LID 7");
  // The data address is that of another interface, as IP over InfiniBand has one.
  EXPECT_EQ(choose({fake_infiniband("mlx5_0", 7)}, {}, "10.1.0.7"), "mlx5_0:1 LID 7");
}

TEST_F(VerbsRails, LooksAtEachPortOfADevice) {
  FakeDevice device = fake_infiniband("mlx4_0", 7);
  device.ports.push_back(device.ports[0]);
  device.ports[1].state.lid = 9;
  EXPECT_EQ(choose({device}), "mlx4_0:1 LID 7, mlx4_0:2 LID 9");
  EXPECT_EQ(choose({device}, {.ports = {{"mlx4_0", 2}}}), "mlx4_0:2 LID 9");
}

TEST_F(VerbsRails, PrefersIpv4ThenRoutableIpv6ThenLinkLocal) {
  EXPECT_EQ(choose({roce("rxe0", {"fe80::1", "2001:db8::1", "10.1.0.7"})}), "rxe0:1 10.1.0.7");
  EXPECT_EQ(choose({roce("rxe0", {"fe80::1", "2001:db8::1"})}), "rxe0:1 2001:db8::1");
  EXPECT_EQ(choose({roce("rxe0", {"fe80::1"})}), "rxe0:1 fe80::1");
  EXPECT_EQ(choose({roce("rxe0", {"10.1.0.7", "10.2.0.7"})}), "rxe0:1 10.1.0.7");
}

TEST_F(VerbsRails, NeverTakesRoceV1ByItself) {
  FakeDevice device = roce("mlx4_0", {"10.1.0.7"});
  device.ports[0].gids.pop_back();
  EXPECT_EQ(choose({device}),
            "no usable RDMA port: mlx4_0:1 has no RoCE v2 GID; give its network interface an IP address; "
            "RoCE v1 is "
            "not used");
}

TEST_F(VerbsRails, TakesThePortOfItsAddressAloneWhileNothingIsKnownOfOthers) {
  const std::vector<FakeDevice> devices = {roce("rxe0", {"10.1.0.1"}), roce("rxe1", {"fe80::2", "10.1.0.2"}),
                                           roce("rxe2", {"10.1.0.3"})};
  EXPECT_EQ(choose(devices, {}, "10.1.0.2"), "rxe1:1 10.1.0.2");
  EXPECT_EQ(choose(devices, {}, "fe80::2%eth0"), "rxe1:1 fe80::2");
  EXPECT_EQ(choose(devices, {}, "192.168.0.1"), "rxe0:1 10.1.0.1, rxe1:1 10.1.0.2, rxe2:1 10.1.0.3");
  EXPECT_EQ(choose(devices, {}, "node1"), "rxe0:1 10.1.0.1, rxe1:1 10.1.0.2, rxe2:1 10.1.0.3");
  // The operator's word counts more.
  EXPECT_EQ(choose(devices, {.ports = {{"rxe2", 1}}}, "10.1.0.2"), "rxe2:1 10.1.0.3");
  // One of a port's several addresses.
  EXPECT_EQ(choose({roce("rxe0", {"10.1.0.7", "10.2.0.7"})}, {}, "10.2.0.7"), "rxe0:1 10.2.0.7");
}

TEST_F(VerbsRails, AManagementPortWithTheDataAddressIsNoRail) {
  const std::vector<FakeDevice> devices = {rate(fake_roce("irdma0", "10.0.0.7"), 25),
                                           rate(fake_roce("mlx5_0", "10.1.0.7"), 400),
                                           rate(fake_roce("mlx5_1", "10.2.0.7"), 400)};
  const std::vector<std::string> others = {"10.0.0.8", "10.0.0.9"};
  EXPECT_EQ(choose(devices, {}, "10.0.0.7"), "mlx5_0:1 10.1.0.7, mlx5_1:1 10.2.0.7");
  EXPECT_EQ(choose(devices, {}, "10.0.0.7", others), "mlx5_0:1 10.1.0.7, mlx5_1:1 10.2.0.7");
  // Nor is the one rail that a daemon listens on the only one.
  EXPECT_EQ(choose(devices, {}, "10.2.0.7", {{"10.2.0.8"}}), "mlx5_0:1 10.1.0.7, mlx5_1:1 10.2.0.7");
}

TEST_F(VerbsRails, OfNodesThatSeeEachOthersDevicesEachHasItsOwn) {
  const std::vector<FakeDevice> devices = {roce("rxe0", {"10.1.0.1"}), roce("rxe1", {"fe80::2", "10.1.0.2"}),
                                           roce("rxe2", {"10.1.0.3"})};
  // One of the others is enough to tell that rxe2 is somebody else's, too.
  EXPECT_EQ(choose(devices, {}, "10.1.0.2", {{"10.1.0.1"}}), "rxe1:1 10.1.0.2");
  // Two daemons at one address have all ports; so has a node that is alone.
  EXPECT_EQ(choose(devices, {}, "10.1.0.2", {{"10.1.0.2"}}),
            "rxe0:1 10.1.0.1, rxe1:1 10.1.0.2, rxe2:1 10.1.0.3");
  EXPECT_EQ(choose(devices, {}, "10.1.0.2", std::vector<std::string>{}),
            "rxe0:1 10.1.0.1, rxe1:1 10.1.0.2, rxe2:1 10.1.0.3");
  // Where no port has this node's address, those of others are left to them, whatever their rate.
  EXPECT_EQ(choose(devices, {}, "127.0.0.1", {{"10.1.0.1", "10.1.0.3", "node3"}}), "rxe1:1 10.1.0.2");
  EXPECT_EQ(choose({rate(devices[0], 400), rate(devices[1], 100)}, {}, "", {{"10.1.0.1"}}),
            "rxe1:1 10.1.0.2");
  EXPECT_EQ(choose({devices[0]}, {}, "", {{"10.1.0.1"}}),
            "no usable RDMA port: rxe0:1 has another node's address; ");
}

TEST_F(VerbsRails, TakesTheFabricOfTheHigherRate) {
  const auto infiniband = rate(fake_infiniband("mlx5_0", 7), 200),
             ethernet = rate(fake_roce("mlx5_1", "10.1.0.7"), 100);
  EXPECT_EQ(choose({infiniband, ethernet}), "mlx5_0:1 LID 7");
  EXPECT_EQ(choose({infiniband, ethernet, rate(fake_roce("mlx5_2", "10.2.0.7"), 150)}), "mlx5_0:1 LID 7");
  EXPECT_EQ(choose({infiniband, rate(fake_roce("mlx5_1", "10.1.0.7"), 200),
                    rate(fake_roce("mlx5_2", "10.2.0.7"), 200)}),
            "mlx5_1:1 10.1.0.7, mlx5_2:1 10.2.0.7");
  EXPECT_EQ(choose({infiniband, rate(fake_roce("mlx5_1", "10.1.0.7"), 200)}), "mlx5_0:1 LID 7");
  EXPECT_EQ(choose({down(infiniband), ethernet}), "mlx5_1:1 10.1.0.7");
  EXPECT_EQ(choose({infiniband, ethernet}, {}, "10.1.0.7"), "mlx5_0:1 LID 7");
  // A virtual device may tell no rate.
  EXPECT_EQ(choose({rate(fake_roce("rxe0", "10.1.0.7"), 0)}), "rxe0:1 10.1.0.7");
}

TEST_F(VerbsRails, ObeysAGidIndex) {
  const auto device = roce("rxe0", {"10.1.0.7", "fe80::7"});
  EXPECT_EQ(choose({device}, {.gid_index = 3}), "rxe0:1 fe80::7");
  EXPECT_EQ(choose({device}, {.gid_index = 0}), "rxe0:1 10.1.0.7");
  EXPECT_EQ(choose({device}, {.gid_index = 9}),
            "no usable RDMA port: rxe0:1 has no GID at index 9; leave the GID index out, and it is chosen");
  // InfiniBand across subnets goes by GID.
  EXPECT_EQ(choose({fake_infiniband("mlx5_0", 7)}, {.gid_index = 0}), "mlx5_0:1 fe80::2:c903:0:7");
}

TEST_F(VerbsRails, GoesByGidWhereAPortNeedsItAndKnowsRoutedOnes) {
  FakeDevice device = fake_infiniband("mlx5_0", 7);
  device.ports[0].gids.push_back(fake_gid("fec0::9:1:2:c903:0:7", 1, Gid::Type::infiniband));
  EXPECT_EQ(choose({device}), "mlx5_0:1 LID 7");
  device.ports[0].state.needs_grh = true;
  EXPECT_EQ(choose({device}), "mlx5_0:1 fec0:0:9:1:2:c903:0:7") << "with the FLID by which routers know it";
  EXPECT_EQ(choose({device}, {.gid_index = 0}), "mlx5_0:1 fe80::2:c903:0:7");
  device.ports[0].gids.pop_back();
  EXPECT_EQ(choose({device}), "mlx5_0:1 fe80::2:c903:0:7");
}

TEST_F(VerbsRails, TakesNamedPortsInTheirOrder) {
  const std::vector<FakeDevice> devices = {fake_infiniband("mlx5_0", 7), fake_infiniband("mlx5_1", 8),
                                           down(fake_infiniband("mlx5_2", 9))};
  EXPECT_EQ(choose(devices, {.ports = {{"mlx5_1", 1}, {"mlx5_0", 1}}}), "mlx5_1:1 LID 8, mlx5_0:1 LID 7");
  EXPECT_EQ(
      choose(devices, {.ports = {{"mlx5_1", 1}, {"mlx5_2", 1}}}),
      "mlx5_2:1 is down; check the cable and the switch's port, and that the interface is up (ip link)");
  EXPECT_EQ(choose(devices, {.ports = {{"mlx5_9", 1}}}),
            "no RDMA device mlx5_9; this node has mlx5_0, mlx5_1, mlx5_2");
  EXPECT_EQ(choose(devices, {.ports = {{"mlx5_0", 2}}}), "mlx5_0 has no port 2; its ports are 1 to 1");
}

TEST_F(VerbsRails, TellsWhatItLeavesOut) {
  using Whys = std::vector<std::string>;
  const auto infiniband = [](int number, double gigabits) {
    return rate(fake_infiniband("mlx5_" + std::to_string(number), std::uint16_t(number + 1)), gigabits);
  };
  FakeDevice closed = infiniband(4, 400);
  closed.cannot_open = "cannot open the device on mlx5_4: permission denied";
  const std::vector<FakeDevice> devices = {infiniband(0, 400),
                                           infiniband(1, 200),
                                           down(infiniband(2, 100)),
                                           infiniband(3, 400),
                                           closed,
                                           rate(fake_roce("irdma0", "10.0.0.7"), 25)};
  EXPECT_EQ(choose(devices), "mlx5_0:1 LID 1, mlx5_3:1 LID 4");
  EXPECT_EQ(left_out, Whys{"cannot open the device on mlx5_4: permission denied"})
      << "ports may be other nodes', as long as nothing is known of them";
  const auto none = std::vector<std::string>{};
  EXPECT_EQ(choose(devices, {}, "", none), "mlx5_0:1 LID 1, mlx5_3:1 LID 4");
  EXPECT_EQ(left_out, (Whys{"other: irdma0:1 (Ethernet, 25 Gbit/s)",
                            "mlx5_1:1 runs at 200 Gbit/s, others at 400 Gbit/s", "mlx5_2:1 is down",
                            "cannot open the device on mlx5_4: permission denied"}));
  choose(devices, {.ports = {{"mlx5_0", 1}}}, "", none);
  EXPECT_EQ(left_out, Whys{}) << "the operator knows";
  EXPECT_EQ(choose({infiniband(0, 400)}, {}, "", none), "mlx5_0:1 LID 1");
  EXPECT_EQ(left_out, Whys{});
  choose({rate(fake_roce("mlx5_0", "10.1.0.7"), 400), rate(fake_roce("irdma0", "10.0.0.7"), 50),
          rate(fake_roce("mlx5_1", "10.2.0.7"), 100), down(fake_infiniband("mlx5_2", 0), "init"),
          rate(fake_roce("rxe0", "10.3.0.7"), 0)},
         {}, "", none);
  EXPECT_EQ(left_out, (Whys{"other: irdma0:1 (Ethernet, 50 Gbit/s)",
                            "mlx5_1:1 runs at 100 Gbit/s, others at 400 Gbit/s",
                            "other: mlx5_2:1 (InfiniBand, init)", "other: rxe0:1 (Ethernet, rate unknown)"}));
}

TEST_F(VerbsRails, WhereTheRailsAreDownAnotherPortStandsInAndTheyAreTold) {
  const std::vector<FakeDevice> devices = {down(rate(fake_infiniband("mlx5_0", 0), 10)),
                                           down(rate(fake_infiniband("mlx5_1", 0), 10), "init"),
                                           rate(fake_roce("irdma0", "10.0.0.7"), 25)};
  EXPECT_EQ(choose(devices, {}, "", std::vector<std::string>{}), "irdma0:1 10.0.0.7");
  EXPECT_EQ(left_out, (std::vector<std::string>{"mlx5_0:1 is down", "mlx5_1:1 is init"}));
  // One of them is up, and the other one of another fabric, as it always was.
  EXPECT_EQ(choose({devices[0], rate(fake_infiniband("mlx5_1", 7), 400), devices[2]}, {}, "",
                   std::vector<std::string>{}),
            "mlx5_1:1 LID 7");
  EXPECT_EQ(left_out,
            (std::vector<std::string>{"other: irdma0:1 (Ethernet, 25 Gbit/s)", "mlx5_0:1 is down"}));
  // A port for storage that is down says nothing of the rails.
  EXPECT_EQ(choose({rate(fake_infiniband("mlx5_0", 7), 400), down(fake_roce("irdma0", "10.0.0.7"))}, {}, "",
                   std::vector<std::string>{}),
            "mlx5_0:1 LID 7");
  EXPECT_EQ(left_out, (std::vector<std::string>{"other: irdma0:1 (Ethernet, down)"}));
}

TEST_F(VerbsRails, TellsNothingOfPortsThatOtherNodesMayOwn) {
  const std::vector<FakeDevice> devices = {roce("rxe0", {"10.1.0.1"}), down(roce("rxe1", {"10.1.0.2"})),
                                           down(roce("rxe2", {"10.1.0.3"})),
                                           rate(roce("rxe3", {"10.1.0.4"}), 1)};
  EXPECT_EQ(choose(devices, {}, "10.1.0.1", {{"10.1.0.2"}}), "rxe0:1 10.1.0.1");
  EXPECT_EQ(left_out, std::vector<std::string>{});
}

TEST_F(VerbsRails, SaysWhatCannotBeOpened) {
  FakeDevice closed = fake_roce("mlx5_1", "10.2.0.7");
  closed.cannot_open = "permission denied";
  EXPECT_EQ(choose({fake_roce("mlx5_0", "10.1.0.7"), closed}, {.ports = {{"mlx5_1", 1}}}),
            "permission denied; ");
  EXPECT_EQ(choose({closed}, {.ports = {{"mlx5_1", 1}}}), "permission denied; ");
  EXPECT_EQ(
      choose({down(fake_roce("mlx5_0", "10.1.0.7")), closed}),
      "no usable RDMA port: mlx5_0:1 is down, permission denied; check the cable and the switch's port, and "
      "that the interface is up (ip link)");
}

TEST_F(VerbsRails, SaysWhyThereIsNone) {
  EXPECT_EQ(choose({}), "no RDMA device; ");
  EXPECT_EQ(
      choose({down(fake_infiniband("mlx5_0", 0), "init"), down(fake_roce("mlx5_1", "10.1.0.7"))}),
      "no usable RDMA port: mlx5_0:1 is init, mlx5_1:1 is down; an InfiniBand port needs a subnet manager "
      "(opensm) to become active");
  EXPECT_EQ(choose({fake_infiniband("mlx5_0", 0)}),
            "no usable RDMA port: mlx5_0:1 has no LID; is a subnet manager (opensm) running?");
}

}  // namespace
}  // namespace ringtrue::transport::verbs
