#include "campaign/cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/levels.h"
#include "sim/network.h"

namespace ringtrue::campaign {
namespace {

TEST(Cases, AreTheSameForTheSameSeedAlone) {
  const Limits limits;
  for (std::uint64_t k = 0; k < 50; ++k) {
    EXPECT_EQ(draw_case(7, k, limits).text(), draw_case(7, k, limits).text());
    EXPECT_NE(draw_case(7, k, limits).world.seed, draw_case(8, k, limits).world.seed);
  }
  // Pinned: a published case stays what it was, on every machine.
  EXPECT_EQ(
      draw_case(1, 1, limits).text(),
      "48 nodes below 3 leaves of 16 and 16 spines, oversubscribed 1:1, 2 NICs of 24.8 GB/s after 20.0 us "
      "each, "
      "noise 5 %, nodes in any order; told: 50.0 GB/s a node; slow-link@leaf0<>spine1:share=1.0647715%");
  Limits smaller;
  smaller.max_nodes = 128;
  EXPECT_EQ(draw_case(1, 25, smaller).text(),
            "24 nodes below 6 leaves of 4 and 3 spines, oversubscribed 4:1, in 3 pods below 16 cores, "
            "oversubscribed "
            "1:1, 8 NICs of 24.8 GB/s after 20.0 us each, noise 5 %, ways by destination, 5 % of the nodes "
            "send for "
            "others; no rate told; slow-node@node9:share=16.6903923%");
}

TEST(Cases, HaveAQuarterOrHalfOfTheNodesFaultyWhereNamed) {
  for (const int part : {4, 2}) {
    Limits limits;
    limits.kinds = {*find_kind(part == 4 ? "quarter" : "half")};
    limits.max_nodes = 64;
    for (std::uint64_t k = 1; k < 80; k += 2) {
      const Case c = draw_case(3, k, limits);
      std::set<int> nodes;
      for (const sim::FabricFault& fault : c.world.fabric.faults) nodes.insert(fault.place.node);
      EXPECT_EQ(int(nodes.size()), c.world.fabric.nodes / part) << c.text();
      EXPECT_TRUE(part == 4 || c.link_rate) << c.text();
    }
  }
}

TEST(Cases, AreHalfHealthyOfEveryKindAndSizeAndCanBePlayed) {
  Limits limits;
  limits.weights = Weights::even;
  std::map<std::string_view, int> kinds_seen;
  std::map<int, int> doublings;
  int leaves = 0, told = 0, mild = 0, grave = 0;
  constexpr int cases = 4000;
  for (std::uint64_t k = 0; k < cases; ++k) {
    const Case c = draw_case(3, k, limits);
    const sim::Fabric& f = c.world.fabric;
    ++kinds_seen[c.kind->name];
    EXPECT_EQ(c.kind->group == Kind::Group::healthy, k % 2 == 0);
    EXPECT_EQ(f.faults.empty(), k % 2 == 0) << c.text();
    EXPECT_TRUE(sim::check(f)) << c.text();
    EXPECT_GE(f.nodes, 2);
    EXPECT_LE(f.nodes, 1024);
    EXPECT_TRUE(f.faults.empty() || c.kind->name == "dead" || (c.severity >= 0.03 && c.severity < 0.99))
        << c.text();
    mild += c.severity > 0 && c.severity<0.2, grave += c.severity> 0.9;
    EXPECT_TRUE(f.leaf == 0 || f.nodes % f.leaf == 0) << c.text();
    int doubling = 0;
    while (2 << doubling <= f.nodes && 2 << doubling < 1024) ++doubling;
    ++doublings[doubling];
    leaves += f.leaf > 0;
    told += c.link_rate.has_value();
  }
  for (const Kind& kind : kinds()) EXPECT_EQ(kinds_seen.contains(kind.name), !kind.named_only) << kind.name;
  for (const auto& [kind, count] : kinds_seen) EXPECT_GT(count, 50) << kind;
  ASSERT_EQ(doublings.size(), 9u);
  for (const auto& [doubling, count] : doublings) EXPECT_GT(count, cases / 20) << (2 << doubling);
  EXPECT_GT(leaves, cases / 5);
  EXPECT_GT(mild, cases / 20);
  EXPECT_GT(grave, cases / 50);
  EXPECT_GT(told, cases / 3);
}

TEST(Cases, KeepToTheirLimits) {
  Limits limits;
  limits.min_nodes = limits.max_nodes = 6;
  limits.kinds = {*find_kind("two"), *find_kind("three"), *find_kind("slow-leaf")};
  limits.noise = 0.1;
  for (std::uint64_t k = 0; k < 100; ++k) {
    const Case c = draw_case(1, k, limits);
    EXPECT_EQ(c.world.fabric.nodes, 6);
    EXPECT_EQ(c.world.noise.run, 0.1);
    if (k % 2) {
      EXPECT_EQ(c.kind->name, "two");  // there is no room for the others
      ASSERT_EQ(c.world.fabric.faults.size(), 2u);
      EXPECT_NE(c.world.fabric.faults[0].place.node, c.world.fabric.faults[1].place.node);
    }
  }
}

// The node in a place.
int first_in(const sim::Fabric& fabric, int slot) {
  return int(std::find(fabric.slots.begin(), fabric.slots.end(), slot) - fabric.slots.begin());
}

TEST(Cases, OfVariedFabricsHaveAllOfThem) {
  Limits limits;
  limits.fabrics = Fabrics::varied;
  limits.min_nodes = 16;
  std::map<sim::Hashing, int> hashings;
  std::map<double, int> oversubscriptions;
  std::map<int, int> cables;
  int shuffled = 0, three_levels = 0;
  for (std::uint64_t k = 0; k < 1000; ++k) {
    const Case c = draw_case(4, k, limits);
    const sim::Fabric& f = c.world.fabric;
    ASSERT_TRUE(sim::check(f)) << c.text();
    if (f.leaf == 0) continue;
    ++hashings[f.hashing];
    const sim::Levels levels = sim::levels_of(f);
    ++oversubscriptions[f.oversubscription * f.core_oversubscription];
    ++cables[f.cables];
    three_levels += levels.cores > 0;
    EXPECT_TRUE(levels.cores == 0 || (levels.pods > 1 && levels.groups % levels.pods == 0)) << c.text();
    // No cable carries less than a NIC.
    sim::Network network(f, 1, 0);
    const auto route = network.route(f.slots.empty() ? 0 : first_in(f, 0),
                                     f.slots.empty() ? f.nodes - 1 : first_in(f, f.nodes - 1), 0, 0);
    if (f.faults.empty() && f.hashing != sim::Hashing::adaptive && f.egress.empty())
      EXPECT_GE(route.rate, f.inter.rate.value * (1 - 1e-9)) << c.text();
    if (f.slots.empty()) continue;
    ++shuffled;
    EXPECT_EQ(std::set<int>(f.slots.begin(), f.slots.end()).size(), std::size_t(f.nodes));
    std::map<int, int> members;
    for (int node = 0; node < f.nodes; ++node) ++members[f.group_of(node)];
    for (const auto& [leaf, count] : members) EXPECT_EQ(count, f.leaf) << c.text();
  }
  EXPECT_EQ(hashings.size(), 4u);
  for (const double ratio : {1.0, 2.0, 4.0, 8.0}) EXPECT_GT(oversubscriptions[ratio], 20) << ratio;
  for (const int count : {1, 2, 4}) EXPECT_GT(cables[count], 20) << count;
  EXPECT_GT(three_levels, 100);
  EXPECT_GT(shuffled, 100);
}

TEST(Cases, OfPartsOfTheFabricAreOfPartsThatItHas) {
  Limits limits;
  limits.min_nodes = 16;
  for (const char* name : {"slow-core", "slow-cable", "slow-trunk", "slow-spine"})
    limits.kinds.push_back(*find_kind(name));
  std::map<sim::Place::What, int> seen;
  int single_cables = 0;
  for (std::uint64_t k = 1; k < 400; k += 2) {
    const Case c = draw_case(6, k, limits);
    ASSERT_TRUE(sim::check(c.world.fabric)) << c.text();
    ASSERT_EQ(c.world.fabric.faults.size(), 1u);
    const sim::Place& place = c.world.fabric.faults[0].place;
    ++seen[place.what];
    single_cables += place.cable >= 0;
    EXPECT_EQ(place.side == sim::Place::Side::both, c.kind->name != "slow-trunk") << c.text();
    EXPECT_EQ(place.cable >= 0, c.world.fabric.cables > 1 && c.kind->group == Kind::Group::pair) << c.text();
  }
  for (const auto what : {sim::Place::What::core, sim::Place::What::core_trunk, sim::Place::What::trunk,
                          sim::Place::What::spine})
    EXPECT_GT(seen[what], 20) << int(what);
  EXPECT_GT(single_cables, 20);
  limits.fabrics = Fabrics::plain;
  EXPECT_EQ(takes(**find_kind("slow-core"), limits), "three levels");
  EXPECT_TRUE(fits(**find_kind("slow-cable"), limits));
}

TEST(Cases, OfALossyLinkLoseWhatTheySay) {
  Limits limits;
  limits.kinds = {*find_kind("lossy")};
  limits.min_severity = 0.2, limits.max_severity = 0.9;
  for (std::uint64_t k = 1; k < 40; k += 2) {
    const Case c = draw_case(5, k, limits);
    sim::Fabric quiet = c.world.fabric;
    quiet.faults.clear();
    const int node = c.world.fabric.faults[0].place.node;
    const bool out = c.world.fabric.faults[0].place.side != sim::Place::Side::in;
    const int other = (node + 1) % quiet.nodes;
    const Flow flow[] = {{out ? node : other, out ? other : node, Bytes(std::uint64_t(quiet.rails) << 32)}};
    const double lossy = play_flows(c.world.fabric, flow, {}, 1, Seconds(0)).hops[0].busy.value;
    const double whole = play_flows(quiet, flow, {}, 1, Seconds(0)).hops[0].busy.value;
    EXPECT_NEAR(1 - whole / lossy, c.severity, 0.04) << c.text();
  }
}

TEST(Cases, OfUnknownKindsNameTheKnown) {
  const auto kind = find_kind("slow");
  ASSERT_FALSE(kind);
  EXPECT_EQ(kind.error().cause, Cause::bad_input);
  EXPECT_NE(kind.error().next.find("slow-out"), std::string::npos);
}

}  // namespace
}  // namespace ringtrue::campaign
