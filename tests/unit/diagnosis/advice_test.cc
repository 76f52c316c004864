// Impact and plans of diagnoses made by hand.
#include "diagnosis/findings/advice.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "diagnosis/findings/report.h"
#include "report/text/wording.h"

namespace ringtrue::diagnosis {
namespace {

using report::sentence;

constexpr double usual = 60e6;

Diagnosis cluster(int nodes) {
  Diagnosis d;
  for (int n = 0; n < nodes; ++n) d.nodes.push_back(fmt::format("node{}", n));
  d.expected.value = BytesPerSecond(usual);
  return d;
}

void blame(Diagnosis& d, ScopeType type, int node, double share, int peer = -1) {
  Finding& f = d.findings.emplace_back();
  f.severity = Severity::critical;
  f.scope.type = type;
  f.scope.node = node;
  f.scope.subject.node = d.nodes[std::size_t(node)];
  f.scope.peer = peer;
  f.measured = BytesPerSecond(usual * share);
}

TEST(Advice, SaysWhatFixingASlowSenderBringsAndLeavesItOut) {
  Diagnosis d = cluster(8);
  blame(d, ScopeType::sender, 3, 0.5);
  const std::vector<Plan> plans = advise(d);
  EXPECT_EQ(sentence(d.findings[0].impact), "fixing it: 30.0 MB/s -> 60.0 MB/s busbw");
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(plans[0].kind, Plan::Kind::leave_out_nodes);
  EXPECT_EQ(plans[0].left_out, std::vector<std::string>{"node3"});
  EXPECT_EQ(plans[0].order.size(), 7u);
  EXPECT_NEAR(plans[0].gain(), 1, 0.01);
  EXPECT_EQ(sentence(plans[0]), "leave out node3: 30.0 MB/s -> 60.0 MB/s busbw over 7 of 8 nodes");
}

// Nobody is left out for what is over.
TEST(Advice, IsNoneForWhatIsTold) {
  Diagnosis d = cluster(8);
  blame(d, ScopeType::sender, 3, 0.5);
  d.findings[0].severity = Severity::info;
  EXPECT_TRUE(advise(d).empty());
  EXPECT_EQ(sentence(d.findings[0].impact), "");
}

TEST(Advice, GoesAroundSlowPaths) {
  for (const int nodes : {4, 5, 8, 33}) {
    Diagnosis d = cluster(nodes);
    blame(d, ScopeType::path, 1, 0.4, 2);
    blame(d, ScopeType::path, nodes - 1, 0.4, 0);
    const std::vector<Plan> plans = advise(d);
    ASSERT_EQ(plans.size(), 1u) << nodes;
    EXPECT_EQ(plans[0].kind, Plan::Kind::reorder);
    EXPECT_NEAR(plans[0].gain(), 1.5, 0.02);
    const auto& order = plans[0].order;
    ASSERT_EQ(order.size(), std::size_t(nodes));
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::string hop = order[i] + ">" + order[(i + 1) % order.size()];
      EXPECT_NE(hop, "node1>node2");
      EXPECT_NE(hop, d.nodes.back() + ">node0");
    }
    // Either alone brings nothing.
    EXPECT_EQ(sentence(d.findings[0].impact),
              "fixing it together with the other findings: 24.0 MB/s -> 60.0 MB/s busbw");
  }
}

TEST(Advice, CountsTheWorstOfSeveral) {
  Diagnosis d = cluster(6);
  d.ring_busbw = BytesPerSecond(14.5e6);
  blame(d, ScopeType::node, 1, 0.25);
  blame(d, ScopeType::receiver, 4, 0.5);
  blame(d, ScopeType::path, 0, 0.5, 3);
  const std::vector<Plan> plans = advise(d);
  EXPECT_EQ(sentence(d.findings[0].impact),
            "fixing it: 14.5 MB/s -> 30.0 MB/s busbw; the other findings as well: 60.0 MB/s");
  EXPECT_EQ(sentence(d.findings[1].impact),
            "fixing it together with the other findings: 14.5 MB/s -> 60.0 MB/s busbw");
  EXPECT_EQ(sentence(d.findings[2].impact),
            "not on the ring in the order given (busbw 14.5 MB/s); traffic between these two is held to 30.0 "
            "MB/s");
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(plans[0].left_out, (std::vector<std::string>{"node1", "node4"}));
  // Without node1 and node4 node0 > node2 > node3 is still apart.
  EXPECT_NEAR(plans[0].then.value, usual, 0.01 * usual);
}

// Others have the same fault, or another one, of which there is no finding of their own.
TEST(Advice, PromisesNoMoreThanTheOthersWereSeenToDo) {
  Diagnosis d = cluster(8);
  blame(d, ScopeType::sender, 3, 0.25);
  d.rates.assign(8, std::vector<std::optional<BytesPerSecond>>(8));
  for (std::size_t from = 0; from < 8; ++from)
    for (std::size_t to = 0; to < 8; ++to)
      if (from != to) d.rates[from][to] = BytesPerSecond(usual * (from == 3 ? 0.25 : from < 6 ? 0.5 : 0.97));
  std::vector<Plan> plans = advise(d);
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(plans[0].left_out, std::vector<std::string>{"node3"});
  EXPECT_NEAR(plans[0].then.value, usual / 2, 1);
  EXPECT_EQ(sentence(d.findings[0].impact), "fixing it: 15.0 MB/s -> 30.0 MB/s busbw");
  // What only ever met the slow one has not shown that it is slow.
  d.rates.assign(8, std::vector<std::optional<BytesPerSecond>>(8));
  d.rates[3][5] = BytesPerSecond(usual / 4);
  plans = advise(d);
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_NEAR(plans[0].then.value, usual, 1);
}

TEST(Advice, PromisesNoMoreThanWhatANodesPortsAreExpectedToDo) {
  Diagnosis d = cluster(2);
  for (const int node : {0, 1}) {
    blame(d, ScopeType::path, node, 0.2, 1 - node);
    d.findings.back().expected = BytesPerSecond(usual / 2);
  }
  advise(d);
  EXPECT_EQ(sentence(d.findings[0].impact),
            "fixing it together with the other findings: 12.0 MB/s -> 30.0 MB/s busbw");
}

TEST(Advice, CountsWhatStaysInTheFabric) {
  for (const ScopeType type : {ScopeType::leaf, ScopeType::trunk, ScopeType::spine, ScopeType::rail}) {
    Diagnosis d = cluster(8);
    d.ring_busbw = BytesPerSecond(0.25 * usual);
    blame(d, ScopeType::node, 3, 0.25);
    blame(d, type, 0, 0.5);
    d.findings[1].scope.node = -1;
    std::vector<Plan> plans = advise(d);
    ASSERT_EQ(plans.size(), 1u);
    EXPECT_NEAR(plans[0].then.value, usual / 2, 1);
    // The ring was faster: it does not go there.
    d.findings[1].measured = BytesPerSecond(0.1 * usual);
    plans = advise(d);
    ASSERT_EQ(plans.size(), 1u);
    EXPECT_NEAR(plans[0].then.value, usual, 1);
  }
  Diagnosis d = cluster(8);
  blame(d, ScopeType::node, 3, 0.25);
  d.expected.of_most = BytesPerSecond(usual / 2);  // all of them are slow
  const std::vector<Plan> plans = advise(d);
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_NEAR(plans[0].then.value, usual / 2, 1);
}

TEST(Advice, LeavesOutARail) {
  Diagnosis d = cluster(4);
  blame(d, ScopeType::nic, 2, 0.25);
  d.findings[0].scope.subject.device = "mlx5_1/1";
  for (const std::string& node : d.nodes) d.rails[node] = {{"mlx5_0", 1}, {"mlx5_1", 1}};
  const std::vector<Plan> plans = advise(d);
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0].kind, Plan::Kind::leave_out_nodes);
  EXPECT_EQ(plans[1].kind, Plan::Kind::leave_out_rail);
  EXPECT_NEAR(plans[1].then.value, usual / 2, 0.01 * usual);
  EXPECT_EQ(sentence(plans[1]), "leave out mlx5_1/1 on every node: 15.0 MB/s -> 30.0 MB/s busbw");
}

TEST(Advice, SaysNothingWhereNothingWasMeasured) {
  Diagnosis d = cluster(4);
  EXPECT_TRUE(advise(d).empty());
  blame(d, ScopeType::path, 0, 1, 1);
  d.findings[0].measured.reset();
  d.findings[0].impact = "as it was";
  EXPECT_TRUE(advise(d).empty());
  EXPECT_EQ(sentence(d.findings[0].impact), "as it was");
  Diagnosis two = cluster(2);
  blame(two, ScopeType::path, 0, 0.5, 1);
  EXPECT_TRUE(advise(two).empty()) << "two nodes have one ring";
}

}  // namespace
}  // namespace ringtrue::diagnosis
