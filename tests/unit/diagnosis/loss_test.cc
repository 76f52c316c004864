#include "diagnosis/loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/check.h"
#include "tests/unit/diagnosis/wires.h"

namespace ringtrue::diagnosis {
namespace {

using testing::Contains;
using testing::HasSubstr;

// Each node has one port; what it counts: {lost as a sender, lost as a receiver}, of a million packets each
// way.
struct Ports {
  explicit Ports(std::vector<std::pair<int, int>> lost, bool mlx5 = false) {
    for (std::size_t i = 0; i < lost.size(); ++i) {
      const std::string node = "node" + std::to_string(i),
                        device = (mlx5 ? "mlx5_" : "rxe") + std::to_string(i);
      diagnosis.nodes.push_back(node);
      rails[node] = {{device, 1}};
      const auto count = [&](const char* counter, int by) {
        windows[node].changes.push_back({device + "/1", counter, 10, std::uint64_t(10 + by), false, false});
      };
      count(mlx5 ? "packet_seq_err" : "rcvd_seq_err", lost[i].first);
      count(mlx5 ? "out_of_sequence" : "out_of_seq_request", lost[i].second);
      count(mlx5 ? "port_xmit_packets" : "sent_pkts", 1'000'000);
      count(mlx5 ? "port_rcv_packets" : "rcvd_pkts", 1'000'000);
    }
    diagnosis.verdict = Verdict::healthy;
  }
  Diagnosis& seen() {
    add_losses(windows, rails, diagnosis);
    return diagnosis;
  }
  Windows windows;
  Rails rails;
  Diagnosis diagnosis;
};

Finding slow(ScopeType type, int node, int peer = -1) {
  Finding f;
  f.kind = "slow-" + std::string(name(type));
  f.severity = Severity::critical;
  f.scope = {type, node, peer, "node" + std::to_string(node), peer < 0 ? "" : "node" + std::to_string(peer),
             ""};
  return f;
}

TEST(Loss, ASendersIsSharedByItsReceivers) {
  for (const bool mlx5 : {false, true}) {
    Ports ports({{20000, 0}, {0, 7000}, {1, 6000}, {0, 7001}}, mlx5);
    const Diagnosis& d = ports.seen();
    ASSERT_EQ(d.findings.size(), 1u);
    const Finding& f = d.findings[0];
    EXPECT_EQ(f.kind, "lossy-sender");
    EXPECT_EQ(f.scope.text(), "node0's sending side");
    EXPECT_EQ(f.scope.device, mlx5 ? "mlx5_0/1" : "rxe0/1");
    EXPECT_EQ(f.severity, Severity::critical);
    EXPECT_GT(f.confidence, 0.99);
    EXPECT_THAT(f.evidence, Contains(HasSubstr("20000 of 1000000 packets (2 %) that node0 sent were lost")));
    EXPECT_EQ(d.verdict, Verdict::faulty);
  }
}

TEST(Loss, AReceiversIsSharedByItsSenders) {
  Ports ports({{300, 0}, {0, 1000}, {350, 10}, {360, 0}});
  const Diagnosis& d = ports.seen();
  ASSERT_EQ(d.findings.size(), 1u);
  EXPECT_EQ(d.findings[0].kind, "lossy-receiver");
  EXPECT_EQ(d.findings[0].scope.node, 1);
  EXPECT_EQ(d.findings[0].severity, Severity::warning);
  EXPECT_EQ(d.verdict, Verdict::degraded);
}

TEST(Loss, APathsIsAtItsTwoEnds) {
  Ports ports({{0, 0}, {1000, 3}, {0, 0}, {5, 990}});
  const Diagnosis& d = ports.seen();
  ASSERT_EQ(d.findings.size(), 1u);
  EXPECT_EQ(d.findings[0].kind, "lossy-path");
  EXPECT_EQ(d.findings[0].scope.text(), "the path node1 -> node3");
}

TEST(Loss, OfTwoNodesNoneIsAccusedAlone) {
  Ports ports({{1000, 0}, {0, 990}});
  EXPECT_EQ(ports.seen().findings.at(0).scope.text(), "the path node0 -> node1");
}

TEST(Loss, ANodesIsInBothDirections) {
  Ports ports({{300, 330}, {1000, 980}, {320, 310}, {330, 340}});
  const Diagnosis& d = ports.seen();
  ASSERT_EQ(d.findings.size(), 1u);
  EXPECT_EQ(d.findings[0].kind, "lossy-node");
  EXPECT_EQ(d.findings[0].scope.node, 1);
  EXPECT_EQ(d.findings[0].evidence.size(), 2u);
}

TEST(Loss, WhatIsSpreadOverAllAccusesNobody) {
  Ports ports({{500, 480}, {510, 500}, {490, 520}, {505, 495}});
  const Diagnosis& d = ports.seen();
  EXPECT_TRUE(d.findings.empty());
  ASSERT_EQ(d.not_checked.size(), 1u);
  EXPECT_THAT(d.not_checked[0].why, HasSubstr("2005 were lost on the way of 4000000"));
  EXPECT_EQ(d.verdict, Verdict::healthy);
}

TEST(Loss, AFewAreChance) {
  EXPECT_TRUE(Ports({{19, 0}, {0, 19}, {0, 0}}).seen().findings.empty());
  Ports rare({{60, 0}, {0, 30}, {0, 30}});  // of a million
  EXPECT_TRUE(rare.seen().findings.empty());
  EXPECT_TRUE(rare.diagnosis.not_checked.empty());
  Ports none({});
  EXPECT_TRUE(none.seen().findings.empty());
}

TEST(Loss, OthersDevicesSayNothing) {
  Ports ports({{1000, 0}, {0, 500}, {0, 500}});
  ports.rails["node0"] = {{"rxe7", 1}};
  ports.windows["node1"].changes.push_back({"rxe0/1", "rcvd_seq_err", 0, 5000, false, false});
  const Diagnosis& d = ports.seen();
  EXPECT_TRUE(d.findings.empty());  // nobody sent what was lost
}

TEST(Loss, IsEvidenceWhereTheNodeIsSlowAnyway) {
  Ports ports({{20000, 0}, {0, 7000}, {1, 6000}, {0, 7000}});
  ports.diagnosis.findings = {slow(ScopeType::receiver, 2), slow(ScopeType::node, 0)};
  ports.diagnosis.verdict = Verdict::faulty;
  const Diagnosis& d = ports.seen();
  ASSERT_EQ(d.findings.size(), 2u);
  EXPECT_TRUE(d.findings[0].evidence.empty());
  EXPECT_THAT(d.findings[1].evidence, Contains(HasSubstr("that node0 sent were lost")));
}

// A check over RDMA: node3's port is slow and loses what it sends.
TEST(Loss, ACheckNamesThePortThatLoses) {
  Wires wires(4);
  wires.sends[3] *= 0.3;
  std::uint64_t runs = 0;
  wires.tamper = [&](Observation& o) {
    for (int i = 0; i < 4; ++i) {
      const std::string node = wires.name(i), device = "rxe" + std::to_string(i);
      o.rails[node] = {{device, 1}};
      auto& changes = o.counters[node].changes;
      const auto count = [&](const char* counter, std::uint64_t each) {
        changes.push_back({device + "/1", counter, runs * each, (runs + 1) * each, false, false});
      };
      count("sent_pkts", 10000);
      if (i == 3) count("rcvd_seq_err", 210);
      if (i != 3) count("out_of_seq_request", 70);
    }
    ++runs;
  };
  const Diagnosis d = wires.check();
  ASSERT_EQ(d.findings.size(), 1u) << explain(d);
  const Finding& f = d.findings[0];
  EXPECT_EQ(f.kind, "slow-sender");
  EXPECT_EQ(f.scope.device, "rxe3/1");
  EXPECT_THAT(f.evidence, Contains("node3's data went through rxe3 port 1"));
  EXPECT_THAT(f.evidence, Contains(HasSubstr("packets (2.1 %) that node3 sent were lost on the way")));
  EXPECT_THAT(f.evidence, Contains(HasSubstr("node3 rxe3 port 1: ")));
  // And the other way round: no rate suffers, only the counters tell.
  Wires fast(4);
  runs = 0;
  fast.tamper = wires.tamper;
  const Diagnosis lossy = fast.check();
  ASSERT_EQ(lossy.findings.size(), 1u) << explain(lossy);
  EXPECT_EQ(lossy.findings[0].kind, "lossy-sender");
  EXPECT_EQ(lossy.verdict, Verdict::faulty);
  EXPECT_THAT(lossy.findings[0].evidence,
              Contains(HasSubstr("sequence errors told by the receiver during the check")));
}

}  // namespace
}  // namespace ringtrue::diagnosis
