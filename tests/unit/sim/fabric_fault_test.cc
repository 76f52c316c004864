#include "sim/fabric_fault.h"

#include <gtest/gtest.h>

#include "sim/fabric.h"
#include "sim/network.h"

namespace ringtrue::sim {
namespace {

TEST(FabricFault, ReadsBackWhatItWrites) {
  for (const char* text : {"slow-link@node3:share=50%",
                           "slow-link@node3>:share=12.5%",
                           "slow-link@>node3:share=0.0001%",
                           "slow-link@node3.nic1>:share=50%",
                           "slow-link@>node3.gpu0:share=50%",
                           "slow-link@node1>node6:share=30%",
                           "slow-link@leaf0>spine1:share=50%",
                           "slow-link@spine1>leaf0:share=50%",
                           "slow-link@leaf2:share=50%",
                           "slow-link@>leaf2:share=50%",
                           "slow-link@spine2>:share=50%",
                           "slow-link@>spine2:share=50%",
                           "slow-link@leaf0<>spine1:share=50%",
                           "slow-link@leaf0>spine1.cable3:share=50%",
                           "slow-link@spine1>leaf0.cable3:share=50%",
                           "slow-link@leaf0<>spine1.cable0:share=50%",
                           "slow-link@spine12>core7:share=50%",
                           "slow-link@core7>spine12:share=50%",
                           "lossy@spine12<>core7.cable1:share=0.1%,time=1ms",
                           "slow-link@core7:share=50%",
                           "slow-link@>core7:share=50%",
                           "slow-link@core7>:share=50%",
                           "narrow@node0.nic0:share=25%",
                           "lossy@node3>:share=0.1%,time=1ms",
                           "late@node3:time=20us",
                           "flapping@node3:share=10%,period=10ms,time=67ms",
                           "flapping@node3:share=10%,period=10ms,time=0ns",
                           "slow-node@node2:share=50%",
                           "dead@node5",
                           "mtu@node1:mtu=1500",
                           "background@node1>node2:rate=1250MB/s"}) {
    const auto faults = parse_fabric_faults(text);
    ASSERT_TRUE(faults) << faults.error().text();
    ASSERT_EQ(faults->size(), 1u) << text;
    EXPECT_EQ(to_text(faults->front()), text);
    EXPECT_EQ(*parse_fabric_faults(to_text(faults->front())), *faults);
    EXPECT_TRUE(is_fabric_fault(text));
  }
}

TEST(FabricFault, HasDefaultsAndTakesSeveral) {
  const auto faults =
      parse_fabric_faults(" narrow@node1 ; lossy@node2:share=0.01; flapping@node3:share=0.2 ");
  ASSERT_TRUE(faults) << faults.error().text();
  ASSERT_EQ(faults->size(), 3u);
  EXPECT_EQ((*faults)[0].share, 0.5);
  EXPECT_EQ((*faults)[1].time.value, 1e-3);
  EXPECT_EQ((*faults)[2].period.value, 1e-3);
  EXPECT_EQ((*faults)[2].time.value, 1e-3);
  EXPECT_TRUE(parse_fabric_faults("")->empty());
  EXPECT_FALSE(is_fabric_fault("throttle@3>4:rate=1Gbit"));
}

TEST(FabricFault, RefusesWhatMakesNoSense) {
  for (const char* text : {"slow-link",
                           "slow-link@",
                           "slow-link@node",
                           "slow-link@node-1:share=5%",
                           "slow-link@node3:share=0",
                           "slow-link@node3:share=100%",
                           "slow-link@node3:share=nan",
                           "slow-link@node3:share=1e-3",
                           "slow-link@node3:share=5%,share=6%",
                           "slow-link@node3",
                           "slow-link@node3:rate=1Gbit",
                           "slow-link@node3>node3:share=5%",
                           "slow-link@node3.nic1>node2:share=5%",
                           "slow-link@rack1:share=5%",
                           "slow-link@leaf0>core1:share=5%",
                           "slow-link@leaf0>leaf1:share=5%",
                           "slow-link@spine1<>leaf0:share=5%",
                           "slow-link@leaf0<spine1:share=5%",
                           "slow-link@node0<>node1:share=5%",
                           "slow-link@leaf0.cable1>spine1:share=5%",
                           "slow-link@leaf0>spine1.nic1:share=5%",
                           "slow-link@leaf0>spine1.cable:share=5%",
                           "slow-link@spine1.cable2:share=5%",
                           "mtu@core1:mtu=1500",
                           "dead@node3>node4",
                           "dead@node3>",
                           "dead@node3:share=5%",
                           "late@node3:time=-1s",
                           "late@node3:time=2d",
                           "mtu@node3:mtu=1",
                           "background@node3:rate=1Gbit",
                           "slower@node3",
                           "slow-link@node3:share=50%;",
                           "slow-link@node99999999999:share=5%",
                           "flapping@node3:period=1ms"}) {
    const auto faults = parse_fabric_faults(text);
    ASSERT_FALSE(faults) << text;
    EXPECT_EQ(faults.error().cause, Cause::bad_input) << text;
    EXPECT_FALSE(faults.error().next.empty() && faults.error().what.empty()) << text;
  }
}

TEST(FabricFault, IsOfAPlaceThatTheFabricHas) {
  Fabric fabric;
  fabric.nodes = 16;
  fabric.leaf = 2;
  fabric.pod = 4;
  fabric.cables = 2;  // a spine with four cores above it in each of two pods
  const auto fits = [&](std::string_view place) {
    Fabric broken = fabric;
    broken.faults = *parse_fabric_faults("slow-link@" + std::string(place) + ":share=50%");
    return check(broken).has_value();
  };
  for (const char* there : {"leaf0>spine0", "spine1>leaf7.cable1", "spine1<>core1", "core0", "leaf4"})
    EXPECT_TRUE(fits(there)) << there;
  for (const char* nowhere :
       {"leaf0>spine1", "leaf8", "spine2", "core4", "leaf0>spine0.cable2", "spine0>core4"})
    EXPECT_FALSE(fits(nowhere)) << nowhere;
  fabric.spines = 2;  // each with cores of its own
  fabric.cores = 1;
  EXPECT_TRUE(fits("spine1>core1"));
  EXPECT_FALSE(fits("spine1>core0"));
  fabric.pod = fabric.cores = 0;
  EXPECT_FALSE(fits("core0"));
}

TEST(Place, IsWhereItsPartsAre) {
  const auto in = [](std::string_view whole, std::string_view part) {
    return contains(*parse_place(whole), *parse_place(part));
  };
  for (const auto& [whole, part] : {std::pair{"node3", "node3.nic1>"},
                                    {"node3>", "node3.nic1>"},
                                    {"leaf0", "leaf0>spine1.cable2"},
                                    {"leaf0>", "leaf0>spine1"},
                                    {"spine1", "leaf0<>spine1"},
                                    {">spine1", "leaf0>spine1"},
                                    {"spine1>", "spine1>leaf0"},
                                    {"spine1>", "spine1>core3"},
                                    {"core3", "spine1<>core3.cable1"},
                                    {"core3>", "core3>spine1"},
                                    {"leaf0<>spine1", "leaf0>spine1.cable0"},
                                    {"leaf0>spine1.cable0", "leaf0>spine1.cable0"}})
    EXPECT_TRUE(in(whole, part)) << whole << " " << part;
  for (const auto& [whole, part] : {std::pair{"node3>", ">node3.nic1"},
                                    {"leaf0>", "spine1>leaf0"},
                                    {"leaf0>", "leaf0<>spine1"},
                                    {"spine1>", "leaf0>spine1"},
                                    {"spine1", "spine2>core3"},
                                    {"core3>", "spine1>core3"},
                                    {"core1", "leaf0>spine1"},
                                    {"leaf1", "spine1>core3"},
                                    {"leaf0>spine1.cable0", "leaf0>spine1.cable1"},
                                    {"leaf0>spine1.cable0", "leaf0>spine1"}})
    EXPECT_FALSE(in(whole, part)) << whole << " " << part;
}

void hold_draws(const Fabric& fabric) {
  bool differ = false;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto faults = draw_faults(fabric, seed, 3);
    ASSERT_EQ(faults.size(), 3u) << seed;
    EXPECT_EQ(draw_faults(fabric, seed, 3), faults);
    differ = differ || draw_faults(fabric, seed + 1, 3) != faults;
    Fabric broken = fabric;
    broken.faults = faults;
    EXPECT_TRUE(check(broken));
    for (const FabricFault& fault : faults) {
      const auto again = parse_fabric_faults(to_text(fault));
      ASSERT_TRUE(again) << to_text(fault) << ": " << again.error().text();
      EXPECT_EQ(to_text(again->front()), to_text(fault));
    }
  }
  EXPECT_TRUE(differ);
}

TEST(FabricFault, IsDrawnFromASeed) {
  Fabric fabric;
  fabric.nodes = 16;
  fabric.leaf = 4;
  fabric.rails = 2;
  hold_draws(fabric);
  fabric.pod = fabric.cables = 2;
  hold_draws(fabric);
}

}  // namespace
}  // namespace ringtrue::sim
