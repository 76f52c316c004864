#include "sim/simulate.h"

#include <gtest/gtest.h>

#include "collective/chunks.h"
#include "collective/recorder.h"
#include "run/trace.h"
#include "tests/support/sim_measurer.h"

namespace ringtrue::sim {
namespace {

using collective::Call;

const collective::Algorithm& algorithm(std::string_view name) {
  return **collective::find_algorithm(name);
}

// 500 Mbit/s and 50 us between nodes.
Fabric cluster(int nodes, int ranks_per_node = 1) {
  Fabric fabric;
  fabric.nodes = nodes;
  fabric.ranks_per_node = ranks_per_node;
  fabric.inter = {Seconds(50e-6), BytesPerSecond(62.5e6), Seconds(0)};
  fabric.intra = {Seconds(1e-6), BytesPerSecond(5e9), Seconds(0)};
  return fabric;
}

Call call_of(std::uint64_t bytes) {
  Call call;
  call.elements = bytes / 4;
  return call;
}

SimReport play(std::string_view name, std::uint64_t bytes, const Fabric& fabric,
               const SimOptions& options = {}) {
  Result<SimReport> report = simulate(algorithm(name), call_of(bytes), fabric, options);
  EXPECT_TRUE(report) << report.error().text();
  return *report;
}

const run::Hop& hop(const SimReport& report, int source, int destination) {
  for (const run::Hop& hop : report.trace.hops) {
    if (hop.source == source && hop.destination == destination) return hop;
  }
  ADD_FAILURE() << "no hop " << source << ">" << destination;
  static const run::Hop none;
  return none;
}

std::vector<collective::Fault> faults(std::string_view text) {
  return *collective::parse_faults(text);
}

TEST(Simulate, MovesOneMessageInLatencyPlusBytesOverRate) {
  const SimReport report = play("pairwise", 100'000, cluster(2));
  EXPECT_NEAR(report.time.value, 50e-6 + 100'000 / 62.5e6, 1e-12);
  EXPECT_EQ(report.messages, 2u);
  EXPECT_EQ(report.bytes_sent, 200'000u);
  EXPECT_NEAR(hop(report, 0, 1).rate()->value, 62.5e6, 1);
}

TEST(Simulate, PlaysAUniformRingAtTheWiresRate) {
  for (const int n : {2, 3, 8, 13}) {
    const std::uint64_t bytes = 64 << 20;
    const SimReport report = play("ring", bytes, cluster(n));
    const double busbw = double(bytes) / report.time.value * 2 * (n - 1) / n;
    EXPECT_NEAR(busbw / 62.5e6, 1, 0.02) << n;
    EXPECT_EQ(report.bytes_sent, std::uint64_t(2 * (n - 1)) * bytes) << n;
  }
}

TEST(Simulate, PlaysAShortRingInItsSteps) {
  const int n = 8;
  const SimReport report = play("ring", 1024, cluster(n));
  EXPECT_NEAR(report.time.value, 2 * (n - 1) * (50e-6 + 128 / 62.5e6), 1e-9);
}

TEST(Simulate, PlaysATreeWithinItsIdeal) {
  for (const auto& [n, factor] : {std::pair{2, 1.0}, {3, 1.5}, {4, 2.0}, {8, 2.0}, {16, 2.0}}) {
    const std::uint64_t bytes = 64 << 20;
    const SimReport report = play("double-tree", bytes, cluster(n));
    const double ideal = factor * double(bytes) / 62.5e6;
    EXPECT_GE(report.time.value, ideal * 0.999) << n;
    EXPECT_LE(report.time.value, ideal * 1.03) << n;
  }
  // Short: up and down ceil(log2 n) levels. Two trees share a port for some bytes' time at most.
  EXPECT_NEAR(play("double-tree", 64, cluster(16)).time.value, 2 * 4 * 50e-6, 20e-6);
  EXPECT_NEAR(play("recursive-doubling", 64, cluster(16)).time.value, 4 * 50e-6, 20e-6);
}

TEST(Simulate, ReachesTheBoundWithTwoLevels) {
  const Fabric fabric = cluster(4, 4);
  const std::uint64_t bytes = 64 << 20;
  const double ideal = 2.0 * 3 / 4 * double(bytes) / 62.5e6;  // what a node must send and receive
  const SimReport report = play("hierarchical", bytes, fabric);
  EXPECT_GE(report.time.value, ideal * 0.999);
  EXPECT_LE(report.time.value, ideal * 1.15);
}

TEST(Simulate, PlaysEveryAlgorithmOnEveryLayout) {
  for (const collective::Algorithm& each : collective::algorithms()) {
    if (each.uses_packets()) continue;
    for (const auto& [nodes, ranks] : {std::pair{1, 1}, {1, 8}, {7, 1}, {3, 4}}) {
      for (const std::uint64_t elements : {0u, 1u, 5u, 100'001u}) {
        Call call;
        call.elements = elements;
        const Fabric fabric = cluster(nodes, ranks);
        const auto report = simulate(each, call, fabric);
        ASSERT_TRUE(report);
        ASSERT_FALSE(report->error) << each.name << ": " << report->error->text();
        std::uint64_t messages = 0, bytes = 0;  // on paper
        for (collective::Rank r = 0; r < nodes * ranks; ++r) {
          collective::record(each, fabric.layout(), r, call, [&](const collective::Step& step) {
            if (step.kind != collective::Step::Kind::send) return;
            ++messages;
            bytes += step.slice.length;
          });
        }
        EXPECT_EQ(report->messages, messages) << each.name;
        EXPECT_EQ(report->bytes_sent, bytes) << each.name;
      }
    }
  }
}

TEST(Simulate, IsDeterministicFromItsSeed) {
  SimOptions options;
  options.noise = 0.1;
  options.seed = 7;
  const double first = play("ring", 1 << 20, cluster(5), options).time.value;
  EXPECT_EQ(play("ring", 1 << 20, cluster(5), options).time.value, first);
  options.seed = 8;
  EXPECT_NE(play("ring", 1 << 20, cluster(5), options).time.value, first);
}

// All hops of a ring take equally long in all; only the slow one is busy all the time.
TEST(Simulate, ShowsTheSlowHopInARingsTrace) {
  Fabric fabric = cluster(8);
  fabric.faults = *parse_fabric_faults("slow-link@node3>node4:share=50%");
  const SimReport report = play("ring", 32 << 20, fabric);
  for (const run::Hop& hop : report.trace.hops) {
    EXPECT_NEAR(hop.rate()->value / 62.5e6, hop.source == 3 ? 0.5 : 1.0, 0.02) << hop.source;
  }
  EXPECT_GT(report.time.value, 1.9 * 2 * 7 / 8 * (32 << 20) / 62.5e6);
}

TEST(Simulate, ShowsASlowSideInEveryPairing) {
  Fabric fabric = cluster(6);
  fabric.egress[2] = 0.5;
  fabric.ingress[4] = 0.8;
  Call call = call_of(4 << 20);
  for (call.shift = 1; call.shift < 6; ++call.shift) {
    const auto report = simulate(algorithm("pairwise"), call, fabric);
    ASSERT_TRUE(report && !report->error);
    for (const run::Hop& hop : report->trace.hops) {
      const double factor = hop.source == 2 ? 0.5 : hop.destination == 4 ? 0.8 : 1.0;
      EXPECT_NEAR(hop.rate()->value / 62.5e6, factor, 0.02) << hop.source << ">" << hop.destination;
    }
  }
}

// Many into one: the port is shared, and no hop looks slow for it.
TEST(Simulate, TellsIncastFromASlowWire) {
  const SimReport report = play("naive", 4 << 20, cluster(8));
  double waited = 0;
  for (std::size_t i = 0; i < report.trace.hops.size(); ++i) {
    EXPECT_NEAR(report.trace.hops[i].rate()->value / 62.5e6, 1, 0.02);
    waited += report.waited[i].value;
  }
  EXPECT_GE(report.time.value, 7 * (4 << 20) / 62.5e6);  // in and out at once, slice by slice
  EXPECT_GT(waited, report.time.value);
}

// One sender's slow path does not slow its other paths down.
TEST(Simulate, LeavesAPortsOtherMessagesAlone) {
  Fabric fabric = cluster(4);
  fabric.faults = *parse_fabric_faults("slow-link@node0>node1:share=10%");
  const SimReport report = play("naive", 1 << 20, fabric);
  EXPECT_NEAR(hop(report, 0, 1).rate()->value / 62.5e6, 0.1, 0.02);
  EXPECT_NEAR(hop(report, 0, 2).rate()->value / 62.5e6, 1, 0.02);
}

TEST(Faults, DelayAndThrottle) {
  SimOptions options;
  options.faults = faults("delay@0>1:time=10ms");
  const double plain = play("pairwise", 100'000, cluster(2)).time.value;
  const SimReport late = play("pairwise", 100'000, cluster(2), options);
  EXPECT_NEAR(late.time.value, plain + 10e-3, 1e-9);
  EXPECT_NEAR(hop(late, 0, 1).rate()->value, 62.5e6, 1);  // late, not slow

  options.faults = faults("throttle@1>0:rate=10MB/s");
  const SimReport slow = play("pairwise", 100'000, cluster(2), options);
  EXPECT_NEAR(slow.time.value, 50e-6 + 100'000 / 10e6, 1e-9);
  EXPECT_NEAR(hop(slow, 1, 0).rate()->value, 10e6, 1);
}

TEST(Faults, NameTheHopThatEndsTheRun) {
  const struct {
    const char* fault;
    Cause cause;
  } cases[] = {{"cut@2>3:after=1M", Cause::peer_lost},
               {"stall@2>3:after=1M", Cause::deadline},
               {"drop@2>3:nth=5", Cause::deadline},
               {"corrupt-frame@2>3:nth=2", Cause::corrupted}};
  for (const auto& [fault, cause] : cases) {
    SimOptions options;
    options.faults = faults(fault);
    const SimReport report = play("ring", 8 << 20, cluster(5), options);
    ASSERT_TRUE(report.error) << fault;
    EXPECT_EQ(report.error->cause, cause) << fault;
    EXPECT_EQ(report.error->where, "rank 2 > rank 3") << fault;
  }
}

TEST(Faults, CountACorruptedValueAndKeepADeadline) {
  SimOptions options;
  options.faults = faults("corrupt-value@2>3:nth=2");
  const SimReport changed = play("ring", 1 << 20, cluster(5), options);
  EXPECT_FALSE(changed.error);
  EXPECT_EQ(changed.corrupted, 1u);

  options.faults.clear();
  options.deadline = Seconds(1e-3);
  const SimReport late = play("ring", 1 << 20, cluster(5), options);
  ASSERT_TRUE(late.error);
  EXPECT_EQ(late.error->cause, Cause::deadline);
  EXPECT_EQ(late.time.value, 1e-3);
}

TEST(Simulate, KeepsEventsOnDemand) {
  SimOptions options;
  EXPECT_TRUE(play("ring", 1 << 16, cluster(3), options).trace.events.empty());
  options.events = true;
  const SimReport report = play("ring", 1 << 16, cluster(3), options);
  EXPECT_EQ(report.trace.events.size(), report.messages);
  for (const run::Event& event : report.trace.events) {
    EXPECT_LE(event.posted, event.moved);
    EXPECT_LT(event.moved, event.done);
  }
}

TEST(Simulate, RefusesWhatIsNoCluster) {
  Fabric none = cluster(0), still = cluster(2), backwards = cluster(2);
  still.inter.rate = BytesPerSecond(0);
  backwards.egress[1] = -1;
  for (const Fabric& fabric : {none, still, backwards}) {
    const auto report = simulate(algorithm("ring"), call_of(1024), fabric);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().cause, Cause::bad_input);
  }
}

TEST(Simulate, PlaysAThousandRanks) {
  EXPECT_FALSE(play("double-tree", 1 << 20, cluster(1024)).error);
  EXPECT_FALSE(play("recursive-doubling", 1024, cluster(1024)).error);
  EXPECT_FALSE(play("hierarchical", 1 << 20, cluster(128, 8)).error);
}

TEST(SimMeasurer, AnswersForNodesInAnyOrder) {
  Fabric fabric = cluster(5);
  fabric.egress[3] = 0.5;
  SimOptions options;
  options.faults = faults("throttle@1>4:rate=10MB/s");
  test::SimMeasurer measurer(fabric, options);
  diagnosis::Experiment experiment;
  experiment.order = {4, 3, 1};
  experiment.bytes = Bytes(4 << 20);
  const auto seen = measurer.measure(experiment);
  ASSERT_TRUE(seen) << seen.error().text();
  ASSERT_EQ(seen->hops.size(), 3u);
  for (const auto& hop : seen->hops) {
    const double rate = (hop.bytes / hop.busy).value / 62.5e6;
    EXPECT_NEAR(rate, hop.source == 3 ? 0.5 : hop.source == 1 ? 0.16 : 1.0, 0.02) << hop.source;
  }
}

}  // namespace
}  // namespace ringtrue::sim
