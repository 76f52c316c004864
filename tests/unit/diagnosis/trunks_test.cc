// What is slow between switches, where routes are told: over modelled fabrics, by name.
#include "diagnosis/infer/trunks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>

#include "diagnosis/plan/trunk_rounds.h"
#include "formats/format.h"
#include "formats/forwarding.h"
#include "tests/support/infiniband.h"

namespace ringtrue::diagnosis {
namespace {

using infiniband::Fabric;

std::shared_ptr<const NodeRoutes> routes_of(const Fabric& fabric) {
  formats::ForwardingReader reader;
  EXPECT_TRUE(reader.read(fabric.tables(Fabric::Spelling::lfts)));
  auto routes = formats::routes_of(*formats::read_ibnetdiscover(fabric.ibnetdiscover()), reader.take());
  EXPECT_TRUE(routes);
  std::vector<std::string> nodes;
  for (int i = 0; i < fabric.hosts; ++i) nodes.push_back(fmt::format("node{}", i));
  std::string missing;
  return routes_between(nodes, std::make_shared<const topology::Routes>(std::move(*routes)), missing);
}

std::vector<int> all_nodes(const Fabric& fabric) {
  std::vector<int> out(std::size_t(fabric.hosts));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

// What a round over this order reads, where some elements carry a share: of 100 bytes per second.
Observation reading(const Crossings& crossings, const std::vector<int>& order,
                    const std::map<int, double>& share) {
  Observation out;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int x = order[i], y = order[(i + 1) % order.size()];
    double rate = 100;
    std::vector<int> on{crossings.port_out(x, 0), crossings.port_in(y, 0)};
    crossings.routes().way(x, y, 0, on);
    for (const int e : on)
      if (const auto s = share.find(e); s != share.end()) rate = std::min(rate, 100 * s->second);
    HopReading hop;
    hop.source = x, hop.destination = y, hop.bytes = Bytes(100), hop.busy = Seconds(100 / rate);
    out.hops.push_back(hop);
  }
  return out;
}

// Plays rounds until nothing is open; how many it took.
int play(Crossings& crossings, const std::vector<int>& nodes, const std::map<int, double>& share,
         TrunkInference& found) {
  int run = 0;
  std::vector<int> same;
  for (int turn = 0; turn < 4 && (turn < 2 || TrunkRounds(crossings, nodes).unmet() > 0); ++turn)
    crossings.add(reading(crossings, TrunkRounds(crossings, nodes).cover(turn + 1, turn), share), ++run,
                  true);
  for (int turn = 1; turn < 12; ++turn) {
    found = infer_trunks(crossings, 100, same);
    if (found.open.empty()) break;
    const auto next = TrunkRounds(crossings, nodes).separate(found.open, {}, turn);
    if (!next.classes.empty() && same.empty())
      same.resize(std::size_t(crossings.all())), std::iota(same.begin(), same.end(), 0);
    for (const auto& list : next.classes)
      for (const int e : list) same[std::size_t(e)] = list.front();
    if (next.order.size() < 2) break;
    crossings.add(reading(crossings, next.order, share), ++run, false);
  }
  return run;
}

void expect_circle(const std::vector<int>& order) {
  EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), order.size());
}

int most_on_a_trunk(const NodeRoutes& routes, const std::vector<int>& order) {
  std::vector<int> used(routes.all().trunks().size()), way;
  for (std::size_t i = 0; i < order.size(); ++i) {
    way.clear();
    EXPECT_TRUE(routes.way(order[i], order[(i + 1) % order.size()], 0, way));
    for (const int t : way) ++used[std::size_t(t)];
  }
  return used.empty() ? 0 : *std::max_element(used.begin(), used.end());
}

TEST(TrunkRounds, CrossAllTrunksOfFatTreesOnceInEachOfTwo) {
  for (const Fabric& f : {infiniband::two_levels(8, 8, 8), infiniband::two_levels(4, 4, 4),
                          infiniband::three_levels(4, 4, 4)}) {
    const auto routes = routes_of(f);
    Crossings crossings(*routes);
    for (int turn = 0; turn < 2; ++turn) {
      const auto order = TrunkRounds(crossings, all_nodes(f)).cover(turn + 1, turn);
      expect_circle(order);
      EXPECT_EQ(order.size(), std::size_t(f.hosts));
      EXPECT_EQ(most_on_a_trunk(*routes, order), 1) << f.switches.size() << " switches, turn " << turn;
      crossings.add(reading(crossings, order, {}), turn + 1, true);
    }
    EXPECT_EQ(TrunkRounds(crossings, all_nodes(f)).unmet(), 0) << f.switches.size() << " switches";
  }
}

TEST(TrunkRounds, CrossWhatAnIrregularFabricUses) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Fabric f = infiniband::irregular(14, 60, 30, seed);
    const auto routes = routes_of(f);
    Crossings crossings(*routes);
    const int before = TrunkRounds(crossings, all_nodes(f)).unmet();
    for (int turn = 0; turn < 4; ++turn) {
      const auto order = TrunkRounds(crossings, all_nodes(f)).cover(turn + 1, turn);
      expect_circle(order);
      crossings.add(reading(crossings, order, {}), turn + 1, true);
    }
    EXPECT_LE(TrunkRounds(crossings, all_nodes(f)).unmet(), before / 20)
        << "of " << before << ", seed " << seed;
  }
}

TEST(Trunks, ThatAreSlowAreNamedEachByItself) {
  for (const Fabric& f : {infiniband::two_levels(6, 6, 6), infiniband::three_levels(3, 3, 3)}) {
    const auto routes = routes_of(f);
    const int trunks = int(routes->all().trunks().size());
    for (int t = 0; t < trunks; t += 5) {
      Crossings crossings(*routes);
      TrunkInference found;
      const int runs = play(crossings, all_nodes(f), {{t, 0.5}}, found);
      ASSERT_EQ(found.slow.size(), 1u) << routes->all().text(routes->all().trunks()[std::size_t(t)]);
      EXPECT_TRUE(std::ranges::count(found.slow[0].trunks, t) == 1);
      EXPECT_EQ(found.slow[0].at, -1);
      if (f.switches.size() == 12) EXPECT_EQ(found.slow[0].trunks.size(), 1u);
      EXPECT_LE(runs, 7);
      EXPECT_TRUE(found.ports.empty());
    }
  }
}

TEST(Trunks, AreNotAccusedOfWhatPortsAre) {
  const Fabric f = infiniband::two_levels(6, 6, 6);
  const auto routes = routes_of(f);
  for (const bool in : {false, true}) {
    Crossings crossings(*routes);
    const int port = in ? crossings.port_in(7, 0) : crossings.port_out(7, 0);
    TrunkInference found;
    play(crossings, all_nodes(f), {{port, 0.6}}, found);
    EXPECT_TRUE(found.slow.empty());
    EXPECT_EQ(found.ports, std::vector<int>{port});
  }
}

TEST(Trunks, OfASwitchAreTheSwitch) {
  const Fabric f = infiniband::two_levels(6, 6, 6);
  const auto routes = routes_of(f);
  for (const char* name : {"leaf02", "spine03"}) {
    std::map<int, double> share;
    for (std::size_t t = 0; t < routes->all().trunks().size(); ++t) {
      const auto& trunk = routes->all().trunks()[t];
      if (routes->all().name(trunk.from) == name || routes->all().name(trunk.to) == name) share[int(t)] = 0.7;
    }
    Crossings crossings(*routes);
    TrunkInference found;
    play(crossings, all_nodes(f), share, found);
    ASSERT_EQ(found.slow.size(), 1u) << name;
    ASSERT_GE(found.slow[0].at, 0);
    EXPECT_EQ(routes->all().name(found.slow[0].at), name);
  }
}

TEST(Trunks, OfACableBothWaysAreTheCable) {
  const Fabric f = infiniband::two_levels(6, 6, 6);
  const auto routes = routes_of(f);
  const int t = 10, back = routes->all().trunks()[10].back;
  Crossings crossings(*routes);
  TrunkInference found;
  play(crossings, all_nodes(f), {{t, 0.6}, {back, 0.6}}, found);
  ASSERT_EQ(found.slow.size(), 1u);
  EXPECT_TRUE(found.slow[0].cable);
}

// With two leaves every way that crosses a trunk up crosses the one down.
TEST(Trunks, ThatNoHopTellsApartAreNamedTogether) {
  const Fabric f = infiniband::two_levels(2, 6, 6);
  const auto routes = routes_of(f);
  Crossings crossings(*routes);
  TrunkInference found;
  play(crossings, all_nodes(f), {{4, 0.5}}, found);
  ASSERT_EQ(found.slow.size(), 1u);
  EXPECT_EQ(found.slow[0].trunks.size(), 2u);
  EXPECT_TRUE(std::ranges::count(found.slow[0].trunks, 4) == 1);
}

TEST(Trunks, AreNotAccusedByHopsThatMeet) {
  const Fabric f = infiniband::two_levels(2, 6, 6);
  const auto routes = routes_of(f);
  Crossings crossings(*routes);
  // Two hops to destinations whose way goes over one spine, again and again.
  for (int run = 1; run < 9; ++run) {
    Observation seen;
    for (const int x : {0, 1}) {
      HopReading hop;
      hop.source = x, hop.destination = 6, hop.bytes = Bytes(100), hop.busy = Seconds(2);
      seen.hops.push_back(hop);
    }
    crossings.add(seen, run, true);
  }
  EXPECT_TRUE(infer_trunks(crossings, 100, {}).slow.empty());
}

}  // namespace
}  // namespace ringtrue::diagnosis
