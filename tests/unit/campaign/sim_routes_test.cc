#include "campaign/sim_routes.h"

#include <gtest/gtest.h>

#include "campaign/campaign.h"
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

// What is told is what is done: a way has a trunk just where the model's route does.
TEST(SimRoutes, AreThoseOfTheModel) {
  for (const int rails : {1, 2}) {
    sim::Fabric fabric = fabric_of(rails, 2);
    const auto routes = routes_of(fabric, 0, 1);
    ASSERT_EQ(routes->rails(), rails);
    for (const bool down : {false, true}) {
      for (int leaf = 0; leaf < 3 * rails; ++leaf) {
        for (int spine = 0; spine < sim::spines_of(fabric); ++spine) {
          sim::FabricFault late;
          late.kind = sim::FabricFault::Kind::late;
          late.place = {sim::Place::What::trunk, down ? sim::Place::Side::in : sim::Place::Side::out, leaf,
                        spine};
          late.time = Seconds(1);
          fabric.faults = {late};
          sim::Network network(fabric, 1, 0);
          for (int a = 0; a < fabric.nodes; ++a) {
            for (int b = 0; b < fabric.nodes; ++b) {
              if (a == b) continue;
              for (int rail = 0; rail < rails; ++rail) {
                std::vector<int> way;
                ASSERT_TRUE(routes->way(a, b, rail, way));
                bool crosses = false;
                for (const int t : way)
                  crosses |= routes->all().text(routes->all().trunks()[std::size_t(t)]) ==
                             trunk_name(fabric, leaf, spine, down);
                ASSERT_EQ(crosses, network.route(a, b, 0, rail).latency >= 1) << a << " to " << b;
              }
            }
          }
        }
      }
    }
  }
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

TEST(SimRoutes, LetAPortBeNoTrunk) {
  Limits limits;
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
