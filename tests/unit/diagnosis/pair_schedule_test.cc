#include "diagnosis/sweep/pair_schedule.h"

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
    for (const PairTest& m : round) {
      EXPECT_TRUE(busy.insert(m.node).second);
      EXPECT_EQ(busy.insert(m.peer).second, m.peer != m.node);
      ++out[{{m.node, m.ports ? to_text(m.ports->first) : ""},
             {m.peer, m.ports ? to_text(m.ports->second) : ""}}];
    }
  }
  return out;
}

TEST(PairSchedule, EveryTwoNodesMeetOnce) {
  for (int n = 0; n <= 17; ++n) {
    const auto rounds = pair_nodes(n);
    EXPECT_EQ(rounds.size(), n < 2 ? 0u : std::size_t(n % 2 ? n : n - 1)) << n;
    const auto pairs = met(rounds);
    EXPECT_EQ(int(pairs.size()), n * (n - 1) / 2) << n;
    for (const auto& [pair, times] : pairs) EXPECT_EQ(times, 1);
  }
}

TEST(PairSchedule, PortsMeetAlignedOrAll) {
  const Ports ports = ports_of({2, 3, 2, 0});
  const auto aligned = met(pair_ports(ports, false));
  EXPECT_EQ(aligned.size(), 6u);  // three pairs of nodes, two rails each
  for (const auto& [pair, times] : aligned) {
    EXPECT_EQ(times, 1);
    EXPECT_EQ(pair.first.second, pair.second.second);
  }
  const auto all = met(pair_ports(ports, true));
  EXPECT_EQ(all.size(), 2u * 3 + 2 * 2 + 3 * 2);
  EXPECT_EQ(port_pairs(ports), 2 * long(all.size()));
  EXPECT_TRUE(pair_ports(ports_of({1, 0}), true).empty());
}

TEST(PairSchedule, APortThatIsMissingShiftsNoOther) {
  const auto aligned =
      met(pair_ports({{{"a", 1}, {"b", 1}, {"c", 1}}, {{"a", 1}, {"c", 1}}, {{"b", 1}, {"x", 1}}}, false));
  const auto pair = [](int node, const char* port, int peer, const char* its) {
    return std::pair(std::pair(node, std::string(port)), std::pair(peer, std::string(its)));
  };
  EXPECT_EQ(aligned.size(), 6u);
  for (const auto& each : {pair(0, "a:1", 1, "a:1"), pair(0, "c:1", 1, "c:1"), pair(0, "b:1", 2, "b:1"),
                           pair(0, "a:1", 2, "x:1"), pair(1, "a:1", 2, "b:1"), pair(1, "c:1", 2, "x:1")})
    EXPECT_EQ(aligned.count(each), 1u) << each.first.second << " " << each.second.second;
}

TEST(PairSchedule, APortMeetsItselfAndItsNodesOthers) {
  const auto home = met(loopback_pairs(ports_of({3, 1, 0})));
  EXPECT_EQ(home.size(), 3u + 3 + 1);
  for (const auto& [pair, times] : home) {
    EXPECT_EQ(times, 1);
    EXPECT_EQ(pair.first.first, pair.second.first);
    EXPECT_LE(pair.first.second, pair.second.second);
  }
}

TEST(PairSchedule, ARoundIsOneExperiment) {
  const Round round = {{0, 3, std::pair(RdmaPort{"a", 1}, RdmaPort{"b", 2})},
                       {1, 1, std::pair(RdmaPort{"c", 1}, RdmaPort{"c", 1})}};
  const Experiment e = experiment_of(round, Bytes(64), 5);
  EXPECT_EQ(e.algorithm, collective::AlgorithmId::pairwise);
  EXPECT_EQ(e.order, (std::vector<int>{0, 1, 3, 1}));
  EXPECT_EQ(e.shift, 2);
  EXPECT_EQ(e.ports, (std::vector<RdmaPort>{{"a", 1}, {"c", 1}, {"b", 2}, {"c", 1}}));
  EXPECT_TRUE(experiment_of({{0, 1}}, Bytes(64), 5).ports.empty());
}

TEST(PairSchedule, BothEndsTimesAreARoundTrip) {
  Observation o;
  o.experiment = experiment_of({{0, 2}, {1, 3}}, Bytes(4), 3);
  o.times = {{9e-6, 8e-6, 7e-6}, {3e-6, 3e-6, 3e-6}, {1e-6, 0, 5e-6}, {3e-6, 1e-6, 3e-6}};
  EXPECT_DOUBLE_EQ(one_way(o, 0)->value, 4e-6);
  EXPECT_DOUBLE_EQ(one_way(o, 1)->value, 2e-6);
  EXPECT_FALSE(one_way(o, 2));
  o.times.clear();
  EXPECT_FALSE(one_way(o, 0));
}

// Three nodes with two ports each, of which one is dead.
class ADeadPort : public testing::Test {
 protected:
  void play(const std::vector<Round>& rounds) {
    PairSchedule meetings({[&](const Round& round) -> Result<void> {
                             ++runs_;
                             for (const PairTest& m : round)
                               if (dead_of(m)) return fail(cause_, "rxe1:2 is down", "node1");
                             measured_.insert(measured_.end(), round.begin(), round.end());
                             return {};
                           },
                           [&]() -> Result<void> {
                             ++renewals_;
                             if (no_more_) return fail(Cause::unreachable, "node1 is gone");
                             return {};
                           },
                           [&](const PairTest& m, const Error& why) {
                             EXPECT_EQ(why.text(), "node1: rxe1:2 is down");
                             missed_.push_back(m);
                           }});
    for (const Round& round : rounds)
      if (const auto played = meetings.play(round); !played) {
        error_ = played.error();
        return;
      }
  }
  static bool dead_of(const PairTest& m) {
    return m.ports && (m.ports->first == RdmaPort{"rxe1", 2} || m.ports->second == RdmaPort{"rxe1", 2});
  }
  static Ports ports() {
    return {{{"rxe0", 1}, {"rxe0", 2}}, {{"rxe1", 1}, {"rxe1", 2}}, {{"rxe2", 1}, {"rxe2", 2}}};
  }

  Cause cause_ = Cause::peer_lost;
  bool no_more_ = false;
  int runs_ = 0, renewals_ = 0;
  Round measured_, missed_;
  std::optional<Error> error_;
};

TEST_F(ADeadPort, CostsItsOwnCellsAlone) {
  const std::vector<Round> rounds = pair_ports(ports(), true);
  play(rounds);
  EXPECT_FALSE(error_);
  std::size_t all = 0, dead = 0;
  for (const Round& round : rounds) {
    all += round.size();
    for (const PairTest& m : round) dead += dead_of(m);
  }
  EXPECT_EQ(missed_.size(), dead);
  EXPECT_EQ(measured_.size(), all - dead);
  EXPECT_TRUE(std::all_of(missed_.begin(), missed_.end(), dead_of));
  EXPECT_LE(renewals_, 5) << "with others of its round, by itself, and again; then it is left alone";
}

TEST_F(ADeadPort, LeavesTheOthersOfItsRound) {
  const auto with = [](int node, RdmaPort port, int peer, RdmaPort its) {
    return PairTest{node, peer, std::pair(std::move(port), std::move(its))};
  };
  const RdmaPort dead{"rxe1", 2}, rxe0{"rxe0", 1}, rxe2{"rxe2", 1}, rxe3{"rxe3", 1};
  const PairTest first = with(0, rxe0, 1, dead), second = with(2, rxe2, 1, dead),
                 third = with(3, rxe3, 1, dead);
  const PairTest beside = with(2, rxe2, 3, rxe3), others = with(0, rxe0, 3, rxe3),
                 last = with(0, rxe0, 2, rxe2);
  play({{first, beside}, {second, others}, {third, last}});
  EXPECT_EQ(measured_, (Round{beside, others, last}));
  EXPECT_EQ(missed_, (Round{first, second, third}));
  EXPECT_EQ(runs_, 3 + 3 + 1) << "together, then each alone, until it is known";
}

TEST_F(ADeadPort, TakesNoOtherOneWithIt) {
  // rxe0 meets nothing but the dead one at first, which tells nothing of itself.
  const auto with_dead = [](int number) {
    return PairTest{0, 1, std::pair(RdmaPort{"rxe0", number}, RdmaPort{"rxe1", 2})};
  };
  const PairTest good{0, 2, std::pair(RdmaPort{"rxe0", 1}, RdmaPort{"rxe2", 1})};
  play({{with_dead(1)}, {with_dead(2)}, {with_dead(1)}, {good}});
  EXPECT_EQ(measured_, Round{good});
  EXPECT_EQ(missed_.size(), 3u);
}

TEST_F(ADeadPort, IsNotTheEndButANodeThatIsGoneIs) {
  no_more_ = true;
  play(pair_ports(ports(), false));
  ASSERT_TRUE(error_);
  EXPECT_EQ(error_->what, "node1 is gone");
  error_.reset();
  renewals_ = 0;
  cause_ = Cause::cancelled;
  play(pair_ports(ports(), false));
  ASSERT_TRUE(error_);
  EXPECT_EQ(error_->cause, Cause::cancelled);
  EXPECT_EQ(renewals_, 0) << "whoever stops it wants no more";
}

TEST(PairSchedule, PortsAreReadAsTheyAreWritten) {
  EXPECT_EQ(to_text(RdmaPort{"mlx5_0", 2}), "mlx5_0:2");
  EXPECT_EQ(*run::parse_port("mlx5_0:2"), (RdmaPort{"mlx5_0", 2}));
  for (const char* bad : {"", ":1", "mlx5_0:", "mlx5_0:0", "mlx5_0:-1", "mlx5_0:1 ", "a:99999999999"})
    EXPECT_FALSE(run::parse_port(bad)) << bad;
}

}  // namespace
}  // namespace ringtrue::diagnosis
