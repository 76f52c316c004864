// The ring's recurrence, held against the coroutines.
#include "sim/recurrence.h"

#include <gtest/gtest.h>

namespace ringtrue::sim {
namespace {

SimReport play(const Fabric& fabric, std::uint64_t bytes, SimOptions options, Method method) {
  collective::Call call;
  call.elements = bytes / 4;
  options.method = method;
  auto report = simulate(**collective::find_algorithm("ring"), call, fabric, options);
  EXPECT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->method, method);
  EXPECT_FALSE(report->error);
  return std::move(*report);
}

struct Case {
  int nodes, ranks;
  std::uint64_t bytes;
  double noise = 0;
  const char* faults = "";
  int rails = 1, leaf = 0, pod = 0;
};

// To the last bit: the same sums in the same order.
TEST(Recurrence, GivesTheTimesOfTheEvents) {
  for (const Case& c : {Case{2, 1, 1 << 20},
                        {3, 1, 16 << 20},
                        {8, 1, 64 << 20},
                        {7, 2, 5 << 20},
                        {5, 8, 1024},
                        {1, 9, 123456},
                        {33, 1, 4096, 0.3},
                        {100, 1, 64},
                        {2, 1, 600 << 20},
                        {16, 4, 8 << 20, 0.05},
                        {20, 2, 16 << 20, 0.02, "late@node3:time=5us;slow-link@node7>:share=30%"},
                        {12, 3, 100, 0.5, "slow-link@node3>:share=1%"},
                        {16, 4, 16 << 20, 0.05, "narrow@node3.nic2;slow-link@node5>node6:share=40%", 4, 8},
                        {16, 2, 16 << 20, 0.05, "slow-link@spine2<>core0.cable1:share=40%", 2, 2, 2},
                        {9, 1, 1 << 20, 0, "slow-link@node3.gpu0:share=10%;mtu@node2:mtu=1500"}}) {
    SCOPED_TRACE(c.nodes * 1000 + c.ranks);
    Fabric fabric;
    fabric.nodes = c.nodes;
    fabric.ranks_per_node = c.ranks;
    fabric.rails = c.rails;
    fabric.leaf = c.leaf;
    fabric.pod = c.pod;
    fabric.cables = c.pod > 0 ? 2 : 1;
    fabric.inter.overhead = Seconds(c.rails == 1 ? 3e-7 : 0);
    fabric.faults = *parse_fabric_faults(c.faults);
    SimOptions options;
    options.noise = c.noise;
    options.run_noise = c.noise / 2;
    const SimReport fast = play(fabric, c.bytes, options, Method::recurrence);
    const SimReport slow = play(fabric, c.bytes, options, Method::events);
    EXPECT_EQ(fast.time, slow.time);
    EXPECT_EQ(fast.messages, slow.messages);
    EXPECT_EQ(fast.bytes_sent, slow.bytes_sent);
    ASSERT_EQ(fast.trace.hops.size(), slow.trace.hops.size());
    for (std::size_t i = 0; i < fast.trace.hops.size(); ++i) {
      EXPECT_EQ(fast.trace.hops[i].source, slow.trace.hops[i].source);
      EXPECT_EQ(fast.trace.hops[i].bytes, slow.trace.hops[i].bytes);
      EXPECT_NEAR(fast.trace.hops[i].busy / slow.trace.hops[i].busy, 1, 1e-12);
    }
  }
}

TEST(Recurrence, IsRefusedWhereItDoesNotHold) {
  collective::Call call;
  call.elements = 1 << 16;
  SimOptions options;
  options.method = Method::recurrence;
  const auto refused = [&](std::string_view algorithm, const Fabric& fabric) {
    return !simulate(**collective::find_algorithm(algorithm), call, fabric, options);
  };
  Fabric plain;
  plain.nodes = 8;
  EXPECT_FALSE(refused("ring", plain));
  EXPECT_TRUE(refused("double-tree", plain));
  for (const char* fault :
       {"lossy@node3:share=1%", "flapping@node3:share=1%", "dead@node3", "slow-node@node3:share=5%",
        "background@node1>node2:rate=1Gbit", "mtu@node3:mtu=20000"}) {
    Fabric fabric = plain;
    fabric.faults = *parse_fabric_faults(fault);
    if (std::string_view(fault).starts_with("mtu")) {
      EXPECT_FALSE(refused("ring", fabric)) << "the other end says what it takes";
    } else {
      EXPECT_TRUE(refused("ring", fabric)) << fault;
    }
  }
  // Every other rank on the other node: two hops share each port.
  Fabric zigzag;
  zigzag.node_of_rank = {0, 1, 0, 1};
  EXPECT_TRUE(refused("ring", zigzag));
}

TEST(Recurrence, PlaysTensOfThousandsOfRanks) {
  Fabric fabric;
  fabric.nodes = 512;
  fabric.ranks_per_node = 6;
  collective::Call call;
  call.elements = 256;
  const auto report = simulate(**collective::find_algorithm("ring"), call, fabric);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->method, Method::recurrence);
  const double steps = 2 * (512.0 * 6 - 1);
  const double latencies = steps / 6 * 20e-6 + steps * 5 / 6 * 2e-6;
  EXPECT_NEAR(report->time.value / latencies, 1, 0.01);
}

}  // namespace
}  // namespace ringtrue::sim
