// Each part that may be named: a case in which it is, and one that looks alike in which it is not.
#include <gtest/gtest.h>

#include "fleet.h"
#include "report/text/wording.h"

namespace ringtrue::diagnosis {
namespace {

TEST(Nic, OfOneRailIsNamedByIt) {
  for (const int nodes : {3, 8, 60}) {
    Fleet fleet(nodes, 0, 4);
    fleet.sends = fleet.receives = [](int node, int rail) { return node == 2 && rail == 3 ? 0.5 : 1.0; };
    EXPECT_EQ(named(fleet.check()), Names{"slow-nic node2 rail 3"}) << nodes;
  }
}

TEST(Nic, OfOneRailShowsInTheRatesOfItsSide) {
  Fleet fleet(8, 0, 4);
  fleet.sends = [](int node, int rail) { return node == 2 && rail == 3 ? 0.5 : 1.0; };
  const Diagnosis d = fleet.check();
  for (std::size_t node = 0; node < 8; ++node) {
    ASSERT_EQ(d.sides[node].rails.size(), 4u) << node;
    for (std::size_t rail = 0; rail < 4; ++rail) {
      const double usual = Fleet::rail_rate, slow = node == 2 && rail == 3 ? 0.5 : 1.0;
      EXPECT_NEAR(d.sides[node].rails[rail].sends.value().value, slow * usual, 0.1 * usual) << node << rail;
      EXPECT_NEAR(d.sides[node].rails[rail].receives.value().value, usual, 0.1 * usual) << node << rail;
    }
  }
  EXPECT_TRUE(Fleet(8).check().sides[0].rails.empty()) << "nobody told them apart";
}

TEST(Nic, IsNotNamedWhereAllRailsAreSlow) {
  for (const int nodes : {3, 8, 60}) {
    Fleet fleet(nodes, 0, 4);
    fleet.sends = [](int node, int) { return node == 2 ? 0.5 : 1.0; };
    EXPECT_EQ(named(fleet.check()), Names{"slow-sender node2"}) << nodes;
  }
}

TEST(Rail, ThatIsSlowEverywhereIsNamed) {
  for (const int nodes : {8, 60}) {
    Fleet fleet(nodes, 0, 4);
    fleet.sends = [](int, int rail) { return rail == 1 ? 0.6 : 1.0; };
    EXPECT_EQ(named(fleet.check()), Names{"slow-rail rail 1"}) << nodes;
  }
}

TEST(Rail, IsNotNamedForAFewNics) {
  Fleet fleet(60, 0, 4);
  fleet.sends = [](int node, int rail) { return rail == 1 && (node == 5 || node == 40) ? 0.6 : 1.0; };
  EXPECT_EQ(named(fleet.check()), (Names{"slow-nic node40 rail 1", "slow-nic node5 rail 1"}));
}

TEST(Leaf, IsNamedWhereAllThatCrossesItsTrunksIsSlow) {
  Fleet fleet(64, 8);
  fleet.ways = [](int x, int y, int) { return x / 8 == 3 || y / 8 == 3 ? 0.5 : 1.0; };
  EXPECT_EQ(named(fleet.check()), Names{"slow-leaf leaf 3"});
}

TEST(Leaf, WithOneDirectionSlowIsItsUplinksOrDownlinks) {
  Fleet up(64, 8), down(64, 8);
  up.ways = [](int x, int, int) { return x / 8 == 3 ? 0.5 : 1.0; };
  EXPECT_EQ(named(up.check()), Names{"slow-trunk uplinks of leaf 3"});
  down.ways = [](int, int y, int) { return y / 8 == 3 ? 0.5 : 1.0; };
  EXPECT_EQ(named(down.check()), Names{"slow-trunk downlinks of leaf 3"});
}

// What an older node crosses it with is another share of its own rate.
TEST(Leaf, IsNamedBesideOlderNodes) {
  const auto older = [](int node) { return node % 5 == 0; };
  Fleet fleet(32, 8);
  for (int node = 0; node < 32; ++node)
    fleet.hangs.port_rates.push_back((older(node) ? 0.5 : 1) * Fleet::rail_rate);
  fleet.sends = fleet.receives = [&](int node, int) { return older(node) ? 0.5 : 1.0; };
  fleet.ways = [](int x, int y, int) { return x / 8 == 3 || y / 8 == 3 ? 0.3 : 1.0; };
  EXPECT_EQ(named(fleet.check()), Names{"slow-leaf leaf 3"});
}

// The first of its readings were taken as it became slow.
TEST(Leaf, IsNamedWhereItWasLessSlowAtFirst) {
  Fleet fleet(64, 8);
  fleet.ways = [&](int x, int y, int) {
    if (x / 8 != 3 && y / 8 != 3) return 1.0;
    return fleet.asked.size() < 4 ? 0.85 : 0.4;
  };
  EXPECT_EQ(named(fleet.check()), Names{"slow-leaf leaf 3"});
}

TEST(Leaf, HasTheNameThatItWasToldBy) {
  Fleet fleet(64, 8);
  fleet.hangs.leaf_names = {"a", "b", "c", "zebra", "e", "f", "g", "h"};
  fleet.ways = [](int x, int y, int) { return x / 8 == 3 || y / 8 == 3 ? 0.5 : 1.0; };
  EXPECT_EQ(named(fleet.check()), Names{"slow-leaf zebra"});
}

TEST(Leaf, OfTwoNobodyKnowsWhich) {
  Fleet fleet(32, 16);
  fleet.ways = [](int, int, int) { return 0.5; };
  EXPECT_EQ(named(fleet.check()), Names{"slow-trunk the links between leaf 0 and leaf 1"});
}

TEST(Leaf, IsNotNamedForItsNodes) {
  Fleet fleet(64, 8);  // all that one of its nodes sends is slow, across as well as within
  fleet.sends = [](int node, int) { return node == 24 ? 0.5 : 1.0; };
  EXPECT_EQ(named(fleet.check()), Names{"slow-sender node24"});
}

TEST(Spine, IsNamedWherePairsOfManyLeavesAreSlow) {
  Fleet fleet(64, 8);
  fleet.ways = [](int x, int y, int) { return (x * 31 + y * 17) % 4 == 0 ? 0.5 : 1.0; };
  EXPECT_EQ(named(fleet.check()), Names{"slow-spine a spine"});
}

TEST(Spine, IsNotNamedForTrafficOfOthers) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Fleet fleet(64, 8, 1, seed);
    std::mt19937_64 random(seed);
    fleet.ways = [&](int, int, int) { return random() % 10 == 0 ? 0.5 : 1.0; };  // another time another pair
    EXPECT_EQ(named(fleet.check()), Names{}) << seed;
  }
}

// One of a pair's eight rails is slow each time, and never the same one twice in a row.
TEST(Path, IsNotNamedWhereAnotherRailIsTheSlowestEachTime) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Fleet fleet(14, 0, 8, seed);
    fleet.ways = [&](int x, int y, int rail) {
      return x == 1 && y == 2 && rail == int(fleet.asked.size() % 8) ? 0.8 : 1.0;
    };
    EXPECT_EQ(named(fleet.check()), Names{}) << seed;
    fleet.ways = [](int x, int y, int rail) { return x == 1 && y == 2 && rail == 5 ? 0.8 : 1.0; };
    EXPECT_EQ(named(fleet.check()), Names{"slow-path node1 node2 rail 5"}) << seed;
  }
}

// Two of a pair's four rails meet on a trunk: always the same two, or others in each run.
TEST(Path, IsNotNamedForItsOwnRailsThatMeetOnATrunk) {
  for (const bool by_connection : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      Fleet fleet(128, 8, 4, seed);
      fleet.ways = [&](int x, int y, int rail) {
        std::mt19937_64 hash(std::uint64_t(x * 128 + y) + (by_connection ? fleet.asked.size() << 16 : 0));
        const bool meet = hash() % 8 != 0;
        const int first = int(hash() % 4), second = (first + 1 + int(hash() % 3)) % 4;
        return meet && (rail == first || rail == second) ? 0.5 : 1.0;
      };
      const Diagnosis d = fleet.check();
      EXPECT_EQ(named(d), Names{}) << by_connection << ", " << seed << explain(d);
    }
  }
}

TEST(Program, ThatTakesItsDataSlowlyIsNoWire) {
  for (const int nodes : {2, 3, 8, 60}) {
    Fleet fleet(nodes);
    fleet.slow_programs = {1};
    Options options = fleet.options();
    options.link_rate = BytesPerSecond(Fleet::rail_rate);
    const Diagnosis d = run_check(fleet, options);
    EXPECT_EQ(named(d), Names{"slow-compute node1"}) << nodes << explain(d);
  }
}

TEST(Dead, NodeIsNamedAndTheOthersGoOn) {
  for (const int nodes : {3, 8, 60, 1024}) {
    Fleet fleet(nodes);
    fleet.dead = {nodes - 1};
    const Diagnosis d = fleet.check();
    EXPECT_EQ(named(d), Names{"dead-node node" + std::to_string(nodes - 1)});
    EXPECT_EQ(d.verdict, Verdict::faulty);
    EXPECT_FALSE(d.error);
    EXPECT_GT(d.coverage.pairs_measured, 1) << explain(d);
  }
}

TEST(Dead, IsNobodyWhereTheRestCannotGoOnEither) {
  class Broken : public Fleet {
   public:
    using Fleet::Fleet;
    Result<Observation> measure(const Experiment& e) override {
      asked.push_back(e);
      return fail(Cause::peer_lost, "connection reset", asked.size() == 1 ? "node3" : "phase connect");
    }
  } fleet(8);
  const Diagnosis d = fleet.check();
  EXPECT_EQ(named(d), Names{});
  EXPECT_EQ(d.verdict, Verdict::unknown);
  ASSERT_TRUE(d.error);
  EXPECT_EQ(d.error->where, "node3");
}

TEST(Late, NodeIsNamed) {
  for (const int nodes : {3, 8, 60}) {
    Fleet fleet(nodes, nodes);  // known to be below one switch
    fleet.trips = [](int x, int y) { return x == 2 || y == 2 ? 1.3 : 1.0; };
    const Diagnosis d = fleet.check();
    EXPECT_EQ(named(d), Names{"late-node node2"}) << explain(d);
    EXPECT_EQ(d.verdict, Verdict::degraded);
  }
}

// As a guess from round trips has it.
TEST(Late, NodeThatIsAloneInItsLeafIsNamed) {
  Fleet fleet(8, 4);
  fleet.hangs.leaf[2] = 2;
  fleet.hangs.guessed = true;
  fleet.trips = [](int x, int y) { return x == 2 || y == 2 ? 20.0 : 1.0; };
  EXPECT_EQ(named(fleet.check()), Names{"late-node node2"});
}

// A kernel tells microseconds, and a busy machine some more.
TEST(Late, PairOfSomeMicrosecondsMoreIsNotNamedWhereAKernelTellsThem) {
  class Kernel : public Fleet {
   public:
    using Fleet::Fleet;
    Result<Observation> measure(const Experiment& e) override {
      auto seen = Fleet::measure(e);
      for (HopReading& hop : seen->hops) {
        const bool late =
            std::min(hop.source, hop.destination) == 1 && std::max(hop.source, hop.destination) == 2;
        hop.latency = Seconds(late ? 15e-6 : 8e-6);
      }
      return seen;
    }
  } fleet(8, 4);
  const Diagnosis d = fleet.check();
  EXPECT_EQ(named(d), Names{}) << explain(d);
}

TEST(Late, PairIsNamedAfterItWasRepeated) {
  Fleet fleet(8, 8);
  fleet.trips = [](int x, int y) { return std::min(x, y) == 2 && std::max(x, y) == 5 ? 1.5 : 1.0; };
  const Diagnosis d = fleet.check();
  EXPECT_EQ(named(d), Names{"late-path node2 node5"}) << explain(d);
}

TEST(Lost, PacketsAreEvidenceWhereOthersLoseFew) {
  class Losing : public Fleet {
   public:
    using Fleet::Fleet;
    std::uint64_t others = 0;
    Result<Observation> measure(const Experiment& e) override {
      auto seen = Fleet::measure(e);
      for (HopReading& hop : seen->hops) hop.retransmits = hop.source == 2 ? 1000 : others;
      return seen;
    }
  };
  for (const std::uint64_t others : {std::uint64_t(0), std::uint64_t(900)}) {
    Losing fleet(8);
    fleet.others = others;
    fleet.sends = [](int node, int) { return node == 2 ? 0.5 : 1.0; };
    const Diagnosis d = fleet.check();
    ASSERT_EQ(named(d), Names{"slow-sender node2"});
    const auto evidence = report::sentences(d.findings[0].evidence);
    EXPECT_EQ(std::any_of(evidence.begin(), evidence.end(),
                          [](const std::string& line) { return line.find("retransmissions:") != line.npos; }),
              others == 0);
  }
}

TEST(Late, LeafThatIsFarAwayIsNoFault) {
  for (const bool known : {true, false}) {
    Fleet fleet(64, 8);
    fleet.trips = [](int x, int y) { return x / 8 == y / 8 ? 1.0 : 2.5; };
    if (!known) fleet.hangs = {};
    EXPECT_EQ(named(fleet.check()), Names{}) << known;
  }
}

}  // namespace
}  // namespace ringtrue::diagnosis
