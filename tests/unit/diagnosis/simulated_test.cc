// The check over the simulator, which plays the collectives themselves: nothing here knows that it is no
// cluster.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/sim_measurer.h"
#include "wires.h"

namespace ringtrue::diagnosis {
namespace {

Diagnosis check(const std::function<void(sim::Fabric&)>& slow_down, bool link_rate = true, int nodes = 8) {
  sim::Fabric fabric;
  fabric.nodes = nodes;
  fabric.inter.latency = Seconds(50e-6);
  fabric.inter.rate = BytesPerSecond(Wires::full);
  slow_down(fabric);
  test::SimMeasurer measurer(fabric);
  Options options;
  if (link_rate) options.link_rate = BytesPerSecond(62.5e6);
  options.clock = [&] { return Seconds(measurer.seconds); };
  return run_check(measurer, options);
}

TEST(Simulated, HealthyClusterIsHealthy) {
  for (const int nodes : {2, 3, 8, 16}) {
    const Diagnosis d = check([](sim::Fabric&) {}, nodes % 2 == 0, nodes);
    EXPECT_EQ(scopes_of(d), Names{}) << explain(d);
    EXPECT_EQ(d.verdict, Verdict::healthy) << explain(d);
  }
}

TEST(Simulated, SlowSidesPathsAndNodesAreNamed) {
  for (const double share : {0.8, 0.5, 0.1}) {
    for (const bool link_rate : {true, false}) {
      EXPECT_EQ(scopes_of(check([&](sim::Fabric& f) { f.egress[3] = share; }, link_rate)),
                Names{"sender node3"});
      EXPECT_EQ(scopes_of(check([&](sim::Fabric& f) { f.ingress[5] = share; }, link_rate)),
                Names{"receiver node5"});
      EXPECT_EQ(scopes_of(check([&](sim::Fabric& f) { f.egress[2] = f.ingress[2] = share; }, link_rate)),
                Names{"node node2"});
      EXPECT_EQ(scopes_of(check(
                    [&](sim::Fabric& f) {
                      f.faults =
                          *sim::parse_fabric_faults(fmt::format("slow-link@node1>node6:share={}", share));
                    },
                    link_rate)),
                Names{"path node1 -> node6"});
      EXPECT_EQ(scopes_of(check([&](sim::Fabric& f) { f.egress[0] = 0.5, f.ingress[1] = share; }, link_rate)),
                (Names{"receiver node1", "sender node0"}));
    }
  }
}

}  // namespace
}  // namespace ringtrue::diagnosis
