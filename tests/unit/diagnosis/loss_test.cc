#include "diagnosis/infer/loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "diagnosis/check.h"
#include "report/text/wording.h"
#include "run/counter_window.h"
#include "tests/unit/diagnosis/wires.h"

namespace ringtrue::diagnosis {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Four nodes with a port each, six experiments: in each, everybody sends 100,000 packets to one other, at
// three shifts twice. `rate` says what share a pair loses; both ends count it.
struct LossyPorts {
  using Rate = std::function<double(int source, int destination)>;
  explicit LossyPorts(const Rate& rate, bool mlx5 = false, int nodes = 4, double packets = 100'000) {
    std::vector<std::array<std::uint64_t, 3>> counted(std::size_t(nodes), {0, 0, 0});
    for (int i = 0; i < nodes; ++i) {
      diagnosis.nodes.push_back("node" + std::to_string(i));
      rails[diagnosis.nodes.back()] = {{(mlx5 ? "mlx5_" : "rxe") + std::to_string(i), 1}};
    }
    for (int run = 0; run < 2 * (nodes - 1); ++run) {
      Observation o;
      o.rails = rails;
      for (int i = 0; i < nodes; ++i) {
        const int to = (i + 1 + run % (nodes - 1)) % nodes,
                  from = (i + nodes - 1 - run % (nodes - 1)) % nodes;
        o.hops.push_back({i, to, Bytes(std::uint64_t(packets * 1024)), Seconds(1), {}, {}, 0, {}, i, to, {}});
        const auto sent = std::uint64_t(rate(i, to) * packets),
                   received = std::uint64_t(rate(from, i) * packets);
        counted[std::size_t(i)][0] += sent, counted[std::size_t(i)][1] += received;
        o.counters[diagnosis.nodes[std::size_t(i)]] = window(i, mlx5, sent, received, std::uint64_t(packets));
      }
      losses.add(o, diagnosis.nodes, run);
    }
    for (int i = 0; i < nodes; ++i) {
      const auto& [sent, received, unused] = counted[std::size_t(i)];
      windows[diagnosis.nodes[std::size_t(i)]] = window(i, mlx5, sent, received, 0);
    }
    diagnosis.verdict = Verdict::healthy;
  }
  static run::CounterWindow window(int node, bool mlx5, std::uint64_t sent, std::uint64_t received,
                                   std::uint64_t packets) {
    run::CounterWindow out;
    const std::string port = (mlx5 ? "mlx5_" : "rxe") + std::to_string(node) + "/1";
    const auto count = [&](const char* counter, std::uint64_t by) {
      out.changes.push_back({port, counter, 10, 10 + by, false, false});
    };
    count(mlx5 ? "packet_seq_err" : "rcvd_seq_err", sent);
    count(mlx5 ? "out_of_sequence" : "out_of_seq_request", received);
    count(mlx5 ? "port_xmit_packets" : "sent_pkts", packets);
    return out;
  }
  Diagnosis& seen() {
    add_losses(
        losses, windows, rails, [](const Scope&) { return Pace{}; }, {}, diagnosis);
    return diagnosis;
  }
  Losses losses;
  Windows windows;
  Rails rails;
  Diagnosis diagnosis;
};

Finding slow(ScopeType type, int node, int peer = -1) {
  Finding f;
  f.kind = slow_kind(type);
  f.severity = Severity::critical;
  f.scope = {type, node, peer, "node" + std::to_string(node), peer < 0 ? "" : "node" + std::to_string(peer)};
  return f;
}

TEST(Loss, ASendersIsWithEveryReceiver) {
  for (const bool mlx5 : {false, true}) {
    LossyPorts ports([](int x, int) { return x == 0 ? 0.02 : 0; }, mlx5);
    const Diagnosis& d = ports.seen();
    ASSERT_EQ(d.findings.size(), 1u);
    const Finding& f = d.findings[0];
    EXPECT_EQ(f.kind, FindingKind::lossy_sender);
    EXPECT_EQ(f.scope.text(), "node0's sending side");
    EXPECT_EQ(f.scope.subject.device, mlx5 ? "mlx5_0/1" : "rxe0/1");
    EXPECT_EQ(f.severity, Severity::critical);
    EXPECT_GE(f.confidence, 0.99);
    const std::string device = mlx5 ? "mlx5_" : "rxe", sent = mlx5 ? "packet_seq_err" : "rcvd_seq_err",
                      received = mlx5 ? "out_of_sequence" : "out_of_seq_request";
    EXPECT_THAT(report::sentences(f.evidence),
                ElementsAre("12000 of 600000 packets (2 %) that node0 sent were lost on the way, as the "
                            "ports count; of all others, 0 of 1800000 packets (0 %)",
                            "node0 " + device + "0 port 1: " + sent + " +12000",
                            "node1 " + device + "1 port 1: " + received + " +4000",
                            "node2 " + device + "2 port 1: " + received + " +4000",
                            "node3 " + device + "3 port 1: " + received + " +4000"));
    EXPECT_EQ(d.verdict, Verdict::faulty);
  }
}

TEST(Loss, AReceiversIsWithEverySender) {
  LossyPorts ports([](int x, int y) { return y == 1 ? 0.001 : x == 2 ? 0.00001 : 0; });
  const Diagnosis& d = ports.seen();
  ASSERT_EQ(d.findings.size(), 1u);
  EXPECT_EQ(d.findings[0].kind, FindingKind::lossy_receiver);
  EXPECT_EQ(d.findings[0].scope.node, 1);
  EXPECT_EQ(d.findings[0].severity, Severity::warning);
  EXPECT_THAT(report::sentences(d.findings[0].evidence),
              Contains("node1 rxe1 port 1: out_of_seq_request +600"));
  EXPECT_EQ(d.verdict, Verdict::degraded);
}

TEST(Loss, APathsIsBetweenItsEndsAlone) {
  LossyPorts ports([](int x, int y) { return x == 1 && y == 3 ? 0.01 : 0.00001; });
  const Diagnosis& d = ports.seen();
  ASSERT_EQ(d.findings.size(), 1u);
  EXPECT_EQ(d.findings[0].kind, FindingKind::lossy_path);
  EXPECT_EQ(d.findings[0].scope.text(), "the path node1 -> node3");
  EXPECT_THAT(report::sentences(d.findings[0].evidence),
              ElementsAre(HasSubstr("2000 of 200000 packets (1 %) that node1 sent to node3"),
                          StartsWith("node1 rxe1 port 1: rcvd_seq_err +20"),
                          StartsWith("node3 rxe3 port 1: out_of_seq_request +20")));
}

TEST(Loss, OfTwoNodesNoneIsBlamedAlone) {
  LossyPorts ports([](int x, int) { return x == 0 ? 0.01 : 0; }, false, 2);
  EXPECT_EQ(ports.seen().findings.at(0).scope.text(), "the path node0 -> node1");
}

TEST(Loss, ANodesIsInBothDirections) {
  LossyPorts ports([](int x, int y) { return x == 1 || y == 1 ? 0.003 : 0; });
  const Diagnosis& d = ports.seen();
  ASSERT_EQ(d.findings.size(), 1u);
  EXPECT_EQ(d.findings[0].kind, FindingKind::lossy_node);
  EXPECT_EQ(d.findings[0].scope.node, 1);
}

// One pair had most of the packets: a sender that lost little with others, because it sent them little.
TEST(Loss, FewPacketsToOthersAreWeighed) {
  Losses losses;
  for (int run = 0; run < 4; ++run) {
    losses.add(0, 1, {20, 1000}, run);
    losses.add(1, 2, {0, 1000}, run);
    losses.add(2, 0, {0, 1000}, run);
  }
  ASSERT_TRUE(losses.culprit());
  EXPECT_EQ(losses.culprit()->scope.type, ScopeType::path);  // nothing else was measured of either end
  losses.add(0, 2, {4, 200}, 5);
  losses.add(0, 2, {4, 200}, 6);
  losses.add(2, 1, {0, 1000}, 5);
  ASSERT_TRUE(losses.culprit());
  EXPECT_EQ(losses.culprit()->scope.type, ScopeType::sender);
  EXPECT_EQ(losses.culprit()->scope.node, 0);
  losses.add(0, 2, {0, 4000}, 7);
  EXPECT_EQ(losses.culprit()->scope.type, ScopeType::path);
}

TEST(Loss, TooFewPacketsElsewhereLeaveARival) {
  Losses losses;
  for (int run = 0; run < 4; ++run) {
    losses.add(0, 1, {20, 1000}, run);
    losses.add(1, 0, {0, 1000}, run);
    losses.add(0, 2, {0, 10}, run);
    losses.add(2, 1, {0, 1000}, run);
  }
  ASSERT_TRUE(losses.culprit());
  EXPECT_EQ(losses.culprit()->scope.type, ScopeType::path);
  ASSERT_TRUE(losses.culprit()->alternative);
  EXPECT_EQ(losses.culprit()->alternative->type, ScopeType::sender);
}

TEST(Loss, WhatIsSpreadOverAllBlamesNobody) {
  LossyPorts ports([](int x, int y) { return 0.0005 + 0.00002 * ((x + y) % 3); });
  const Diagnosis& d = ports.seen();
  EXPECT_TRUE(d.findings.empty());
  ASSERT_EQ(d.not_checked.size(), 1u);
  EXPECT_THAT(report::not_checked(d.not_checked[0]).why, HasSubstr("no node's part stands out"));
  EXPECT_EQ(d.verdict, Verdict::healthy);
}

TEST(Loss, OneBurstBlamesNobody) {
  Losses losses;
  for (int run = 0; run < 6; ++run)
    for (int x = 0; x < 4; ++x) losses.add(x, (x + 1) % 4, {run == 3 && x == 2 ? 400.0 : 0, 10'000}, run);
  EXPECT_FALSE(losses.culprit());
}

TEST(Loss, AFewAreChance) {
  EXPECT_TRUE(LossyPorts([](int x, int) { return x == 0 ? 0.00003 : 0; }).seen().findings.empty());
  LossyPorts rare([](int x, int) { return x == 0 ? 0.00008 : 0; });
  EXPECT_TRUE(rare.seen().findings.empty());
  EXPECT_TRUE(rare.diagnosis.not_checked.empty());
  EXPECT_FALSE(Losses().culprit());
}

TEST(Loss, OthersDevicesSayNothing) {
  Observation o;
  o.rails = {{"node0", {{"rxe7", 1}}}, {"node1", {{"rxe1", 1}}}};
  o.hops = {{0, 1, Bytes(1 << 20), Seconds(1), {}, {}, 0, {}, 0, 1, {}}};
  o.counters["node0"] = o.counters["node1"] = LossyPorts::window(0, false, 1000, 1000, 5000);
  Losses losses;
  losses.add(o, {"node0", "node1"}, 1);
  EXPECT_EQ(losses.all().lost, 0);
}

TEST(Loss, IsEvidenceWhereTheNodeIsSlowAnyway) {
  LossyPorts ports([](int x, int) { return x == 0 ? 0.02 : 0; });
  ports.diagnosis.findings = {slow(ScopeType::receiver, 2), slow(ScopeType::node, 0)};
  ports.diagnosis.verdict = Verdict::faulty;
  const Diagnosis& d = ports.seen();
  ASSERT_EQ(d.findings.size(), 2u);
  EXPECT_TRUE(d.findings[0].evidence.empty());
  EXPECT_THAT(report::sentences(d.findings[1].evidence), Contains(HasSubstr("that node0 sent were lost")));
}

// Of TCP, whose senders send again on healthy wires too: a fault only where the rate suffers.
TEST(Loss, OfTcpOnlyWhereTheRateSuffers) {
  Losses losses;
  for (int run = 0; run < 4; ++run) {
    Observation o;
    for (int i = 0; i < 4; ++i) {
      HopReading hop;
      hop.source = i, hop.destination = (i + 1 + run % 3) % 4;
      hop.bytes = Bytes(144'800'000), hop.busy = Seconds(1);
      hop.retransmits = i == 2 ? 1000 : 10;
      o.hops.push_back(hop);
    }
    losses.add(o, {"node0", "node1", "node2", "node3"}, run);
  }
  for (const double share : {0.99, 0.9, 0.6}) {
    Diagnosis d;
    d.nodes = {"node0", "node1", "node2", "node3"};
    d.verdict = Verdict::unknown;
    add_losses(
        losses, {}, {},
        [&](const Scope&) {
          return Pace{share * 1e8, 1e8};
        },
        {}, d);
    ASSERT_EQ(d.findings.size(), share < 0.95 ? 1u : 0u);
    if (d.findings.empty()) continue;
    EXPECT_EQ(d.findings[0].kind, FindingKind::lossy_sender);
    EXPECT_EQ(d.findings[0].scope.node, 2);
    EXPECT_EQ(d.findings[0].severity, share < 0.85 ? Severity::critical : Severity::warning);
    EXPECT_EQ(d.findings[0].ratio, share);
    EXPECT_THAT(report::sentences(d.findings[0].evidence),
                Contains(HasSubstr("that node2 sent were sent again")));
    EXPECT_EQ(d.verdict, share < 0.85 ? Verdict::faulty : Verdict::degraded);
  }
}

// Where all lose some, one path's bad moments are no fault of its.
TEST(Loss, OfTcpBlamesNobodyForABadMoment) {
  const auto slow = [](const Scope&) { return Pace{0.7e8, 1e8}; };
  const auto named = [&](std::vector<double> on_the_path, double elsewhere) {
    Losses losses;
    for (int run = 0; run < int(on_the_path.size()); ++run) {
      losses.add(5, 7, {on_the_path[std::size_t(run)], 10'000}, run);
      for (int i = 0; i < 5; ++i) losses.add(i, i + 1, {elsewhere, 10'000}, run);
    }
    Diagnosis d;
    for (int i = 0; i < 8; ++i) d.nodes.push_back("node" + std::to_string(i));
    add_losses(losses, {}, {}, slow, {}, d);
    return d.findings.size();
  };
  EXPECT_EQ(named({80, 60, 64}, 20), 0u) << "most losses are elsewhere";
  EXPECT_EQ(named({150, 80, 0, 1}, 2), 0u) << "half of the time it lost nothing";
  EXPECT_EQ(named({150, 80}, 2), 0u) << "twice is not often";
  EXPECT_EQ(named({150, 80, 120, 100}, 2), 1u);
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
      for (const HopReading& hop : o.hops) {
        if (hop.source != 3) continue;
        if (i == 3) count("rcvd_seq_err", 210);
        if (i == hop.destination) count("out_of_seq_request", 210);
      }
    }
    ++runs;
  };
  const Diagnosis d = wires.check();
  ASSERT_EQ(d.findings.size(), 1u) << explain(d);
  const Finding& f = d.findings[0];
  EXPECT_EQ(f.kind, FindingKind::slow_sender);
  EXPECT_EQ(f.scope.subject.device, "rxe3/1");
  EXPECT_THAT(report::sentences(f.evidence), Contains("node3's data went through rxe3 port 1"));
  EXPECT_THAT(report::sentences(f.evidence),
              Contains(HasSubstr("packets (2.1 %) that node3 sent were lost on the way")));
  EXPECT_THAT(report::sentences(f.evidence), Contains(HasSubstr("node3 rxe3 port 1: rcvd_seq_err +")));
  // And the other way round: no rate suffers, only the counters tell.
  Wires fast(4);
  runs = 0;
  fast.tamper = wires.tamper;
  const Diagnosis lossy = fast.check();
  ASSERT_EQ(lossy.findings.size(), 1u) << explain(lossy);
  EXPECT_EQ(lossy.findings[0].kind, FindingKind::lossy_sender);
  EXPECT_EQ(lossy.verdict, Verdict::faulty);
  for (const char* line : {"node3 rxe3 port 1: rcvd_seq_err +", "node0 rxe0 port 1: out_of_seq_request +"})
    EXPECT_THAT(report::sentences(lossy.findings[0].evidence), Contains(StartsWith(line)).Times(1));
  EXPECT_THAT(report::sentences(lossy.findings[0].evidence),
              Not(Contains(HasSubstr("sequence errors told"))));
}

// Loss makes some of a node's paths slow, each by chance: it is the node that is named, and that it loses.
TEST(Loss, OfTcpTakesTheSlowPathsOfAnEndThatLoses) {
  const auto named = [](std::vector<Finding> before) {
    Losses losses;
    for (int run = 0; run < 5; ++run)
      for (int x = 0; x < 6; ++x) {
        const int y = (x + 1 + run) % 6;
        if (x != y) losses.add(x, y, {y == 4 ? 12.0 : 0, 20'000}, run);
      }
    Diagnosis d;
    for (int i = 0; i < 6; ++i) d.nodes.push_back("node" + std::to_string(i));
    d.findings = std::move(before);
    add_losses(
        losses, {}, {},
        [](const Scope&) {
          return Pace{0.9e8, 1e8};
        },
        {}, d);
    std::vector<std::string> out;
    for (const Finding& f : d.findings) out.push_back(std::string(key_of(f.kind)) + " " + f.scope.text());
    return out;
  };
  const auto path = [](int x, int y) {
    Finding f = slow(ScopeType::path, x);
    f.scope.peer = y;
    f.scope.peer_name = "node" + std::to_string(y);
    return f;
  };
  EXPECT_THAT(named({path(1, 4), path(3, 4)}), testing::ElementsAre("lossy-receiver node4's receiving side"));
  EXPECT_EQ(named({path(1, 4), path(4, 2)}).size(), 2u) << "what it sends is slow, too";
  EXPECT_EQ(named({slow(ScopeType::receiver, 4)}).size(), 1u);
  EXPECT_EQ(named({path(1, 2)}).size(), 2u) << "another one's";
}

}  // namespace
}  // namespace ringtrue::diagnosis
