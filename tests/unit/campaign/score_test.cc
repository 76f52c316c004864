#include "campaign/score.h"

#include <gtest/gtest.h>

#include "sim/network.h"

namespace ringtrue::campaign {
namespace {

using diagnosis::Finding;
using diagnosis::Rate;
using diagnosis::ScopeType;
using diagnosis::Score;

Case case_of(int nodes, const char* faults, int rails = 1, int leaf = 0) {
  Case c;
  c.kind = *find_kind("slow-out");
  c.severity = 0.5;
  c.world.fabric.nodes = nodes;
  c.world.fabric.rails = rails;
  c.world.fabric.leaf = leaf;
  c.world.fabric.faults = *sim::parse_fabric_faults(faults);
  return c;
}

Finding finding(ScopeType type, int node, int peer = -1, const char* device = "") {
  Finding f;
  f.severity = diagnosis::Severity::critical;
  f.scope = {type, node, peer, {}, {}};
  f.scope.subject.device = device;
  return f;
}

diagnosis::CaseScore of(const Case& c, std::vector<Finding> findings) {
  diagnosis::Diagnosis d;
  d.findings = std::move(findings);
  return score_case(c, d);
}

TEST(Scope, OfASideIsThatSideAndNothingElse) {
  const Case c = case_of(8, "slow-link@node3>:share=50%");
  EXPECT_TRUE(of(c, {finding(ScopeType::sender, 3)}).exact);
  const auto receiver = of(c, {finding(ScopeType::receiver, 3)});
  EXPECT_EQ(receiver.found, 1);
  EXPECT_FALSE(receiver.exact);
  const auto path = of(c, {finding(ScopeType::path, 3, 5)});
  EXPECT_EQ(path.found, 1);
  EXPECT_FALSE(path.exact);
  const auto other = of(c, {finding(ScopeType::sender, 2)});
  EXPECT_EQ(other.found, 0);
  EXPECT_EQ(other.wrong, 1);
  const auto more = of(c, {finding(ScopeType::sender, 3), finding(ScopeType::sender, 2)});
  EXPECT_EQ(more.found, 1);
  EXPECT_EQ(more.wrong, 1);
  EXPECT_FALSE(more.exact);
  EXPECT_EQ(of(c, {}).found, 0);
}

TEST(Scope, OfTwoNodesIsOne) {
  const Case c = case_of(2, "slow-link@node0>:share=50%");
  for (const auto& f : {finding(ScopeType::sender, 0), finding(ScopeType::receiver, 1),
                        finding(ScopeType::path, 0, 1), finding(ScopeType::node, 1)})
    EXPECT_TRUE(of(c, {f}).exact);
  // What the receiving program shows, and which rail it is, goes beyond.
  EXPECT_FALSE(of(case_of(2, "slow-node@node0:share=50%"), {finding(ScopeType::node, 1)}).exact);
  const Case nic = case_of(2, "slow-link@node0.nic1>:share=50%", 2);
  EXPECT_TRUE(of(nic, {finding(ScopeType::path, 0, 1, "rail 1")}).exact);
  EXPECT_FALSE(of(nic, {finding(ScopeType::path, 0, 1)}).exact);
}

TEST(Scope, OfWhatOnePartnerAloneSeesIsThePathToIt) {
  Case c = case_of(3, "slow-link@node0>:share=60%");
  c.kind = *find_kind("slow-out");
  c.severity = 0.4;
  c.world.generations = {{2, 0.5}};
  EXPECT_TRUE(of(c, {finding(ScopeType::path, 0, 1)}).exact);
  EXPECT_TRUE(of(c, {finding(ScopeType::sender, 0)}).exact);
  for (const auto& f : {finding(ScopeType::path, 1, 0), finding(ScopeType::path, 0, 2),
                        finding(ScopeType::receiver, 1), finding(ScopeType::node, 0)})
    EXPECT_FALSE(of(c, {f}).exact);
  EXPECT_EQ(of(c, {finding(ScopeType::receiver, 1)}).wrong, 1);
  c.world.generations = {{2, 0.7}};  // which shows it as well
  EXPECT_FALSE(of(c, {finding(ScopeType::path, 0, 1)}).exact);
}

TEST(Scope, OfANodeIsTheNodeOrBothOfItsSides) {
  const Case c = case_of(8, "slow-link@node3:share=50%");
  EXPECT_TRUE(of(c, {finding(ScopeType::node, 3)}).exact);
  EXPECT_TRUE(of(c, {finding(ScopeType::sender, 3), finding(ScopeType::receiver, 3)}).exact);
  EXPECT_FALSE(of(c, {finding(ScopeType::sender, 3)}).exact);
}

TEST(Scope, OfANicIsTheRailOfItsNode) {
  const Case c = case_of(8, "slow-link@node3.nic1:share=50%", 4);
  EXPECT_TRUE(of(c, {finding(ScopeType::nic, 3, -1, "rail 1")}).exact);
  EXPECT_FALSE(of(c, {finding(ScopeType::nic, 3, -1, "rail 2")}).exact);
  EXPECT_FALSE(of(c, {finding(ScopeType::nic, 3)}).exact);
  EXPECT_FALSE(of(c, {finding(ScopeType::node, 3)}).exact);
  EXPECT_TRUE(of(case_of(8, "slow-link@node3.nic0:share=50%"), {finding(ScopeType::node, 3)}).exact);
}

TEST(Scope, OfAddedLatencyHasNoDirection) {
  for (const char* fault : {"late@node3>:time=1ms", "late@>node3:time=1ms", "late@node3:time=1ms"})
    EXPECT_TRUE(of(case_of(8, fault), {finding(ScopeType::node, 3)}).exact) << fault;
  const Case path = case_of(8, "late@node3>node5:time=1ms");
  EXPECT_TRUE(of(path, {finding(ScopeType::path, 5, 3)}).exact);
  EXPECT_FALSE(of(case_of(8, "slow-link@node3>node5:share=50%"), {finding(ScopeType::path, 5, 3)}).exact);
}

TEST(Scope, OfALeafIsToldFromItsNodesAndOfTwoLeavesIsOne) {
  const Case c = case_of(16, "slow-link@leaf1:share=50%", 1, 4);
  EXPECT_TRUE(of(c, {finding(ScopeType::leaf, -1, -1, "leaf 1")}).exact);
  EXPECT_TRUE(of(c, {finding(ScopeType::leaf, 6)}).exact);
  EXPECT_FALSE(of(c, {finding(ScopeType::leaf, -1, -1, "leaf 2")}).exact);
  const auto node = of(c, {finding(ScopeType::node, 5)});
  EXPECT_EQ(node.found, 1);
  EXPECT_FALSE(node.exact);
  EXPECT_EQ(of(c, {finding(ScopeType::node, 8)}).found, 0);
  EXPECT_TRUE(of(case_of(8, "slow-link@leaf1:share=50%", 1, 4), {finding(ScopeType::leaf, 0)}).exact);
  EXPECT_TRUE(of(case_of(16, "slow-link@spine2:share=50%", 1, 4), {finding(ScopeType::spine, -1)}).exact);
}

TEST(Scope, OfATrunkIsThePathsThatCrossIt) {
  Case c = case_of(16, "slow-link@leaf0>spine1:share=50%", 1, 4);
  c.kind = *find_kind("slow-trunk");
  int crossing = 0;
  for (int from = 0; from < 16; ++from) {
    for (int to = 0; to < 16; ++to) {
      if (from == to) continue;
      const bool exact = of(c, {finding(ScopeType::path, from, to)}).exact;
      crossing += exact;
      EXPECT_TRUE(!exact || (from < 4 && to >= 4)) << from << " > " << to;
      diagnosis::Diagnosis d;
      d.runs.emplace_back();
      d.runs[0].experiment.algorithm = collective::AlgorithmId::naive;
      d.runs[0].experiment.order = {from, to};
      EXPECT_TRUE(!exact || score_case(c, d).covered) << from << " > " << to;
    }
  }
  EXPECT_GT(crossing, 4);  // of 48, one of four spines
  EXPECT_LT(crossing, 24);
  EXPECT_FALSE(score_case(c, {}).covered);
}

// 32 nodes below 8 leaves of 4 in two pods, each of 2 spines with 2 cables, below 4 cores.
Case three_levels(const char* faults, Told told = Told::nothing) {
  Case c = case_of(32, "", 1, 4);
  sim::Fabric& f = c.world.fabric;
  f.pod = 4;
  f.cables = 2;
  f.core_oversubscription = 2;
  f.faults = *sim::parse_fabric_faults(faults);
  EXPECT_TRUE(sim::check(f)) << faults;
  c.world.told = told;
  if (told == Told::routes) f.hashing = sim::Hashing::destination;
  return c;
}

TEST(Scope, OfACoreIsASwitchAboveWhereRoutesAreUnknown) {
  const Case c = three_levels("slow-link@core1:share=50%");
  EXPECT_TRUE(of(c, {finding(ScopeType::spine, -1)}).exact);
  EXPECT_FALSE(of(c, {finding(ScopeType::leaf, 0)}).exact);
  EXPECT_EQ(of(c, {finding(ScopeType::path, 0, 8)}).found, 0) << "within a pod";
  int touched = 0;
  for (int to = 16; to < 32; ++to) touched += of(c, {finding(ScopeType::path, 0, to)}).found;
  EXPECT_GT(touched, 0);
  EXPECT_LT(touched, 16);
}

TEST(Scope, OfASpineIsThatOfItsPod) {
  const Case c = three_levels("slow-link@spine1:share=50%");
  EXPECT_TRUE(of(c, {finding(ScopeType::spine, -1)}).exact);
  EXPECT_EQ(of(c, {finding(ScopeType::leaf, 0)}).found, 1);
  EXPECT_EQ(of(c, {finding(ScopeType::leaf, 20)}).found, 0) << "of the other pod";
  EXPECT_EQ(of(c, {finding(ScopeType::path, 17, 21)}).found, 0);
}

TEST(Scope, OfACableIsThePathsThatCrossItWhereRoutesAreUnknown) {
  for (const auto hashing : {sim::Hashing::addresses, sim::Hashing::connections, sim::Hashing::destination}) {
    Case c = three_levels("slow-link@spine0<>core1.cable1:share=50%");
    c.kind = *find_kind("slow-cable");
    c.world.fabric.hashing = hashing;
    int crossing = 0;
    for (int from = 0; from < 32; ++from) {
      for (int to = 0; to < 32; ++to) {
        if (from == to) continue;
        const bool exact = of(c, {finding(ScopeType::path, from, to)}).exact;
        EXPECT_TRUE(!exact || (from < 16) != (to < 16)) << from << " > " << to;
        crossing += exact;
      }
    }
    // Of 512 between the pods: an eighth, or all that a new hash may send there.
    EXPECT_EQ(crossing == 512, hashing == sim::Hashing::connections);
    EXPECT_GT(crossing, 30);
    EXPECT_FALSE(of(c, {finding(ScopeType::leaf, 0)}).exact);
  }
}

TEST(Scope, OfACableIsItsNameWhereRoutesAreTold) {
  const auto trunk = [](const char* device) { return finding(ScopeType::trunk, -1, -1, device); };
  const Case way = three_levels("slow-link@leaf1>spine0.cable1:share=50%", Told::routes);
  EXPECT_TRUE(of(way, {trunk("leaf1 port 7 -> spine0 port 4")}).exact);
  EXPECT_FALSE(of(way, {trunk("leaf1 port 5 -> spine0 port 3")}).exact) << "the other cable";
  EXPECT_EQ(of(way, {trunk("leaf1 port 5 -> spine0 port 3")}).wrong, 0) << "the same trunk";
  EXPECT_EQ(of(way, {trunk("leaf2 port 7 -> spine1 port 6")}).wrong, 1);

  const Case both = three_levels("slow-link@spine2<>core1.cable0:share=50%", Told::routes);
  Finding cable = trunk("spine2 port 10 <-> core1 port 3");
  cable.kind = diagnosis::FindingKind::slow_cable;
  EXPECT_TRUE(of(both, {cable}).exact);
  cable.scope.subject.device = "core1 port 3 <-> spine2 port 10";
  EXPECT_TRUE(of(both, {cable}).exact);
  cable.scope.subject.device = "spine2 port 9 <-> core0 port 3";
  EXPECT_EQ(of(both, {cable}).found, 1) << "an end of it";
  EXPECT_FALSE(of(both, {cable}).exact);
  const Finding up = trunk("spine2 port 10 -> core1 port 3"),
                down = trunk("core1 port 3 -> spine2 port 10 or spine0 port 10 -> core1 port 1");
  EXPECT_TRUE(of(both, {up, down}).exact);
  EXPECT_FALSE(of(both, {up}).exact) << "one way of it";
  EXPECT_EQ(of(both, {up}).found, 1);

  const Case core = three_levels("slow-link@core1:share=50%", Told::routes);
  EXPECT_TRUE(of(core, {finding(ScopeType::fabric_switch, -1, -1, "core1")}).exact);
  EXPECT_EQ(of(core, {finding(ScopeType::fabric_switch, -1, -1, "core12")}).wrong, 1);
}

TEST(Rate, HasWilsonsInterval) {
  const Rate none;
  EXPECT_FALSE(none.value() || none.low() || none.high());
  // Newcombe 1998, table I.
  const Rate some{81, 263};
  EXPECT_NEAR(*some.low(), 0.2553, 5e-5);
  EXPECT_NEAR(*some.high(), 0.3662, 5e-5);
  const Rate few{0, 20};
  EXPECT_EQ(*few.low(), 0);
  EXPECT_NEAR(*few.high(), 0.1611, 5e-5);
  EXPECT_EQ(*(Rate{20, 20}).high(), 1);
}

TEST(Score, DoesNotDependOnTheNumberOfThreads) {
  Campaign campaign;
  campaign.cases = 60;
  campaign.limits.max_nodes = 40;
  campaign.threads = 1;
  const Score one = score(play(campaign));
  campaign.threads = 4;
  const Score four = score(play(campaign));
  EXPECT_EQ(one.healthy_cases, 30);
  EXPECT_EQ(one.cases, 60);
  EXPECT_EQ(one.single.recall.count, four.single.recall.count);
  EXPECT_EQ(one.single.scope_exact.count, four.single.scope_exact.count);
  EXPECT_EQ(one.single.seconds.max, four.single.seconds.max);
  EXPECT_EQ(one.single.bytes.median, four.single.bytes.median);
}

TEST(Score, SaysHowOftenFindingsWereRight) {
  using diagnosis::FindingKind;
  Outcome o;
  o.drawn.kind = *find_kind("two");
  o.score.accusations = {{FindingKind::slow_sender, 0.92, true},
                         {FindingKind::slow_sender, 0.93, false},
                         {FindingKind::slow_leaf, 0.5, true}};
  const Score s = score({o});
  ASSERT_EQ(s.by_finding.size(), 2u);
  EXPECT_EQ(s.by_finding[0].name, "slow-sender");
  EXPECT_EQ(s.by_finding[0].right.count, 1);
  EXPECT_EQ(s.by_finding[0].right.of, 2);
  ASSERT_EQ(s.by_confidence.size(), 2u);
  EXPECT_EQ(s.by_confidence[0].name, "50-70 %");
  EXPECT_EQ(s.by_confidence[1].name, "90-95 %");
  EXPECT_EQ(s.by_confidence[1].right.of, 2);
}

// Nobody can be held to what healthy ports differ by.
TEST(Score, OfHostsIsOfWhatIsNoMatterOfTheFleetsOwnScatter) {
  const auto outcome = [](const char* kind, double severity, double spread) {
    Outcome out;
    out.drawn.kind = *find_kind(kind);
    out.drawn.severity = severity, out.drawn.spread = spread;
    out.score.faults = 1;
    return out;
  };
  const auto hosts = [&](const Outcome& o) { return score({o}).hosts.cases; };
  EXPECT_EQ(hosts(outcome("slow-nic", 0.11, 0)), 1);
  EXPECT_EQ(hosts(outcome("slow-nic", 0.09, 0)), 0);
  EXPECT_EQ(hosts(outcome("slow-nic", 0.11, 0.05)), 1);
  EXPECT_EQ(hosts(outcome("slow-nic", 0.11, 0.06)), 0);
  EXPECT_EQ(hosts(outcome("dead", 0, 0)), 1);
  EXPECT_EQ(hosts(outcome("late", 0.5, 0)), 0);
  EXPECT_EQ(hosts(outcome("slow-leaf", 0.5, 0)), 0);
  EXPECT_EQ(hosts(outcome("two", 0.5, 0)), 0);
}

// A port that is slower than it was, and still faster than its only partner's.
TEST(Score, OfHostsIsOfWhatAPartnerCanSee) {
  const auto hosts = [](double severity, double own, double partner) {
    Outcome out;
    out.drawn.kind = *find_kind("slow-nic");
    out.drawn.severity = severity;
    out.drawn.world.fabric.nodes = 2;
    out.drawn.world.fabric.faults.resize(1);
    out.drawn.world.fabric.faults[0].place.node = 1;
    out.drawn.world.generations = {{0, partner}, {1, own}};
    out.score.faults = 1;
    return score({out}).hosts.cases;
  };
  EXPECT_EQ(hosts(0.3, 1, 1), 1);
  EXPECT_EQ(hosts(0.3, 0.5, 1), 1);
  EXPECT_EQ(hosts(0.3, 1, 0.5), 0);
  EXPECT_EQ(hosts(0.5, 1, 0.5), 0);
  EXPECT_EQ(hosts(0.6, 1, 0.5), 1);
}

TEST(Score, OfLeavesIsOfThoseThatCanBeCompared) {
  const auto leaves = [](const char* kind, double severity, int nodes, int leaf) {
    Outcome out;
    out.drawn.kind = *find_kind(kind);
    out.drawn.severity = severity;
    out.drawn.world.fabric.nodes = nodes, out.drawn.world.fabric.leaf = leaf;
    out.score.faults = 1;
    return score({out}).leaves.cases;
  };
  EXPECT_EQ(leaves("slow-leaf", 0.11, 12, 4), 1);
  EXPECT_EQ(leaves("slow-leaf", 0.09, 12, 4), 0);
  EXPECT_EQ(leaves("slow-leaf", 0.5, 9, 4), 1);
  EXPECT_EQ(leaves("slow-leaf", 0.5, 8, 4), 0);
  EXPECT_EQ(leaves("slow-trunk", 0.5, 12, 4), 0);
  EXPECT_EQ(leaves("slow-nic", 0.5, 12, 4), 0);
}

// What was under way does not count.
TEST(Campaign, IsStoppedWithinACase) {
  Campaign campaign;
  campaign.cases = 8;
  campaign.threads = 1;
  campaign.limits.max_nodes = 8;
  const auto whole = play(campaign);
  int asked = 0;
  campaign.stopped = [&] { return ++asked > 40; };
  const auto some = play(campaign);
  EXPECT_GT(some.size(), 0u);
  EXPECT_LT(some.size(), whole.size());
  EXPECT_LE(asked, 45) << "it went on measuring";
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(some[i].verdict, whole[i].verdict);
    EXPECT_EQ(some[i].cost.runs, whole[i].cost.runs);
  }
}

TEST(Score, OfASmallCampaignIsGood) {
  Campaign campaign;
  campaign.cases = 300;
  campaign.limits.max_nodes = 64;
  campaign.limits.told = Told::fabric;
  campaign.limits.fabrics = Fabrics::plain;
  campaign.limits.min_severity = 0.2, campaign.limits.max_severity = 0.9;
  campaign.limits.weights = Weights::even;
  const Score s = score(play(campaign));
  EXPECT_EQ(s.healthy.false_positives.count, 0);
  EXPECT_GE(*s.single.recall.value(), 0.97);  // of spines, several rails of a pair may also meet by chance
  EXPECT_GE(*s.single.scope_exact.value(), 0.95);
  int kinds = 0;
  for (const diagnosis::ScoreGroup& group : s.by_kind) kinds += group.cases;
  EXPECT_EQ(kinds, 300);
  EXPECT_EQ(s.single.recall.of - s.single.recall.count + s.pairs.recall.of - s.pairs.recall.count +
                s.two.recall.of - s.two.recall.count + s.three.recall.of - s.three.recall.count,
            long(s.missed.size()));
}

// As a live check without flags: nobody who is in order is named, whatever else healthy clusters have.
TEST(Score, OfASmallCampaignThatIsToldNothingHasNoFalsePositives) {
  Campaign campaign;
  campaign.cases = 200;
  campaign.limits.max_nodes = 64;
  campaign.limits.fabrics = Fabrics::leaf_spine;
  campaign.limits.min_severity = 0.2, campaign.limits.max_severity = 0.9;
  campaign.limits.weights = Weights::even;
  for (const char* nuisances : {"none", "half"}) {
    campaign.limits.nuisances = *parse_nuisances(nuisances);
    const Score s = score(play(campaign));
    // With nuisances, of 100: a collision among three generations is named as a path now and then.
    EXPECT_LE(s.healthy.false_positives.count, nuisances[0] == 'n' ? 0 : 1) << nuisances;
    EXPECT_LE(*s.healthy.unknown.value(), 0.2) << nuisances;
    EXPECT_GE(*s.single.recall.value(), nuisances[0] == 'n' ? 0.7 : 0.2) << nuisances;
  }
}

// Half of the time there is nothing to be seen of them. A link that is slow at times is low alone of all in
// its run, which nobody who shares a trunk is.
TEST(Score, OfWhatComesAndGoesMostIsFound) {
  Campaign campaign;
  campaign.cases = 400;
  campaign.limits.min_nodes = campaign.limits.max_nodes = 16;
  campaign.limits.fabrics = Fabrics::plain;
  campaign.limits.weights = Weights::even;
  campaign.limits.min_severity = 0.1, campaign.limits.max_severity = 0.8;
  campaign.limits.kinds = {*find_kind("slow-out"), *find_kind("slow-in")};
  campaign.limits.nuisances = *parse_nuisances("away=50%");
  const Score s = score(play(campaign));
  EXPECT_EQ(s.healthy.false_positives.count, 0);
  EXPECT_EQ(s.precision.count, s.precision.of);
  EXPECT_GE(*s.hosts.recall.value(), 0.9);
}

// Pods share trunks to their cores: paths that collide there stay slow together, whatever else goes on.
TEST(Score, OfHealthyFleetsBelowThreeLevelsHasNoFalsePositives) {
  Campaign campaign;
  campaign.cases = 40;
  campaign.limits.min_nodes = 128, campaign.limits.max_nodes = 400;
  campaign.limits.kinds = {*find_kind("slow-out")};
  const Score s = score(play(campaign));
  EXPECT_EQ(s.healthy.false_positives.count, 0);
  EXPECT_LE(s.healthy.unknown.count, 2);
  EXPECT_GE(*s.hosts.recall.value(), 0.9);
}

}  // namespace
}  // namespace ringtrue::campaign
