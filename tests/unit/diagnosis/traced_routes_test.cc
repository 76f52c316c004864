// Routes made of traced connections, and rounds over them.
#include "diagnosis/traced_routes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "diagnosis/plan/trunk_rounds.h"

namespace ringtrue::diagnosis {
namespace {

std::vector<std::string> names(int nodes) {
  std::vector<std::string> out;
  for (int i = 0; i < nodes; ++i) out.push_back(fmt::format("node{}", i));
  return out;
}

// Eight nodes, four below each of two leaves that hash connections over four spines; leaves answer from the
// address of the way back, as Linux does.
std::vector<run::Way> hashed() {
  std::vector<run::Way> ways;
  for (int x = 0; x < 8; ++x)
    for (int y = 0; y < 8; ++y) {
      if (x == y) continue;
      run::Way way{x, y, true, {}};
      const int spine = (5 * x + 3 * y + x * y) % 4, from = x / 4, to = y / 4;
      if (from != to)
        way.routers = {fmt::format("10.78.{}.1", from), fmt::format("10.79.{}.2", 16 * from + spine),
                       fmt::format("10.79.{}.1", 16 * to + (x + y) % 4)};
      ways.push_back(way);
    }
  return ways;
}

std::vector<std::string> names_of(const NodeRoutes& routes, const std::vector<int>& trunks) {
  std::vector<std::string> out;
  for (const int t : trunks) out.push_back(routes.all().text(routes.all().trunks()[std::size_t(t)]));
  return out;
}

TEST(TracedRoutes, TellSwitchesAndEachHopsTrunks) {
  const auto routes = traced_routes(names(8), hashed());
  ASSERT_TRUE(routes);
  EXPECT_TRUE(routes->by_hop());
  const auto leaves = routes->leaves();
  for (int x = 0; x < 8; ++x) EXPECT_EQ(leaves[std::size_t(x)], leaves[std::size_t(x / 4 * 4)]);
  EXPECT_NE(leaves[0], leaves[4]);
  EXPECT_TRUE(routes->way(0, 3).empty());
  EXPECT_EQ(names_of(*routes, routes->way(0, 5)),
            (std::vector<std::string>{"10.78.0.1 -> 10.79.3.2", "10.79.3.2 -> 10.78.1.1"}));
  EXPECT_EQ(names_of(*routes, routes->way(4, 0)),
            (std::vector<std::string>{"10.78.1.1 -> 10.79.16.2", "10.79.16.2 -> 10.78.0.1"}));
}

TEST(TracedRoutes, TakeNodesBehindOneRouterForNeighbours) {
  std::vector<run::Way> ways;
  for (int x = 0; x < 4; ++x)
    for (int y = 0; y < 4; ++y) {
      if (x == y) continue;
      run::Way way{x, y, true, {fmt::format("10.0.{}.1", x)}};  // a network of its own for each
      if (x / 2 != y / 2) way.routers.insert(way.routers.end(), {"192.0.2.9", fmt::format("10.0.{}.1", y)});
      ways.push_back(way);
    }
  const auto routes = traced_routes(names(4), ways);
  ASSERT_TRUE(routes);
  EXPECT_EQ(routes->leaves()[0], routes->leaves()[1]);
  EXPECT_EQ(routes->leaves()[2], routes->leaves()[3]);
  EXPECT_NE(routes->leaves()[0], routes->leaves()[2]);
  EXPECT_EQ(names_of(*routes, routes->way(1, 2)),
            (std::vector<std::string>{"10.0.0.1 -> 192.0.2.9", "192.0.2.9 -> 10.0.2.1"}));
  EXPECT_EQ(routes->all().trunks().size(), 4u);
}

TEST(TracedRoutes, DoNotKnowWaysThatWereNotTracedToTheirEnd) {
  auto ways = hashed();
  for (run::Way& way : ways)
    if (way.source == 0 && way.destination == 5) way = {0, 5, false, {"10.78.0.1"}};
  const auto routes = traced_routes(names(8), ways);
  ASSERT_TRUE(routes);
  std::vector<int> trunks;
  EXPECT_FALSE(routes->way(0, 5, 0, trunks));
  EXPECT_TRUE(trunks.empty());
  EXPECT_TRUE(routes->way(0, 6, 0, trunks));
}

TEST(TracedRoutes, AreNoneWhereMostAreUnknownOrNoTrunkIsCrossed) {
  auto ways = hashed();
  for (run::Way& way : ways) way.known = way.source < 3;
  EXPECT_FALSE(traced_routes(names(8), ways));
  for (run::Way& way : ways) way = {way.source, way.destination, true, {}};
  EXPECT_FALSE(traced_routes(names(8), ways));
  EXPECT_FALSE(traced_routes(names(8), {}));
}

TEST(TracedRoutes, AreCrossedByOneHopATrunkInARound) {
  const auto routes = traced_routes(names(8), hashed());
  Crossings crossings(*routes);
  for (int turn = 0; turn < 4; ++turn) {
    const auto order = TrunkRounds(crossings, {0, 1, 2, 3, 4, 5, 6, 7}).cover(turn + 1, turn);
    ASSERT_EQ(std::set<int>(order.begin(), order.end()).size(), order.size());
    std::map<int, int> used;
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const int t : routes->way(order[i], order[(i + 1) % order.size()])) ++used[t];
    int shared = 0;
    for (const auto& [trunk, hops] : used) shared += hops > 1;
    // Joining its parts to one circle may make a hop or two meet another.
    EXPECT_LE(shared, 2) << "turn " << turn;
    EXPECT_GE(used.size(), 4u) << "turn " << turn;
  }
}

}  // namespace
}  // namespace ringtrue::diagnosis
