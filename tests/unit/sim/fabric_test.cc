// What a fabric's shape and its faults do to a collective.
#include "sim/fabric.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "run/trace.h"
#include "sim/calibrate.h"
#include "sim/network.h"
#include "sim/settings.h"
#include "sim/simulate.h"

namespace ringtrue::sim {
namespace {

using collective::Rank;

constexpr double rate = 1e9, latency = 10e-6;

Fabric cluster(int nodes, int ranks_per_node = 1) {
  Fabric fabric;
  fabric.nodes = nodes;
  fabric.ranks_per_node = ranks_per_node;
  fabric.inter = {Seconds(latency), BytesPerSecond(rate), Seconds(0)};
  fabric.intra = {Seconds(1e-6), BytesPerSecond(100e9), Seconds(0)};
  return fabric;
}

SimReport play(std::string_view name, std::uint64_t bytes, const Fabric& fabric, Rank shift = 1,
               SimOptions options = {}) {
  collective::Call call;
  call.elements = bytes / 4;
  call.shift = shift;
  auto report = simulate(**collective::find_algorithm(name), call, fabric, options);
  EXPECT_TRUE(report) << report.error().text();
  return std::move(*report);
}

// Bytes over busy time, as a share of the NIC's rate.
double share(const SimReport& report, int source, int destination) {
  for (const run::Hop& hop : report.trace.hops) {
    if (hop.source == source && hop.destination == destination) return hop.rate()->value / rate;
  }
  return -1;
}

Fabric with(Fabric fabric, std::string_view faults) {
  fabric.faults = *parse_fabric_faults(faults);
  return fabric;
}

// 2 S through each node's eight rails.
TEST(Fabric, DoubleTreeFillsEightRails) {
  for (const auto& [nodes, ranks] : {std::pair{8, 1}, {4, 8}}) {
    Fabric fabric = cluster(nodes, ranks);
    fabric.rails = 8;
    fabric.inter = {Seconds(5e-6), BytesPerSecond(50e9), Seconds(0)};
    fabric.intra = {Seconds(2e-6), BytesPerSecond(450e9), Seconds(0)};
    const double bytes = 256 << 20;
    const double ideal = 2 * bytes / (8 * 50e9) / play("double-tree", 256 << 20, fabric).time.value;
    EXPECT_GT(ideal, 0.95) << nodes << " nodes";
    EXPECT_LE(ideal, 1) << nodes << " nodes";
  }
}

TEST(Fabric, DealsMessagesToItsRails) {
  Fabric fabric = cluster(2);
  fabric.rails = 4;
  const double bytes = 64 << 20;
  EXPECT_NEAR(play("pairwise", 64 << 20, fabric).time.value, bytes / (4 * rate) + latency, 1e-6);
  EXPECT_NEAR(share(play("pairwise", 64 << 20, fabric), 0, 1), 4, 0.01);
  // One slow rail holds its share of the messages up, and so all of them.
  const SimReport slow = play("pairwise", 64 << 20, with(fabric, "slow-link@node0.nic2>:share=50%"));
  EXPECT_NEAR(slow.time.value, bytes / (2 * rate) + latency, 1e-6);
  EXPECT_NEAR(share(slow, 0, 1), 2, 0.01);
  EXPECT_NEAR(share(slow, 1, 0), 4, 0.01);
}

TEST(Fabric, SharesOversubscribedTrunks) {
  Fabric fabric = cluster(8);
  fabric.leaf = 4;
  fabric.spine_latency = Seconds(0);
  fabric.spines = 1;
  fabric.oversubscription = 2;  // one trunk of twice a NIC's rate for four nodes
  const double bytes = 16 << 20;
  // Everybody sends across: four flows share a trunk of two.
  EXPECT_NEAR(play("pairwise", 16 << 20, fabric, 4).time.value, 2 * bytes / rate, 1e-3 * bytes / rate);
  // One across, three inside.
  EXPECT_NEAR(play("pairwise", 16 << 20, fabric, 1).time.value, bytes / rate, 1e-3 * bytes / rate);
  // Shared, not slow.
  EXPECT_NEAR(share(play("pairwise", 16 << 20, fabric, 4), 0, 4), 1, 0.01);
  fabric.oversubscription = 1;
  EXPECT_NEAR(play("pairwise", 16 << 20, fabric, 4).time.value, bytes / rate, 1e-3 * bytes / rate);
}

TEST(Fabric, HashesConnectionsOverSpines) {
  Fabric fabric = cluster(64);
  fabric.leaf = 16;
  Network network(fabric, 1, 0);
  EXPECT_EQ(spines_of(fabric), 16);
  std::vector<int> uses(network.links());
  for (Rank from = 0; from < 16; ++from) {
    for (Rank to = 16; to < 64; ++to) {
      const Route route = network.route(from, to, 0, 0), same = network.route(from, to, 0, 0);
      ASSERT_EQ(route.links, 4);
      EXPECT_EQ(route.link, same.link);
      EXPECT_DOUBLE_EQ(route.latency, latency + 1e-6);
      ++uses[route.link[1]];
    }
  }
  int trunks = 0;
  for (std::size_t link = 0; link < uses.size(); ++link) trunks += uses[link] > 20 && uses[link] < 80;
  EXPECT_EQ(trunks, 16);  // 768 connections over 16 spines
  EXPECT_EQ(network.route(0, 15, 0, 0).links, 2);
}

TEST(Fabric, HashesConnectionsAnewInEveryRunWhereTheirPortsCount) {
  Fabric fabric = cluster(64);
  fabric.leaf = 16;
  const auto uplink = [&](std::uint64_t run, Rank from, Rank to) {
    return Network(fabric, run, 0).route(from, to, 0, 0).link[1];
  };
  int moved = 0;
  for (std::uint64_t run = 2; run < 12; ++run) moved += uplink(run, 3, 40) != uplink(1, 3, 40);
  EXPECT_EQ(moved, 0);
  fabric.hashing = Hashing::connections;
  for (std::uint64_t run = 2; run < 12; ++run) moved += uplink(run, 3, 40) != uplink(1, 3, 40);
  EXPECT_GT(moved, 6);
  EXPECT_EQ(uplink(7, 3, 40), uplink(7, 3, 40));
}

// A shift over a fat tree whose tables go by the destination shares no trunk.
TEST(Fabric, SpreadsDestinationsOverSpinesInTurn) {
  Fabric fabric = cluster(64);
  fabric.leaf = 16;
  fabric.hashing = Hashing::destination;
  Network network(fabric, 1, 0);
  std::map<std::uint32_t, int> uses;
  for (Rank from = 0; from < 64; ++from) {
    const Route route = network.route(from, (from + 16) % 64, 0, 0);
    for (const std::uint32_t link : route.crossed()) ++uses[link];
  }
  for (const auto& [link, count] : uses) EXPECT_EQ(count, 1) << link;
}

TEST(Fabric, LetsAdaptiveRoutesUseAllTrunksOfALeaf) {
  Fabric fabric = cluster(8);
  fabric.leaf = 4;
  fabric.spine_latency = Seconds(0);
  fabric.hashing = Hashing::adaptive;
  const double bytes = 16 << 20, rate = fabric.inter.rate.value;
  EXPECT_NEAR(play("pairwise", 16 << 20, fabric, 4).time.value, bytes / rate, 1e-3 * bytes / rate);
  // One of four at 40 %: all of them carry 85 %.
  const SimReport slow = play("pairwise", 16 << 20, with(fabric, "slow-link@leaf0>spine0:share=40%"), 4);
  EXPECT_NEAR(slow.time.value, bytes / (0.85 * rate), 1e-2 * bytes / rate);
}

// ---- three levels, and trunks of several cables ----

// Leaves of 4, pods of 4 leaves with 4 spines, and 4 cores above each.
Fabric three_levels(int nodes = 64) {
  Fabric fabric = cluster(nodes);
  fabric.leaf = 4;
  fabric.pod = 4;
  fabric.spine_latency = fabric.core_latency = Seconds(0);
  return fabric;
}

TEST(Levels, AreAsManyAsWhatIsBelowThemNeeds) {
  Fabric fabric = three_levels();
  const Levels even = levels_of(fabric);
  EXPECT_EQ(even.leaves, 16);
  EXPECT_EQ(even.pods, 4);
  EXPECT_EQ(even.spines, 4);
  EXPECT_EQ(even.all_spines(), 16);
  EXPECT_EQ(even.cores, 4);
  EXPECT_EQ(even.all_cores(), 16);
  fabric.rails = 2;
  fabric.core_oversubscription = 4;
  fabric.cables = 2;
  const Levels fewer = levels_of(fabric);
  EXPECT_EQ(fewer.leaves, 32);
  EXPECT_EQ(fewer.spines, 2);  // of two cables each
  EXPECT_EQ(fewer.cores, 2);   // below a spine 8 leaves with 2 cables each, a quarter of them over 2 cables
  EXPECT_TRUE(fewer.joined(7, 1));
  EXPECT_FALSE(fewer.joined(8, 1));
  EXPECT_TRUE(fewer.joined(8, 2));
  EXPECT_TRUE(fewer.joins(3, 5));
  EXPECT_FALSE(fewer.joins(3, 4));
}

TEST(Fabric, HasAsManyLevelsAsItsPodsMake) {
  for (const Hashing hashing :
       {Hashing::addresses, Hashing::connections, Hashing::destination, Hashing::adaptive}) {
    Fabric fabric = three_levels();
    fabric.hashing = hashing;
    fabric.spine_latency = Seconds(1e-6), fabric.core_latency = Seconds(2e-6);
    Network network(fabric, 1, 0);
    EXPECT_EQ(network.route(0, 3, 0, 0).links, 2);
    EXPECT_EQ(network.route(0, 4, 0, 0).links, 4);
    EXPECT_DOUBLE_EQ(network.route(0, 4, 0, 0).latency, latency + 1e-6);
    EXPECT_EQ(network.route(0, 16, 0, 0).links, 6);
    EXPECT_DOUBLE_EQ(network.route(0, 16, 0, 0).latency, latency + 3e-6);
  }
}

// Tables by destination share no trunk in a shift, on any level, with any number of cables and rails.
TEST(Fabric, SpreadsDestinationsOverCoresAndCablesInTurn) {
  for (const int cables : {1, 2, 4}) {
    for (const int rails : {1, 2}) {
      Fabric fabric = three_levels();
      fabric.hashing = Hashing::destination;
      fabric.cables = cables;
      fabric.rails = rails;
      Network network(fabric, 1, 0);
      for (const int shift : {4, 16, 20}) {
        std::map<std::uint32_t, int> uses;
        for (Rank from = 0; from < 64; ++from)
          for (int rail = 0; rail < rails; ++rail)
            for (const std::uint32_t link : network.route(from, (from + shift) % 64, 0, rail).crossed())
              ++uses[link];
        for (const auto& [link, count] : uses) EXPECT_EQ(count, 1) << link << ", shift " << shift;
      }
    }
  }
}

TEST(Fabric, HashesConnectionsOverSpinesCoresAndCables) {
  Fabric fabric = three_levels();
  fabric.cables = 2;
  fabric.core_oversubscription = 2;
  const Levels levels = levels_of(fabric);
  ASSERT_EQ(levels.spines * levels.cores * levels.cables, 8);
  Network network(fabric, 1, 0);
  std::map<std::uint32_t, int> uses[4];
  for (Rank from = 0; from < 16; ++from) {
    for (Rank to = 16; to < 64; ++to) {
      const Route route = network.route(from, to, 0, 0), same = network.route(from, to, 0, 0);
      ASSERT_EQ(route.links, 6);
      EXPECT_EQ(route.link, same.link);
      for (int level = 0; level < 4; ++level) ++uses[level][route.link[std::size_t(level) + 1]];
    }
  }
  // 768 connections: from 4 leaves of 4 uplinks; over 2 spines of 4; to 3 pods and 12 leaves.
  const std::size_t links[] = {16, 8, 24, 48};
  for (int level = 0; level < 4; ++level) {
    EXPECT_EQ(uses[level].size(), links[level]);
    for (const auto& [link, count] : uses[level]) {
      EXPECT_GT(count, int(768 / links[level] / 3)) << level;
      EXPECT_LT(count, int(768 / links[level] * 2)) << level;
    }
  }
}

TEST(Fabric, SharesOversubscribedCores) {
  Fabric fabric = three_levels();
  fabric.hashing = Hashing::adaptive;
  fabric.core_oversubscription = 4;
  const double bytes = 16 << 20;
  // All of a pod to the next one, and all of a leaf to the next one: of a pod's, only one leaf's go further.
  EXPECT_NEAR(play("pairwise", 16 << 20, fabric, 16).time.value, 4 * bytes / rate, 4e-3 * bytes / rate);
  EXPECT_NEAR(play("pairwise", 16 << 20, fabric, 4).time.value, bytes / rate, 1e-3 * bytes / rate);
  for (const Hashing hashing : {Hashing::destination, Hashing::adaptive}) {
    fabric.hashing = hashing;
    fabric.core_oversubscription = 1;
    EXPECT_NEAR(play("pairwise", 16 << 20, fabric, 16).time.value, bytes / rate, 1e-3 * bytes / rate);
  }
}

TEST(Fabric, LetsAdaptiveRoutesUseAllTrunksOfAPod) {
  Fabric fabric = three_levels();
  fabric.hashing = Hashing::adaptive;
  const double bytes = 16 << 20;
  // One of 16 cores at 20 %: all trunks of the pods to them carry 95 %.
  const SimReport slow = play("pairwise", 16 << 20, with(fabric, "slow-link@core5:share=20%"), 16);
  EXPECT_NEAR(slow.time.value, bytes / (0.95 * rate), 2e-3 * bytes / rate);
}

// By latency: which pairs cross what is late.
TEST(Fabric, HasPartsThatFaultsName) {
  Fabric fabric = three_levels(32);
  fabric.hashing = Hashing::destination;
  fabric.cables = 2;
  fabric.core_oversubscription = 2;
  const auto crossing = [&](const std::string& place) {
    const Fabric late = with(fabric, "late@" + place + ":time=1s");
    EXPECT_TRUE(check(late)) << place;
    Network network(late, 1, 0);
    std::set<std::pair<int, int>> out;
    for (Rank from = 0; from < 32; ++from)
      for (Rank to = 0; to < 32; ++to)
        if (from != to && network.route(from, to, 0, 0).latency >= 1) out.emplace(from, to);
    return out;
  };
  const auto sum = [](std::set<std::pair<int, int>> a, const std::set<std::pair<int, int>>& b) {
    a.insert(b.begin(), b.end());
    return a;
  };
  // Of leaf 0: 28 nodes elsewhere, of which every second is reached over each of the two spines, ...
  EXPECT_EQ(crossing("leaf0>spine0").size(), 4 * 14u);
  // ... by one of two cables each.
  EXPECT_EQ(crossing("leaf0>spine0.cable1").size(), 4 * 7u);
  EXPECT_EQ(sum(crossing("leaf0>spine0.cable0"), crossing("leaf0>spine0.cable1")), crossing("leaf0>spine0"));
  EXPECT_EQ(sum(crossing("leaf0>spine0"), crossing("spine0>leaf0")), crossing("leaf0<>spine0"));
  EXPECT_EQ(sum(crossing("leaf0<>spine0"), crossing("leaf0<>spine1")), crossing("leaf0"));
  // The 16 nodes of the other pod, over 2 spines, 2 cores and 2 cables.
  EXPECT_EQ(crossing("spine1>core3").size(), 16 * 4u);
  EXPECT_EQ(crossing("spine1>core3.cable0").size(), 16 * 2u);
  EXPECT_EQ(crossing("spine1>core3"), crossing("core3>spine3"));  // of the other pod
  EXPECT_EQ(sum(crossing("spine1>core3"), crossing("core3>spine1")), crossing("core3"));
  EXPECT_EQ(crossing(">core3"), crossing("core3>"));
  EXPECT_EQ(sum(crossing("spine1>"), crossing(">spine1")), crossing("spine1"));
  EXPECT_TRUE(crossing("spine1>").contains({0, 5})) << "within the pod";
  EXPECT_TRUE(crossing("spine1>").contains({0, 21})) << "to the other one";
  EXPECT_FALSE(crossing("spine1>").contains({21, 17})) << "within the other one";
}

TEST(Fabric, HangsNodesBelowTheLeavesThatTheirSlotsSay) {
  Fabric fabric = cluster(8);
  fabric.leaf = 4;
  fabric.slots = {0, 4, 1, 5, 2, 6, 3, 7};
  Network network(fabric, 1, 0);
  EXPECT_EQ(network.route(0, 2, 0, 0).links, 2);
  EXPECT_EQ(network.route(0, 1, 0, 0).links, 4);
}

TEST(Fabric, SendsEverythingThroughThePcieBus) {
  Fabric fabric = cluster(1, 4);
  fabric.intra.rate = BytesPerSecond(1e9);
  const double bytes = 8 << 20;
  EXPECT_NEAR(play("pairwise", 8 << 20, fabric, 2).time.value, bytes / 1e9, 1e-5);
  fabric.pcie = true;  // two ranks send from each half to the other
  EXPECT_NEAR(play("pairwise", 8 << 20, fabric, 2).time.value, 2 * bytes / 1e9, 1e-5);
}

TEST(Fabric, TakesTimeToAddWhereToldSo) {
  Fabric fabric = cluster(2);
  const double bytes = 16 << 20;
  EXPECT_NEAR(play("ring", 16 << 20, fabric).time.value, bytes / rate, 0.02 * bytes / rate);
  fabric.reduce_rate = BytesPerSecond(rate / 4);
  // Half of the data is added at a quarter of the wire's rate, while the wire has little to do.
  EXPECT_NEAR(play("ring", 16 << 20, fabric).time.value, 2 * bytes / rate, 0.08 * 2 * bytes / rate);
}

TEST(FabricFaults, SlowWhatTheyAreAt) {
  const std::uint64_t bytes = 16 << 20;
  const struct {
    const char* fault;
    double forth, back, elsewhere;  // of 2 > 3, 3 > 2, 5 > 6
  } cases[] = {{"slow-link@node2>:share=50%", 0.5, 1, 1},
               {"slow-link@>node2:share=50%", 1, 0.5, 1},
               {"slow-link@node2:share=50%", 0.5, 0.5, 1},
               {"narrow@node2.nic0", 0.5, 0.5, 1},
               {"slow-link@node2>node3:share=30%", 0.3, 1, 1},
               {"mtu@node2:mtu=1500", 1448.0 / 1514 * 9014 / 8948, 1448.0 / 1514 * 9014 / 8948, 1},
               {"late@node2:time=1ms", 1, 1, 1},
               {"slow-link@node2>:share=50%;slow-link@>node6:share=20%", 0.5, 1, 0.2}};
  for (const auto& c : cases) {
    const Fabric fabric = with(cluster(8), c.fault);
    EXPECT_NEAR(share(play("pairwise", bytes, fabric, 1), 2, 3), c.forth, 0.01) << c.fault;
    EXPECT_NEAR(share(play("pairwise", bytes, fabric, 7), 3, 2), c.back, 0.01) << c.fault;
    EXPECT_NEAR(share(play("pairwise", bytes, fabric, 1), 5, 6), c.elsewhere, 0.01) << c.fault;
  }
  EXPECT_NEAR(play("pairwise", 4, with(cluster(8), "late@node2>:time=1ms")).time.value, 1e-3 + latency, 1e-7);
}

TEST(FabricFaults, SlowATrunkAndNoHopBesideIt) {
  Fabric fabric = cluster(8);
  fabric.leaf = 4;
  fabric.spines = 1;
  fabric.oversubscription = 4;  // a trunk of one NIC's rate
  const SimReport slow = play("pairwise", 16 << 20, with(fabric, "slow-link@leaf0>spine0:share=40%"));
  EXPECT_NEAR(share(slow, 3, 4), 0.4, 0.01);
  EXPECT_NEAR(share(slow, 7, 0), 1, 0.01);
  EXPECT_NEAR(share(slow, 0, 1), 1, 0.01);
}

TEST(FabricFaults, LosePacketsAndWaitForThem) {
  const SimReport clean = play("pairwise", 64 << 20, cluster(4));
  const SimReport lossy = play("pairwise", 64 << 20, with(cluster(4), "lossy@node1>:share=0.1%,time=1ms"));
  EXPECT_GT(lossy.time.value, clean.time.value + 3e-3);
  EXPECT_LT(share(lossy, 1, 2), 0.98);
  EXPECT_NEAR(share(lossy, 2, 3), 1, 0.01);
}

TEST(FabricFaults, TakeALinkDownAndUpAgain) {
  const SimReport clean = play("pairwise", 64 << 20, cluster(4));
  const SimReport flaps =
      play("pairwise", 64 << 20, with(cluster(4), "flapping@node1>:share=25%,period=4ms,time=0ns"));
  EXPECT_NEAR(flaps.time / clean.time, 4.0 / 3, 0.03);
  EXPECT_NEAR(share(flaps, 1, 2), 0.75, 0.02);
  EXPECT_NEAR(share(flaps, 0, 1), 1, 0.01);
}

// Down for 1 ms of 10: a message that was in flight is sent again when its timer has run out, which has been
// set anew to twice as long whenever it found the link down: 0.4 + 0.8 ms, 5 ms, 200 ms.
TEST(FabricFaults, WaitForTheirTimersWhenALinkComesBack) {
  const auto took = [](const char* time) {
    return play("pairwise", 8 << 20,
                with(cluster(4), "flapping@node1>:share=10%,period=10ms,time=" + std::string(time)))
        .time.value;
  };
  const double at_once = took("0ns");  // 8 MiB take 8.4 ms: the link does not fall
  EXPECT_NEAR(took("5ms"), at_once, 1e-9);
  const auto longer = [](const char* time) {
    return play("pairwise", 12 << 20,
                with(cluster(4), "flapping@node1>:share=10%,period=10ms,time=" + std::string(time)))
        .time.value;
  };
  const double once = longer("0ns");  // 12 MiB take 12.6 ms and the fall: one fall
  EXPECT_NEAR(longer("400us") - once, 0.2e-3, 1e-6);
  EXPECT_NEAR(longer("5ms") - once, 4e-3, 1e-6);
  EXPECT_NEAR(longer("200ms") - once, 199.5e-3, 0.5e-3);  // and the next message may find the link down
}

TEST(FabricFaults, SlowAddingDown) {
  const double plain = play("ring", 16 << 20, cluster(4)).time.value;
  EXPECT_GT(play("ring", 16 << 20, with(cluster(4), "slow-node@node1:share=25%")).time.value, 1.5 * plain);
}

TEST(FabricFaults, NameADeadNodeAndWhatDoesNotFit) {
  const SimReport dead = play("ring", 1 << 20, with(cluster(5), "dead@node3"));
  ASSERT_TRUE(dead.error);
  EXPECT_EQ(dead.error->cause, Cause::deadline);
  EXPECT_NE(dead.error->what.find("node 3 is dead"), std::string::npos);
  const SimReport jumbo = play("ring", 1 << 20, with(cluster(5), "mtu@node3:mtu=16000;mtu@node4:mtu=16000"));
  ASSERT_TRUE(jumbo.error);
  EXPECT_EQ(jumbo.error->where, "rank 3 > rank 4");
}

// Others' traffic takes its fair share, and makes no hop look slow.
TEST(FabricFaults, LetOthersSendToo) {
  const SimReport busy = play("pairwise", 64 << 20, with(cluster(4), "background@node1>node3:rate=3Gbit"));
  EXPECT_NEAR(busy.time.value, (64 << 20) / (rate - 375e6) + latency, 1e-4);
  EXPECT_NEAR(share(busy, 1, 2), 1, 0.01);
}

TEST(Noise, IsDrawnForEveryMessageAndEveryRun) {
  SimOptions options;
  options.run_noise = 0.05;
  const SimReport one = play("pairwise", 16 << 20, cluster(4), 1, options);
  double least = 2, most = 0;
  for (const run::Hop& hop : one.trace.hops) {
    least = std::min(least, hop.rate()->value / rate);
    most = std::max(most, hop.rate()->value / rate);
  }
  EXPECT_GE(least, 1 / 1.05 / 1.0001);
  EXPECT_LT(least, most);
  EXPECT_LE(most, 1);
  options.seed = 2;
  EXPECT_NE(play("pairwise", 16 << 20, cluster(4), 1, options).time, one.time);
}

// ---- closed forms ----

TEST(ClosedForms, HoldOnUniformNetworksWithinAPercent) {
  const double bytes = 256 << 20;
  for (const int n : {2, 4, 8, 16}) {
    const Fabric fabric = cluster(n);
    const double wire = bytes / rate, log = n == 2 ? 1 : n == 4 ? 2 : n == 8 ? 3 : 4;
    const auto ratio = [&](const char* name, double form) {
      return play(name, std::uint64_t(bytes), fabric).time.value / form;
    };
    const double exchanged = 2.0 * (n - 1) / n * wire;
    EXPECT_NEAR(ratio("ring", exchanged + 2 * (n - 1) * latency), 1, 0.01) << n;
    EXPECT_NEAR(ratio("halving-doubling", exchanged + 2 * log * latency), 1, 0.01) << n;
    EXPECT_NEAR(ratio("naive", (n - 1) * wire), 1, 0.01) << n;
    // 128 KiB slices go up and down, two ways per level.
    const double slices = 2 * log * (128 * 1024 / rate + latency);
    EXPECT_NEAR(ratio("double-tree", (n == 2 ? 1.0 : 2.0) * wire + slices), 1, 0.01) << n;
    EXPECT_NEAR(ratio("recursive-doubling", log * wire), 1, 0.01) << n;
  }
}

TEST(ClosedForms, HierarchicalIsARingWhereNodesHaveOneRank) {
  for (const std::uint64_t bytes : {std::uint64_t(1) << 10, std::uint64_t(16) << 20})
    EXPECT_EQ(play("hierarchical", bytes, cluster(8)).time, play("ring", bytes, cluster(8)).time) << bytes;
}

// LogGOPSim's example (Hoefler, Schneider, Lumsdaine 2010): 16 ranks, L = 2500 ns, o = 1500 ns.
TEST(ClosedForms, ReproduceLogGOPSimsDissemination) {
  Fabric fabric = cluster(16);
  fabric.inter = {Seconds(2500e-9), BytesPerSecond(1e9), Seconds(1500e-9)};
  fabric.receive_overhead = Seconds(1500e-9);
  const collective::Algorithm barrier = {
      collective::AlgorithmId::barrier, "",
      [](collective::Endpoint& self, const collective::Call&) { return collective::barrier(self); },
      [](const collective::Layout&, Rank, const collective::Call&) -> std::uint64_t { return 0; }, false};
  const auto report = simulate(barrier, {}, fabric);
  ASSERT_TRUE(report && !report->error);
  EXPECT_NEAR(report->time.value, 22'000e-9, 1e-15);
}

// ---- calibration ----

TEST(Calibration, FindsTheCostThatWasPlayed) {
  Fabric truth = cluster(8);
  truth.inter = {Seconds(73e-6), BytesPerSecond(61e6), Seconds(9e-6)};
  std::vector<Sample> samples;
  for (const std::uint64_t bytes : {64u << 10, 512u << 10, 4u << 20, 32u << 20}) {
    collective::Call call;
    call.elements = bytes / 4;
    const collective::Algorithm& ring = **collective::find_algorithm("ring");
    samples.push_back({&ring, call, simulate(ring, call, truth)->time});
  }
  const auto found = calibrate(samples, cluster(8));
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_LT(found->worst, 0.02);
  EXPECT_NEAR(found->cost.rate / truth.inter.rate, 1, 0.02);
  samples.resize(1);
  EXPECT_FALSE(calibrate(samples, cluster(8))) << "one size";
  EXPECT_FALSE(calibrate({}, cluster(8)));
}

// Latency, what a slice costs and the rate stand in for one another along a valley that is nearly flat.
TEST(Calibration, TellsWhatASliceCostsFromLatencyAndRate) {
  const struct {
    const char* algorithm;
    double overhead;
  } cases[] = {{"ring", 3e-6}, {"halving-doubling", 0}, {"halving-doubling", 40e-6}};
  for (const auto& [name, overhead] : cases) {
    Fabric truth = cluster(8);
    truth.inter = {Seconds(30e-6), BytesPerSecond(1.25e9), Seconds(overhead)};
    std::vector<Sample> samples;
    for (const std::uint64_t bytes : {64u << 10, 256u << 10, 1u << 20, 4u << 20, 16u << 20}) {
      collective::Call call;
      call.elements = bytes / 4;
      const collective::Algorithm& algorithm = **collective::find_algorithm(name);
      samples.push_back({&algorithm, call, simulate(algorithm, call, truth)->time});
    }
    const auto found = calibrate(samples, cluster(8));
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_LT(found->worst, 0.002) << name << " " << overhead;
    EXPECT_NEAR(found->cost.rate / truth.inter.rate, 1, 0.01) << name << " " << overhead;
    EXPECT_NEAR(found->cost.overhead.value, overhead, 0.2e-6 + 0.1 * overhead) << name;
  }
}

// Links behind a shaper, whose bucket evens out pauses: no latency and rate alone explain them.
TEST(Calibration, FindsABucket) {
  Fabric truth = cluster(8);
  truth.inter = {Seconds(60e-6), BytesPerSecond(60e6), Seconds(9e-6)};
  truth.bucket = Bytes(128 << 10);
  std::vector<Sample> samples;
  for (const std::uint64_t bytes : {64u << 10, 256u << 10, 1u << 20, 4u << 20}) {
    collective::Call call;
    call.elements = bytes / 4;
    const collective::Algorithm& tree = **collective::find_algorithm("double-tree");
    samples.push_back({&tree, call, simulate(tree, call, truth)->time});
  }
  const auto found = calibrate(samples, cluster(8));
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_LT(found->worst, 0.05);
  EXPECT_NEAR(found->cost.rate / truth.inter.rate, 1, 0.05);
  EXPECT_GT(found->bucket.value, 32u << 10);
}

// ---- descriptions ----

TEST(Settings, MakeAFabricOfWords) {
  Description d;
  for (const auto& [name, text] : {std::pair{"preset", "dgx-h100"},
                                   {"nodes", "128"},
                                   {"inter", "800Gbit"},
                                   {"spine-oversubscription", "2"},
                                   {"inside", "pcie"}}) {
    ASSERT_TRUE(set(d, name, text)) << name;
  }
  const auto fabric = d.finished();
  ASSERT_TRUE(fabric) << fabric.error().text();
  EXPECT_EQ(fabric->nodes, 128);
  EXPECT_EQ(fabric->rails, 8);
  EXPECT_DOUBLE_EQ(fabric->inter.rate.value, 100e9 / 8);
  EXPECT_EQ(spines_of(*fabric), 16);
  EXPECT_TRUE(fabric->pcie);
  for (const Preset& preset : presets()) {
    Description known;
    EXPECT_TRUE(set(known, "preset", preset.name));
    EXPECT_TRUE(known.finished());
  }
}

TEST(Settings, RefuseWhatMakesNone) {
  for (const auto& [name, text] : {std::pair{"nodes", "0"},
                                   {"nodes", "2.5"},
                                   {"rails", "65"},
                                   {"nic", "fast"},
                                   {"inside", "copper"},
                                   {"spine-oversubscription", "0"},
                                   {"latency", "-1us"},
                                   {"preset", "dgx"},
                                   {"nods", "4"},
                                   {"fabric-mtu", "1"}}) {
    Description d;
    EXPECT_FALSE(set(d, name, text)) << name << " " << text;
  }
  const auto makes = [](std::initializer_list<std::pair<const char*, const char*>> settings) {
    Description d;
    for (const auto& [name, text] : settings) EXPECT_TRUE(set(d, name, text)) << name;
    return d.finished().has_value();
  };
  EXPECT_FALSE(makes({{"spines", "4"}})) << "spines without leaves";
  EXPECT_FALSE(makes({{"pod", "2"}})) << "pods without leaves";
  EXPECT_FALSE(makes({{"cables", "2"}})) << "trunks without leaves";
  EXPECT_FALSE(makes({{"leaf", "4"}, {"cores", "2"}})) << "cores without pods";
  EXPECT_FALSE(makes({{"leaf", "4"}, {"core-oversubscription", "2"}}));
  EXPECT_FALSE(makes({{"leaf", "4"}, {"pod", "2"}, {"core-oversubscription", "0.00001"}}));
  EXPECT_TRUE(makes({{"leaf", "4"}, {"pod", "2"}, {"cables", "4"}, {"core-oversubscription", "2"}}));
}

}  // namespace
}  // namespace ringtrue::sim
