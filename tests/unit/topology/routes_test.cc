#include "topology/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "formats/format.h"
#include "formats/forwarding.h"
#include "tests/support/infiniband.h"

namespace ringtrue::topology {
namespace {

using infiniband::Fabric;

Routes routes_of(const Fabric& fabric) {
  formats::ForwardingReader reader;
  EXPECT_TRUE(reader.read(fabric.tables(Fabric::Spelling::lfts)));
  auto routes = formats::routes_of(*formats::read_ibnetdiscover(fabric.ibnetdiscover()), reader.take());
  EXPECT_TRUE(routes);
  return routes ? std::move(*routes) : Routes();
}

// What use_of() counts, pair by pair.
std::vector<std::int64_t> counted(const Routes& routes) {
  std::vector<std::int64_t> out(routes.trunks().size());
  std::vector<int> way;
  for (int a = 0; a < int(routes.ports().size()); ++a)
    for (int b = 0; b < int(routes.ports().size()); ++b)
      if (routes.way(a, b, way) == Routes::Way::known)
        for (const int t : way) ++out[std::size_t(t)];
  return out;
}

TEST(Routes, CountTheirUseAsEachPairHasIt) {
  for (const Fabric& f : {infiniband::two_levels(4, 4, 4), infiniband::three_levels(2, 3, 2),
                          infiniband::irregular(9, 20, 12, 3), infiniband::irregular(12, 30, 30, 4)}) {
    const Routes routes = routes_of(f);
    EXPECT_EQ(use_of(routes).by_trunk, counted(routes));
  }
}

TEST(Routes, OfAFatTreeAreEven) {
  const RouteUse use = use_of(routes_of(infiniband::two_levels(4, 4, 4)));
  EXPECT_EQ(use.pairs, 16 * 12);
  EXPECT_EQ(use.known, use.pairs);
  EXPECT_TRUE(use.unused.empty());
  EXPECT_TRUE(use.crowded.empty());
  for (const auto pairs : use.by_trunk) EXPECT_EQ(pairs, 12);  // each trunk down serves one host
  // From node0 to node4 it goes over spine00, and back too; from node0 to node5 over spine01, and back over
  // spine00.
  EXPECT_EQ(*use.asymmetric, 16 * 12 * 3 / 4);
  EXPECT_EQ(*use.unlike, 0);
}

TEST(Routes, ShowWhatNobodyUsesAndWhatManyDo) {
  Fabric f = infiniband::two_levels(4, 4, 4);
  // leaf00 sends all that is for spine01's hosts over spine00 as well.
  auto& leaf = f.switches[0];
  for (int host = 4; host < 16; ++host)
    if (host % 4 == 1) leaf.next[std::size_t(host)] = leaf.next[std::size_t(host - 1)];
  const Routes routes = routes_of(f);
  const RouteUse use = use_of(routes);
  ASSERT_EQ(use.unused.size(), 1u);
  EXPECT_EQ(routes.text(routes.trunks()[std::size_t(use.unused[0])]), "leaf00 port 6 -> spine01 port 1");
  ASSERT_EQ(use.crowded.size(), 1u);
  EXPECT_EQ(routes.text(routes.trunks()[std::size_t(use.crowded[0])]), "leaf00 port 5 -> spine00 port 1");
  EXPECT_EQ(use.by_trunk[std::size_t(use.crowded[0])], 24);
  EXPECT_EQ(use.usual[std::size_t(use.crowded[0])], 12);
}

TEST(Routes, ThatAreUnknownLeaveNoTrunkUnused) {
  Fabric f = infiniband::two_levels(3, 2, 2);
  const auto cables = formats::read_ibnetdiscover(f.ibnetdiscover());
  formats::ForwardingReader reader;
  ASSERT_TRUE(reader.read(f.table(0, Fabric::Spelling::lfts)));
  const auto routes = formats::routes_of(*cables, reader.take());
  ASSERT_TRUE(routes);
  const RouteUse use = use_of(*routes);
  EXPECT_EQ(use.known, 0);
  EXPECT_EQ(use.unknown, use.pairs);
  EXPECT_TRUE(use.unused.empty());
}

TEST(Routes, ThatGoInACircleLeadNowhere) {
  Fabric f = infiniband::two_levels(3, 2, 2);
  f.switches[3].next[0] =
      f.port_to(3, 1);  // spine00 sends what is for node0 to leaf01, and that sends it back
  const Routes routes = routes_of(f);
  std::vector<int> way;
  EXPECT_EQ(routes.way(routes.ports_of("node4")[0], routes.ports_of("node0")[0], way), Routes::Way::none);
  EXPECT_EQ(use_of(routes).none, 4);
}

TEST(Routes, NamePortsByTheNodesOfAnyDomain) {
  Routes routes;
  const int s = routes.add_switch("s");
  routes.add_port({"node3", "mlx5_10", s, 1});
  routes.add_port({"node3", "mlx5_2", s, 2});
  routes.add_port({"node30", "mlx5_0", s, 3});
  EXPECT_EQ(routes.ports_of("node3.cluster.example"), (std::vector<int>{1, 0}));
  EXPECT_TRUE(routes.ports_of("node4").empty());
}

}  // namespace
}  // namespace ringtrue::topology
