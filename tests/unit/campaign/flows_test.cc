// Holds flows to the simulator's events: the same hops, played by the collective's own coroutines.
#include "campaign/flows.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "run/trace.h"
#include "sim/network.h"
#include "sim/simulate.h"

namespace ringtrue::campaign {
namespace {

sim::Fabric fabric_of(int nodes, int rails, int leaf) {
  sim::Fabric fabric;
  fabric.nodes = nodes;
  fabric.rails = rails;
  fabric.leaf = nodes >= 2 * leaf ? leaf : 0;
  fabric.inter.rate = BytesPerSecond(1e9);
  fabric.inter.latency = Seconds(0);
  fabric.spine_latency = Seconds(0);
  return fabric;
}

using Readings = std::map<std::pair<int, int>, double>;  // bytes per second in flight

Readings by_flows(const sim::Fabric& fabric, int shift, std::uint64_t bytes) {
  std::vector<Flow> flows;
  for (int node = 0; node < fabric.nodes; ++node)
    flows.push_back({node, (node + shift) % fabric.nodes, Bytes(bytes)});
  Readings out;
  for (const auto& reading : play_flows(fabric, flows, {}, 1, Seconds(0)).hops)
    out[{reading.source, reading.destination}] = (reading.bytes / reading.busy).value;
  return out;
}

// In flight: on its way alone, and waiting for others on it.
Readings by_events(const sim::Fabric& fabric, const char* algorithm, int shift, std::uint64_t bytes) {
  collective::Call call;
  call.elements = bytes / 4;
  call.slice_bytes = 64 * 1024;  // all of them are posted at once, so that no hop waits for another one
  call.shift = shift;
  const auto played = sim::simulate(**collective::find_algorithm(algorithm), call, fabric);
  Readings out;
  if (!played || played->error) return out;
  for (std::size_t i = 0; i < played->trace.hops.size(); ++i) {
    const run::Hop& hop = played->trace.hops[i];
    const double waited = played->waited[i].value / fabric.rails;  // a sum over the rails
    out[{hop.source, hop.destination}] = double(hop.bytes.value) / (hop.busy.value + waited);
  }
  return out;
}

void expect_alike(const Readings& flows, const Readings& events, double share, const std::string& what) {
  ASSERT_EQ(flows.size(), events.size()) << what;
  for (const auto& [hop, rate] : events)
    EXPECT_NEAR(flows.at(hop) / rate, 1, share) << what << ": " << hop.first << " > " << hop.second;
}

constexpr std::uint64_t bytes = 16 << 20;

// A message of 4 rails' worth is dealt in slices, so that the last rail is done a slice later.
TEST(Flows, AreWhatTheEventsOfAPairwiseShiftTakeForEveryFault) {
  const char* const faults[] = {"",
                                "slow-link@node1>:share=50%",
                                "slow-link@>node1:share=30%",
                                "slow-link@node1:share=80%",
                                "narrow@node0.nic0",
                                "mtu@node1:mtu=300",
                                "slow-link@node0>node1:share=40%",
                                "flapping@node1>:share=30%,period=1ms,time=0ns",
                                "background@node0>node1:rate=4Gbit"};
  for (const int nodes : {2, 3, 8, 32}) {
    for (const int rails : {1, 4}) {
      for (const char* const script : faults) {
        sim::Fabric fabric = fabric_of(nodes, rails, 0);
        fabric.faults = *sim::parse_fabric_faults(script);
        for (const int shift : {1, nodes - 1}) {
          expect_alike(by_flows(fabric, shift, bytes), by_events(fabric, "pairwise", shift, bytes), 0.01,
                       std::to_string(nodes) + " nodes, " + std::to_string(rails) + " rails, " + script);
        }
      }
    }
  }
}

TEST(Flows, ShareTrunksAsTheEventsDo) {
  for (const char* const script : {"", "slow-link@leaf0:share=50%", "slow-link@spine1:share=50%",
                                   "slow-link@leaf1>spine0:share=40%", "slow-link@node5:share=50%"}) {
    for (const int shift : {1, 5, 8}) {
      sim::Fabric fabric = fabric_of(32, 1, 8);
      fabric.oversubscription = 2;
      fabric.faults = *sim::parse_fabric_faults(script);
      expect_alike(by_flows(fabric, shift, bytes), by_events(fabric, "pairwise", shift, bytes), 0.01,
                   std::string(script) + ", shift " + std::to_string(shift));
    }
  }
}

TEST(Flows, ShareCoresAndCablesAsTheEventsDo) {
  using sim::Hashing;
  for (const char* const script :
       {"", "slow-link@leaf0<>spine0.cable1:share=50%", "slow-link@spine1>core1:share=40%",
        "slow-link@core1:share=50%", "slow-link@spine1:share=30%", "slow-link@core0>spine2.cable0:share=20%",
        "slow-link@node5:share=50%"}) {
    for (const auto hashing :
         {Hashing::addresses, Hashing::connections, Hashing::destination, Hashing::adaptive}) {
      for (const int shift : {1, 5, 8, 16}) {
        sim::Fabric fabric = fabric_of(32, 1, 4);
        fabric.pod = 2;
        fabric.cables = 2;
        fabric.hashing = hashing;
        fabric.core_oversubscription = 2;
        fabric.core_latency = Seconds(0);
        fabric.faults = *sim::parse_fabric_faults(script);
        ASSERT_TRUE(sim::check(fabric)) << script;
        expect_alike(by_flows(fabric, shift, bytes), by_events(fabric, "pairwise", shift, bytes), 0.01,
                     std::string(script) + ", by " + key_of(hashing) + ", shift " + std::to_string(shift));
      }
    }
  }
}

// A slow hop holds the others back, but not while their bytes are in flight.
TEST(Flows, AreWhatTheHopsOfARingCarryWhileTheyCarry) {
  for (const char* const script :
       {"", "slow-link@node1>:share=50%", "slow-link@>node1:share=30%", "slow-link@node2>node3:share=40%"}) {
    for (const int nodes : {2, 4, 16}) {
      sim::Fabric fabric = fabric_of(nodes, 1, 0);
      fabric.faults = *sim::parse_fabric_faults(nodes > 3 ? script : "slow-link@node1>:share=50%");
      expect_alike(by_flows(fabric, 1, bytes), by_events(fabric, "ring", 1, bytes), 0.01, script);
    }
  }
}

TEST(Flows, OfALossyLinkWaitForWhatWasLost) {
  sim::Fabric fabric = fabric_of(4, 1, 0);
  fabric.faults = *sim::parse_fabric_faults("lossy@node1>:share=0.5%,time=1ms");
  const Flow flows[] = {{0, 1, Bytes(1 << 30)}, {1, 2, Bytes(1 << 30)}};
  const auto readings = play_flows(fabric, flows, {}, 1, Seconds(0)).hops;
  EXPECT_EQ(readings[0].retransmits, 0u);
  EXPECT_NEAR((readings[0].bytes / readings[0].busy).value / 1e9, 1, 1e-9);
  // 8192 slices of 15 packets, of which 1 - 0.995^15 = 7.2 % wait.
  EXPECT_NEAR(double(readings[1].retransmits), 8192 * 15 * 0.005, 100);
  EXPECT_NEAR(readings[1].busy.value, 1.0737 + 8192 * 0.0724 * 1e-3, 0.06);
}

TEST(Flows, IntoASlowNodeAreHeldBackByItsProgram) {
  sim::Fabric fabric = fabric_of(3, 2, 0);
  fabric.reduce_rate = BytesPerSecond(2e9);
  fabric.faults = *sim::parse_fabric_faults("slow-node@node2:share=50%");
  const Flow flows[] = {{0, 1, Bytes(1 << 30)}, {1, 2, Bytes(1 << 30)}};
  const auto readings = play_flows(fabric, flows, {}, 1, Seconds(0)).hops;
  EXPECT_NEAR((readings[0].bytes / readings[0].busy).value / 2e9, 1, 1e-9);
  EXPECT_EQ(readings[0].receiver_limited.value, 0);
  EXPECT_NEAR((readings[1].bytes / readings[1].busy).value / 1e9, 1, 1e-9);
  EXPECT_GT(readings[1].receiver_limited.value, 0.5 * readings[1].busy.value);
}

TEST(Flows, TellRailsApartAndTheWayThereAndBack) {
  sim::Fabric fabric = fabric_of(2, 4, 0);
  fabric.inter.latency = Seconds(5e-6);
  fabric.faults = *sim::parse_fabric_faults("slow-link@node0.nic2>:share=25%;late@>node1:time=7us");
  const Flow there[] = {{0, 1, Bytes(4000)}};
  const auto reading = play_flows(fabric, there, {}, 1, Seconds(0)).hops[0];
  ASSERT_EQ(reading.rails.size(), 4u);
  for (const auto& rail : reading.rails) {
    EXPECT_EQ(rail.bytes.value, 1000u);
    EXPECT_NEAR(rail.busy.value, rail.rail == 2 ? 4e-6 : 1e-6, 1e-12);
  }
  EXPECT_NEAR(reading.busy.value, 4e-6, 1e-12);
  EXPECT_NEAR(reading.latency->value, 17e-6, 1e-12);
}

TEST(Flows, AreDrawnFromTheSeed) {
  const sim::Fabric fabric = fabric_of(64, 2, 16);
  std::vector<Flow> flows;
  for (int node = 0; node < 64; ++node) flows.push_back({node, (node + 20) % 64, Bytes(bytes)});
  const auto busy = [&](std::uint64_t seed, double noise) {
    std::vector<double> out;
    for (const auto& r : play_flows(fabric, flows, {noise, noise}, seed, Seconds(0)).hops)
      out.push_back(r.busy.value);
    return out;
  };
  EXPECT_EQ(busy(7, 0.05), busy(7, 0.05));
  EXPECT_NE(busy(7, 0.05), busy(8, 0.05));
  EXPECT_EQ(busy(7, 0), busy(8, 0));
  const auto quiet = busy(7, 0), noisy = busy(7, 0.05);
  EXPECT_LT(std::accumulate(quiet.begin(), quiet.end(), 0.0),
            std::accumulate(noisy.begin(), noisy.end(), 0.0));
}

}  // namespace
}  // namespace ringtrue::campaign
