#include "operator/others_traffic.h"

#include <gtest/gtest.h>

namespace ringtrue::ops {
namespace {

// Four nodes in a circle, 100 MB each in 2 s, with headers of 4 %.
struct Circle {
  static constexpr double bytes = 100e6, headers = 1.04;

  Circle() {
    job.iterations = 4;
    job.warmup = 0;
    for (int node = 0; node < 4; ++node) {
      job.nodes.push_back("n" + std::to_string(node));
      diagnosis::HopReading hop;
      hop.source = node, hop.destination = (node + 1) % 4;
      hop.bytes = Bytes(std::uint64_t(bytes));
      hop.busy = Seconds(1);
      seen.hops.push_back(hop);
      carry(node, "eth0", bytes * headers, bytes * headers);
    }
  }

  void carry(int node, const std::string& device, double sent, double received) {
    run::CounterWindow& window = report.counters[job.nodes[std::size_t(node)]];
    window.seconds = 2;
    window.changes.push_back({device, "tx_bytes", 7, 7 + std::uint64_t(sent), false, false});
    window.changes.push_back({device, "rx_bytes", 9, 9 + std::uint64_t(received), false, false});
  }

  run::Job job;
  run::RunReport report;
  diagnosis::Observation seen;
  OthersTrafficMeter meter;
};

TEST(OthersTraffic, OfARunAloneThereIsNone) {
  Circle circle;
  EXPECT_TRUE(circle.meter.read(circle.seen, circle.job, circle.report).empty());
}

TEST(OthersTraffic, IsWhatThePortCarriedBeside) {
  Circle circle;
  auto& changes = circle.report.counters["n2"].changes;
  changes[0].after += 60'000'000;
  const auto others = circle.meter.read(circle.seen, circle.job, circle.report);
  ASSERT_EQ(others.size(), 1u);
  EXPECT_NEAR(others.at(2).sends, 30e6, 1e6);
  EXPECT_EQ(others.at(2).receives, 0);
}

TEST(OthersTraffic, CallsThatAreNotTimedAreOurs) {
  Circle circle;
  circle.job.warmup = 4;
  for (auto& [node, window] : circle.report.counters)
    for (auto& change : window.changes) change.after += std::uint64_t(Circle::bytes * Circle::headers);
  EXPECT_TRUE(circle.meter.read(circle.seen, circle.job, circle.report).empty());
}

TEST(OthersTraffic, WhatIsSentAgainIsOurs) {
  Circle circle;
  circle.report.counters["n2"].changes[0].after += 9'000'000;  // sent
  circle.report.counters["n3"].changes[1].after += 9'000'000;  // received
  EXPECT_EQ(circle.meter.read(circle.seen, circle.job, circle.report).size(), 2u);
  circle.seen.hops[2].retransmits = 6'000;
  EXPECT_TRUE(circle.meter.read(circle.seen, circle.job, circle.report).empty());
}

// A bond counts what its members do, another NIC what is not of the run at all.
TEST(OthersTraffic, IsReadOnTheDeviceThatCarriedTheRunWithTheLeastBeside) {
  Circle circle;
  for (int node = 0; node < 4; ++node) {
    circle.carry(node, "eth1", 900e6, 900e6);
    circle.carry(node, "lo", 110e6, 110e6);
    circle.carry(node, "eth2", 5e6, 5e6);
  }
  EXPECT_TRUE(circle.meter.read(circle.seen, circle.job, circle.report).empty());
}

// 700 messages of 8 bytes, as round trips are told by: 150 kB of headers, acknowledgements and connections.
TEST(OthersTraffic, OfSmallMessagesTheHeadersAreNoneOfOthers) {
  Circle circle;
  circle.report.counters.clear();
  for (diagnosis::HopReading& hop : circle.seen.hops) hop.bytes = Bytes(5600);
  for (int node = 0; node < 4; ++node) circle.carry(node, "eth0", 150e3, 150e3);
  EXPECT_TRUE(circle.meter.read(circle.seen, circle.job, circle.report).empty());
}

// 4 % of a short run, on the operator's own node.
TEST(OthersTraffic, TheLeasesOwnMessagesAreNoneOfOthers) {
  Circle circle;
  circle.report.counters.clear();
  for (diagnosis::HopReading& hop : circle.seen.hops) hop.bytes = Bytes(500'000);
  for (int node = 0; node < 4; ++node)
    circle.carry(node, "eth0", node == 0 ? 530e3 : 505e3, node == 0 ? 530e3 : 505e3);
  EXPECT_TRUE(circle.meter.read(circle.seen, circle.job, circle.report).empty());
  circle.report.counters["n2"].changes[0].after += 60'000;
  EXPECT_EQ(circle.meter.read(circle.seen, circle.job, circle.report).size(), 1u);
}

TEST(OthersTraffic, OfRanksOfOneProcessThereIsNone) {
  Circle circle;
  circle.job.nodes = {"here"};
  EXPECT_TRUE(circle.meter.read(circle.seen, circle.job, circle.report).empty());
}

TEST(OthersTraffic, WithoutCountersNobodyKnows) {
  Circle circle;
  circle.report.counters.clear();
  EXPECT_TRUE(circle.meter.read(circle.seen, circle.job, circle.report).empty());
}

// Of two nodes both may be busy: what headers take is known from a run of more.
TEST(OthersTraffic, RemembersWhatHeadersTake) {
  Circle circle;
  (void)circle.meter.read(circle.seen, circle.job, circle.report);
  circle.seen.hops.resize(1);
  circle.report.counters["n0"].changes[0].after += 40'000'000;
  circle.report.counters["n1"].changes[1].after += 40'000'000;
  const auto others = circle.meter.read(circle.seen, circle.job, circle.report);
  ASSERT_EQ(others.size(), 2u);
  EXPECT_NEAR(others.at(0).sends, 20e6, 1e6);
  EXPECT_NEAR(others.at(1).receives, 20e6, 1e6);
}

// InfiniBand's ports count words of four bytes.
TEST(OthersTraffic, OfRdmaItIsReadOnThePortsInUse) {
  Circle circle;
  circle.report.counters.clear();
  for (int node = 0; node < 4; ++node) {
    const std::string& name = circle.job.nodes[std::size_t(node)];
    diagnosis::RdmaPort port;
    port.device = "mlx5_0", port.port = 1;
    circle.seen.rails[name] = {port};
    run::CounterWindow& window = circle.report.counters[name];
    window.seconds = 2;
    const double more = node == 1 ? 50e6 : 0;
    for (const char* device : {"mlx5_0/1", "mlx5_1/1"}) {
      window.changes.push_back(
          {device, "port_xmit_data", 0, std::uint64_t((Circle::bytes + more) / 4), false, false});
      window.changes.push_back({device, "port_rcv_data", 0, std::uint64_t(Circle::bytes / 4), false, false});
    }
  }
  const auto others = circle.meter.read(circle.seen, circle.job, circle.report);
  ASSERT_EQ(others.size(), 1u);
  EXPECT_NEAR(others.at(1).sends, 25e6, 1e6);
}

// One job has one NIC of four: too little to show in what the node sends.
TEST(OthersTraffic, OfSeveralRailsItIsToldByRail) {
  constexpr int rails = 4;
  Circle circle;
  circle.report.counters.clear();
  for (int node = 0; node < 4; ++node) {
    const std::string& name = circle.job.nodes[std::size_t(node)];
    run::CounterWindow& window = circle.report.counters[name];
    window.seconds = 2;
    for (int k = 0; k < rails; ++k) {
      const diagnosis::RdmaPort port{"mlx5_" + std::to_string(k), 1};
      circle.seen.rails[name].push_back(port);
      const double more = node == 1 && k == 2 ? 2e6 : 0, own = Circle::bytes / rails;
      window.changes.push_back(
          {port_name(port), "port_xmit_data", 0, std::uint64_t((own + more) / 4), false, false});
      window.changes.push_back({port_name(port), "port_rcv_data", 0, std::uint64_t(own / 4), false, false});
      circle.seen.hops[std::size_t(node)].rails.push_back({k, Bytes(std::uint64_t(own)), Seconds(1)});
    }
  }
  const auto others = circle.meter.read(circle.seen, circle.job, circle.report);
  ASSERT_EQ(others.size(), 1u);
  const diagnosis::OthersTraffic& traffic = others.at(1);
  EXPECT_NEAR(traffic.sends, 1e6, 1e4);
  ASSERT_EQ(traffic.sends_by_rail.size(), std::size_t(rails));
  EXPECT_NEAR(traffic.sends_by_rail[2], 1e6, 1e4);
  EXPECT_EQ(traffic.sends_by_rail[0], 0);
  EXPECT_NEAR(traffic.sends_at_most(), 4e6, 1e5);
  EXPECT_TRUE(traffic.receives_by_rail.empty());
}

}  // namespace
}  // namespace ringtrue::ops
