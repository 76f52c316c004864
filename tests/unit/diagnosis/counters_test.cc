#include "diagnosis/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/check.h"
#include "diagnosis/findings/above.h"
#include "report/text/wording.h"
#include "run/counter_window.h"
#include "tests/unit/diagnosis/wires.h"

namespace ringtrue::diagnosis {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

run::CounterWindow window(std::uint64_t symbol_errors) {
  return {2,
          {{"mlx5_0/1", "symbol_error", 100, 100 + symbol_errors, false, false},
           {"mlx5_0/1", "port_xmit_data", 0, 1 << 20, false, false},
           {"mlx5_0/1", "np_cnp_sent", 0, 17, false, false},
           {"mlx5_1/1", "symbol_error", 65535, 65535, true, false}}};
}

Finding finding(ScopeType type, const std::string& node, const std::string& peer = {}) {
  Finding f;
  f.scope.type = type;
  f.scope.subject.node = node;
  f.scope.peer_name = peer;
  return f;
}

TEST(Counters, ErrorsThatRoseAreEvidence) {
  std::vector<Finding> findings = {finding(ScopeType::sender, "node3"),
                                   finding(ScopeType::path, "node1", "node3"),
                                   finding(ScopeType::receiver, "node1"), finding(ScopeType::fleet, "")};
  join_counters({{"node3", window(412)}, {"node1", window(0)}}, {}, "during the check", findings);
  const auto line = "node3 mlx5_0 port 1: 412 symbol errors during the check";
  EXPECT_THAT(report::sentences(findings[0].evidence), ElementsAre(line));
  EXPECT_THAT(report::sentences(findings[1].evidence), ElementsAre(line));
  EXPECT_TRUE(findings[2].evidence.empty());  // a constant one, traffic and congestion blame nobody
  EXPECT_TRUE(findings[3].evidence.empty());
}

TEST(Counters, OfRdmaPortsOnlyTheRailsSpeak) {
  const run::CounterWindow seen = {2,
                                   {{"rxe2/1", "rcvd_seq_err", 0, 7, false, false},
                                    {"rxe3/1", "rcvd_seq_err", 0, 9, false, false},
                                    {"eth0", "rx_crc_errors", 0, 3, false, false}}};
  EXPECT_EQ(risen(seen).size(), 3u);
  EXPECT_THAT(risen(seen, {{"rxe2", 1}}),
              ElementsAre("rxe2 port 1: 7 sequence errors told by the receiver", "eth0: 3 checksum errors"));
  std::vector<Finding> findings = {finding(ScopeType::sender, "node2")};
  join_counters({{"node2", seen}}, {{"node2", {{"rxe2", 1}}}}, "during the check", findings);
  EXPECT_EQ(findings[0].evidence.size(), 2u);
  EXPECT_THAT(risen_by_name(seen, {{"rxe2", 1}, {"rxe3", 1}}),
              ElementsAre("rxe2 port 1: rcvd_seq_err +7", "rxe3 port 1: rcvd_seq_err +9"));
  EXPECT_TRUE(risen_by_name(seen, {}).empty());
  // What is told by name is not told again.
  findings[0].evidence = {{StatementKind::counter, {"node2"}, {}, "rxe2 port 1: rcvd_seq_err +7"}};
  join_counters({{"node2", seen}}, {{"node2", {{"rxe2", 1}}}}, "during the check", findings);
  EXPECT_THAT(
      report::sentences(findings[0].evidence),
      ElementsAre("node2 rxe2 port 1: rcvd_seq_err +7", "node2 eth0: 3 checksum errors during the check"));
}

TEST(Counters, WindowsOfRunsAddUp) {
  Windows sum;
  add({{"node3", {1, {{"eth0", "rx_crc_errors", 10, 12, false, false}}}}}, sum);
  add({{"node3", {2, {{"eth0", "rx_crc_errors", 15, 20, false, false}}}}, {"node4", {1, {}}}}, sum);
  EXPECT_EQ(sum.size(), 2u);
  EXPECT_DOUBLE_EQ(sum["node3"].seconds, 3);
  EXPECT_THAT(risen(sum["node3"]), ElementsAre("eth0: 10 checksum errors"));
}

TEST(Counters, ACheckJoinsThemToItsFindings) {
  Wires wires(8);
  wires.sends[3] *= 0.5;
  std::uint64_t errors = 0;  // node3's port damages symbols whenever anything runs
  wires.tamper = [&](Observation& o) {
    o.counters["node3"] = {0.1, {{"mlx5_0/1", "symbol_error", errors, errors + 10, false, false}}};
    o.counters["node1"] = {0.1, {{"mlx5_0/1", "port_xmit_data", errors, errors + 10, false, false}}};
    errors += 10;
  };
  Options options;
  options.clock = [&] { return Seconds(wires.clock); };
  const Diagnosis d = run_check(wires, options);
  ASSERT_EQ(d.findings.size(), 1u);
  EXPECT_EQ(d.findings[0].scope.node, 3);
  EXPECT_THAT(report::sentences(d.findings[0].evidence),
              Contains(AllOf(HasSubstr("mlx5_0 port 1: "), HasSubstr("0 symbol errors during the check"))));
  EXPECT_EQ(d.counters.size(), 2u);
  EXPECT_EQ(d.counters.at("node3").changes[0].after, std::uint64_t(10 * d.cost.runs));
}

ideal::Inputs wires_of(double rate) {
  ideal::Inputs in;
  in.inter = {BytesPerSecond(rate), ideal::Origin::declared, {}};
  return in;
}

TEST(AboveIdeal, IsAFindingThatChangesNoVerdict) {
  Diagnosis d;
  d.verdict = Verdict::healthy;
  RunRecord ring{Stage::ring, {}, Seconds(1), BytesPerSecond(98e6), {}};
  ring.experiment.order = {0, 1, 2, 3};
  d.runs = {ring};
  d.ring_busbw = ring.busbw;
  Diagnosis below = d;
  hold_against_ideal(wires_of(100e6), below);
  EXPECT_TRUE(below.findings.empty());
  EXPECT_NEAR(below.runs[0].ideal->value, 100e6, 1);
  EXPECT_FALSE(below.runs[0].above);
  hold_against_ideal(wires_of(12.5e6), d);
  ASSERT_EQ(d.findings.size(), 1u);
  EXPECT_EQ(d.findings[0].kind, FindingKind::above_ideal);
  EXPECT_EQ(d.findings[0].severity, Severity::info);
  EXPECT_THAT(report::sentence(d.findings[0].evidence[0]),
              HasSubstr("wrong model: busbw 98.0 MB/s is 784.0 % of the ideal"));
  EXPECT_THAT(report::sentence(d.findings[0].evidence[0]), HasSubstr("is that of one of 8 rails"));
  EXPECT_EQ(d.verdict, Verdict::healthy);
  hold_against_ideal({}, d);  // nothing is known: nothing is said
  EXPECT_EQ(d.findings.size(), 1u);
}

}  // namespace
}  // namespace ringtrue::diagnosis
