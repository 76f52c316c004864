#include "campaign/sim_routes.h"

#include <gtest/gtest.h>

#include "campaign/campaign.h"
#include "sim/levels.h"
#include "sim/network.h"

namespace ringtrue::campaign {
namespace {

sim::Fabric fabric_of(int rails, double oversubscription) {
  sim::Fabric fabric;
  fabric.nodes = 24;
  fabric.leaf = 8;
  fabric.rails = rails;
  fabric.oversubscription = oversubscription;
  fabric.hashing = sim::Hashing::destination;
  // Places in another order than the nodes.
  for (int node = 0; node < 24; ++node) fabric.slots.push_back(node * 7 % 24);
  return fabric;
}

// Every cable one way, by what is called so in faults.
std::vector<sim::Place> cables_of(const sim::Fabric& fabric) {
  const sim::Levels levels = sim::levels_of(fabric);
  std::vector<sim::Place> out;
  for (const auto side : {sim::Place::Side::out, sim::Place::Side::in}) {
    for (int cable = 0; cable < levels.cables; ++cable) {
      for (int spine = 0; spine < levels.all_spines(); ++spine) {
        for (int leaf = 0; leaf < levels.leaves; ++leaf)
          if (levels.joined(leaf, spine)) out.push_back({sim::Place::What::trunk, side, leaf, spine, cable});
        for (int core = 0; core < levels.all_cores(); ++core)
          if (levels.joins(core, spine))
            out.push_back({sim::Place::What::core_trunk, side, spine, core, cable});
      }
    }
  }
  return out;
}

// What is told is what is done: a way has a trunk just where the model's route does.
void hold_to_model(sim::Fabric fabric) {
  const auto routes = routes_of(fabric, 0, 1);
  const auto& all = routes->all();
  ASSERT_EQ(routes->rails(), fabric.rails);
  const auto places = cables_of(fabric);
  ASSERT_EQ(all.trunks().size(), places.size());
  for (const topology::Trunk& t : all.trunks()) {
    const topology::Trunk& back = all.trunks()[std::size_t(t.back)];
    EXPECT_TRUE(back.from == t.to && back.from_port == t.to_port && back.to == t.from &&
                back.to_port == t.from_port);
  }
  for (const sim::Place& place : places) {
    sim::FabricFault late;
    late.kind = sim::FabricFault::Kind::late;
    late.place = place;
    late.time = Seconds(1);
    fabric.faults = {late};
    ASSERT_TRUE(sim::check(fabric));
    sim::Network network(fabric, 1, 0);
    std::vector<int> way;
    for (int a = 0; a < fabric.nodes; ++a) {
      for (int b = 0; b < fabric.nodes; ++b) {
        for (int rail = 0; a != b && rail < fabric.rails; ++rail) {
          way.clear();
          ASSERT_TRUE(routes->way(a, b, rail, way));
          bool crosses = false;
          for (const int t : way)
            crosses |= all.text(all.trunks()[std::size_t(t)]) == trunk_name(fabric, place);
          ASSERT_EQ(crosses, network.route(a, b, 0, rail).latency >= 1)
              << to_text(place) << ": " << a << " to " << b;
        }
      }
    }
  }
}

TEST(SimRoutes, AreThoseOfTheModel) {
  for (const int rails : {1, 2}) hold_to_model(fabric_of(rails, 2));
}

TEST(SimRoutes, AreThoseOfThreeLevelsAndOfCables) {
  sim::Fabric fabric = fabric_of(1, 2);
  fabric.cables = 2;
  hold_to_model(fabric);
  fabric.leaf = 2;
  fabric.oversubscription = 1;
  fabric.pod = 3;
  fabric.cores = 2;
  hold_to_model(fabric);
  fabric.rails = 2;
  fabric.cores = 0;
  fabric.core_oversubscription = 2;
  hold_to_model(fabric);
}

TEST(SimRoutes, ThatAreStaleDifferFromTheModelNowAndThen) {
  const sim::Fabric fabric = fabric_of(1, 1);
  const auto now = routes_of(fabric, 0, 1), before = routes_of(fabric, 0.1, 1);
  int other = 0, all = 0;
  for (int a = 0; a < fabric.nodes; ++a) {
    for (int b = 0; b < fabric.nodes; ++b) {
      std::vector<int> x, y;
      if (a == b || !now->way(a, b, 0, x) || !before->way(a, b, 0, y)) continue;
      ++all, other += x != y;
    }
  }
  EXPECT_GT(other, all / 50);
  EXPECT_LT(other, all / 5);
}

// Whole checks: every trunk fault by name, and nobody else.
TEST(SimRoutes, LetChecksNameTrunksLeavesAndSpines) {
  Limits limits;
  limits.fabrics = Fabrics::leaf_spine;
  limits.told = Told::routes;
  limits.min_nodes = 8, limits.max_nodes = 128;
  limits.min_severity = 0.2, limits.max_severity = 0.8;
  for (const char* name : {"slow-trunk", "slow-leaf", "slow-spine"}) limits.kinds.push_back(*find_kind(name));
  for (std::uint64_t k = 0; k < 40; ++k) {
    const Case c = draw_case(5, k, limits);
    const auto diagnosis = check(c).diagnosis;
    const auto score = score_case(c, diagnosis);
    EXPECT_EQ(score.found, score.faults) << c.text();
    EXPECT_EQ(score.wrong, 0) << c.text();
    EXPECT_TRUE(score.faults == 0 || score.exact) << c.text();
  }
}

// Of three levels and of cables what is slow is found; what else is named is another matter
// (docs/accuracy.md).
TEST(SimRoutes, LetChecksFindCablesAndCores) {
  Limits limits;
  limits.told = Told::routes;
  limits.min_nodes = 16, limits.max_nodes = 128;
  limits.min_severity = 0.3, limits.max_severity = 0.8;
  limits.busy = 0;
  for (const char* name : {"slow-trunk", "slow-cable", "slow-core"}) limits.kinds.push_back(*find_kind(name));
  int found = 0, exact = 0;
  for (std::uint64_t k = 1; k < 60; k += 2) {
    const Case c = draw_case(5, k, limits);
    const auto score = score_case(c, check(c).diagnosis);
    found += score.found == score.faults, exact += score.exact;
  }
  EXPECT_GE(found, 27);
  EXPECT_GE(exact, 20);
}

TEST(SimRoutes, LetAPortBeNoTrunk) {
  Limits limits;
  limits.fabrics = Fabrics::leaf_spine;
  limits.told = Told::routes;
  limits.min_nodes = 32, limits.max_nodes = 256;
  limits.min_severity = 0.3, limits.max_severity = 0.8;
  limits.busy = 0;
  for (const char* name : {"slow-out", "slow-in", "slow-nic", "slow-compute"})
    limits.kinds.push_back(*find_kind(name));
  for (std::uint64_t k = 1; k < 30; k += 2) {
    const Case c = draw_case(6, k, limits);
    const auto diagnosis = check(c).diagnosis;
    EXPECT_EQ(score_case(c, diagnosis).wrong, 0) << c.text();
    for (const auto& f : diagnosis.findings) EXPECT_NE(f.scope.type, diagnosis::ScopeType::trunk) << c.text();
  }
}

}  // namespace
}  // namespace ringtrue::campaign
