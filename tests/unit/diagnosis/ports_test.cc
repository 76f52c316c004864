// An omnireduce among the experiments: what it says of aggregators' ports is a witness, never a reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/plan/plan.h"
#include "wires.h"

namespace ringtrue::diagnosis {
namespace {

using testing::HasSubstr;
// An incast shares each port unevenly: every sender of an aggregator gets what chance leaves it.
class Incast : public Wires {
 public:
  using Wires::Wires;
  double fairness = 0.3;  // the least that a sender has of the longest one's time
  double spoiled = 1;     // all ports look that much slower in an omnireduce, without being so

  Result<Observation> measure(const Experiment& e) override {
    if (e.workers == 0) return Wires::measure(e);
    asked.push_back(e);
    if (auto dead = dead_among(e)) return tl::unexpected(std::move(*dead));
    Observation o;
    o.experiment = e;
    const int aggregators = int(e.order.size()) - e.workers;
    const double share = double(e.bytes.value) * e.iterations / aggregators;
    double longest = 0;
    for (std::size_t a = std::size_t(e.workers); a < e.order.size(); ++a) {
      const int node = e.order[a];
      for (const bool receives : {true, false}) {
        const double port = (receives ? receives_of(node) : sends[std::size_t(node)]) * spoiled;
        const double time = share * e.workers / port;
        longest = std::max(longest, time);
        for (int w = 0; w < e.workers; ++w) {
          const int worker = e.order[std::size_t(w)];
          if (worker == node) continue;
          HopReading hop;
          hop.source = receives ? worker : node;
          hop.destination = receives ? node : worker;
          hop.bytes = Bytes(std::uint64_t(share));
          const double part = w % 3 == 0 ? 1 : fairness + (1 - fairness) * double(random() % 1000) / 1000;
          hop.busy = Seconds(time * part);
          o.hops.push_back(hop);
        }
      }
    }
    o.time = Seconds(longest / e.iterations);
    clock += overhead + longest;
    return o;
  }

  Diagnosis check_with(int workers, bool link_rate = true) {
    Options o = options(link_rate);
    o.workers = workers;
    return run_check(*this, o);
  }

 private:
  double receives_of(int node) const { return receives[std::size_t(node)]; }
};

const RunRecord* ports_of(const Diagnosis& d) {
  for (const RunRecord& r : d.runs) {
    if (r.stage == Stage::ports) return &r;
  }
  return nullptr;
}

TEST(Ports, OfANodeThatDiesCostItAlone) {
  for (const int workers : {4, 8}) {  // of eight nodes
    for (const int victim : {2, 6}) {
      for (int at = 1; at <= 6; ++at) {
        Incast incast(8);
        incast.sends[1] *= 0.5;
        incast.dies_at[victim] = at;
        const Diagnosis d = incast.check_with(workers);
        EXPECT_FALSE(d.error) << at;
        EXPECT_EQ(scopes_of(d), (Names{"node node" + std::to_string(victim), "sender node1"}))
            << workers << " workers, run " << at << explain(d);
        EXPECT_EQ(incast.asked_of_dead, 1) << at;
      }
    }
  }
}

TEST(Ports, OfAHealthyClusterBlameNobody) {
  for (const int workers : {4, 8, 12}) {  // of twelve: the last ones beside the workers
    for (const bool link_rate : {true, false}) {
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Incast wires(12, seed);
        wires.disturbed = 0.3;
        const Diagnosis d = wires.check_with(workers, link_rate);
        ASSERT_EQ(scopes_of(d), Names{}) << explain(d);
        ASSERT_EQ(d.verdict, Verdict::healthy) << explain(d);
        const RunRecord* run = ports_of(d);
        ASSERT_TRUE(run);
        EXPECT_EQ(run->experiment.workers, workers);
        EXPECT_EQ(run->experiment.order.size(), workers == 12 ? 24u : 12u);
        EXPECT_EQ(run->ports.size(), workers == 12 ? 24u : 2u * std::size_t(12 - workers));
        EXPECT_TRUE(run->busbw);
        ASSERT_LT(d.cost.seconds.value, 16);
      }
    }
  }
}

TEST(Ports, ThatLookSlowInAnIncastAloneBlameNobody) {
  Incast wires(8);
  wires.spoiled = 0.3;
  const Diagnosis d = wires.check_with(4);
  EXPECT_EQ(scopes_of(d), Names{}) << explain(d);
  EXPECT_EQ(d.verdict, Verdict::healthy);
}

TEST(Ports, OfASlowAggregatorAreNamedAndWitnessed) {
  Incast wires(8);
  wires.receives[6] = 0.4 * Wires::full;
  const Diagnosis d = wires.check_with(5);
  ASSERT_EQ(scopes_of(d), Names{"receiver node6"}) << explain(d);
  EXPECT_EQ(d.verdict, Verdict::faulty);
  EXPECT_THAT(explain(d), HasSubstr("aggregator 1 on node6 received"));
}

TEST(Ports, OfASlowSendingSideAreWitnessedThere) {
  Incast wires(8);
  wires.sends[7] = 0.5 * Wires::full;
  const Diagnosis d = wires.check_with(8);  // aggregators beside the workers
  ASSERT_EQ(scopes_of(d), Names{"sender node7"}) << explain(d);
  EXPECT_THAT(explain(d), HasSubstr("aggregator 7 on node7 sent"));
}

TEST(Ports, OfASlowWorkerAreNot) {
  Incast wires(8);
  wires.sends[1] = 0.5 * Wires::full;
  const Diagnosis d = wires.check_with(5);
  ASSERT_EQ(scopes_of(d), Names{"sender node1"}) << explain(d);
  EXPECT_THAT(explain(d), testing::Not(HasSubstr("aggregator")));
}

TEST(Ports, AreMeasuredOnlyWhereAskedFor) {
  Incast wires(4);
  EXPECT_FALSE(ports_of(wires.check()));
}

TEST(Ports, OfVerySlowNodesAreLeftOut) {
  Incast wires(8);
  wires.receives[7] = 1e4;
  const Diagnosis d = wires.check_with(4);
  EXPECT_FALSE(ports_of(d));
  EXPECT_THAT(explain(d), HasSubstr("not checked: the aggregators' ports under an omnireduce"));
}

TEST(Ports, ExperimentsCarryWhatTheyAreAskedTo) {
  const Experiment dedicated = omnireduce_over({0, 1, 2, 3, 4, 5}, 4, Bytes(8'000'000), Bytes(64 << 20));
  EXPECT_EQ(dedicated.workers, 4);
  EXPECT_EQ(dedicated.order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(dedicated.bytes.value * 4 / 2, 8'000'000u);  // two ports take in all of four calls
  const Experiment beside = omnireduce_over({0, 1, 2}, 3, Bytes(8'000'000), Bytes(1 << 20));
  EXPECT_EQ(beside.order, (std::vector<int>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(beside.iterations, 8);
}

}  // namespace
}  // namespace ringtrue::diagnosis
