#include "diagnosis/meetings.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace ringtrue::diagnosis {
namespace {

Ports ports_of(const std::vector<int>& counts) {
  Ports ports;
  for (const int count : counts) {
    ports.emplace_back();
    for (int k = 0; k < count; ++k) ports.back().push_back({"mlx5_" + std::to_string(k), 1});
  }
  return ports;
}

using End = std::pair<int, std::string>;
// How often each two ends meet; fails where a node meets two others at once.
std::map<std::pair<End, End>, int> met(const std::vector<Round>& rounds) {
  std::map<std::pair<End, End>, int> out;
  for (const Round& round : rounds) {
    EXPECT_FALSE(round.empty());
    std::set<int> busy;
    for (const Meeting& m : round) {
      EXPECT_TRUE(busy.insert(m.node).second);
      EXPECT_EQ(busy.insert(m.peer).second, m.peer != m.node);
      ++out[{{m.node, m.ports ? to_text(m.ports->first) : ""},
             {m.peer, m.ports ? to_text(m.ports->second) : ""}}];
    }
  }
  return out;
}

TEST(Meetings, EveryTwoNodesMeetOnce) {
  for (int n = 0; n <= 17; ++n) {
    const auto rounds = meet_nodes(n);
    EXPECT_EQ(rounds.size(), n < 2 ? 0u : std::size_t(n % 2 ? n : n - 1)) << n;
    const auto pairs = met(rounds);
    EXPECT_EQ(int(pairs.size()), n * (n - 1) / 2) << n;
    for (const auto& [pair, times] : pairs) EXPECT_EQ(times, 1);
  }
}

TEST(Meetings, PortsMeetAlignedOrAll) {
  const Ports ports = ports_of({2, 3, 2, 0});
  const auto aligned = met(meet_ports(ports, false));
  EXPECT_EQ(aligned.size(), 6u);  // three pairs of nodes, two rails each
  for (const auto& [pair, times] : aligned) {
    EXPECT_EQ(times, 1);
    EXPECT_EQ(pair.first.second, pair.second.second);
  }
  const auto all = met(meet_ports(ports, true));
  EXPECT_EQ(all.size(), 2u * 3 + 2 * 2 + 3 * 2);
  EXPECT_EQ(port_pairs(ports), 2 * long(all.size()));
  EXPECT_TRUE(meet_ports(ports_of({1, 0}), true).empty());
}

TEST(Meetings, APortMeetsItselfAndItsNodesOthers) {
  const auto home = met(meet_at_home(ports_of({3, 1, 0})));
  EXPECT_EQ(home.size(), 3u + 3 + 1);
  for (const auto& [pair, times] : home) {
    EXPECT_EQ(times, 1);
    EXPECT_EQ(pair.first.first, pair.second.first);
    EXPECT_LE(pair.first.second, pair.second.second);
  }
}

TEST(Meetings, ARoundIsOneExperiment) {
  const Round round = {{0, 3, std::pair(RdmaPort{"a", 1}, RdmaPort{"b", 2})},
                       {1, 1, std::pair(RdmaPort{"c", 1}, RdmaPort{"c", 1})}};
  const Experiment e = experiment_of(round, Bytes(64), 5);
  EXPECT_EQ(e.algorithm, "pairwise");
  EXPECT_EQ(e.order, (std::vector<int>{0, 1, 3, 1}));
  EXPECT_EQ(e.shift, 2);
  EXPECT_EQ(e.ports, (std::vector<RdmaPort>{{"a", 1}, {"c", 1}, {"b", 2}, {"c", 1}}));
  EXPECT_TRUE(experiment_of({{0, 1}}, Bytes(64), 5).ports.empty());
}

TEST(Meetings, BothEndsTimesAreARoundTrip) {
  Observation o;
  o.experiment = experiment_of({{0, 2}, {1, 3}}, Bytes(4), 3);
  o.times = {{9e-6, 8e-6, 7e-6}, {3e-6, 3e-6, 3e-6}, {1e-6, 0, 5e-6}, {3e-6, 1e-6, 3e-6}};
  EXPECT_DOUBLE_EQ(one_way(o, 0)->value, 4e-6);
  EXPECT_DOUBLE_EQ(one_way(o, 1)->value, 2e-6);
  EXPECT_FALSE(one_way(o, 2));
  o.times.clear();
  EXPECT_FALSE(one_way(o, 0));
}

TEST(Meetings, PortsAreReadAsTheyAreWritten) {
  EXPECT_EQ(to_text(RdmaPort{"mlx5_0", 2}), "mlx5_0:2");
  EXPECT_EQ(parse_rdma_port("mlx5_0:2"), (RdmaPort{"mlx5_0", 2}));
  for (const char* bad :
       {"", "mlx5_0", ":1", "mlx5_0:", "mlx5_0:0", "mlx5_0:-1", "mlx5_0:1 ", "a:99999999999"})
    EXPECT_FALSE(parse_rdma_port(bad)) << bad;
}

}  // namespace
}  // namespace ringtrue::diagnosis
