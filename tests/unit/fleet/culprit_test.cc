#include "fleet/culprit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringtrue::fleet {
namespace {

using Kind = Answer::Kind;

Answer ok(const std::string& node) {
  return {node, Kind::ok, {}, 0};
}
Answer stopped(const std::string& node) {
  return {node, Kind::stopped, {}, 0};
}
Answer own(const std::string& node, const std::string& what, double at = 1) {
  return {node, Kind::error, {Cause::internal, what, "", ""}, at};
}
Answer waited(const std::string& node, const std::string& for_whom, double at = 1) {
  return {node, Kind::error, {Cause::deadline, "waited for " + for_whom, for_whom, ""}, at};
}
Answer lost(const std::string& node, const std::string& whom, double at = 1) {
  return {node, Kind::error, {Cause::peer_lost, "lost " + whom, whom, ""}, at};
}
Answer silent(const std::string& node) {
  return {node, Kind::silent, {Cause::deadline, "no answer for 12 s", node, ""}, 9};
}
Answer gone(const std::string& node) {
  return {node, Kind::gone, {Cause::peer_lost, "gone", node, ""}, 1};
}

std::vector<std::string> culprits(const std::vector<Answer>& answers) {
  std::vector<std::string> names;
  for (const Failure& f : find_culprits(Phase::run, answers))
    if (f.culprit) names.push_back(f.node);
  return names;
}
using Names = std::vector<std::string>;

TEST(Culprits, NoneWhereAllIsWell) {
  EXPECT_TRUE(find_culprits(Phase::run, {ok("a"), ok("b")}).empty());
  EXPECT_TRUE(find_culprits(Phase::run, {}).empty());
  EXPECT_TRUE(find_culprits(Phase::run, {ok("a"), stopped("b")}).empty());
}

TEST(Culprits, OwnFaultBeforeThoseAffected) {
  const auto failures = find_culprits(
      Phase::connect, {lost("a", "b"), own("b", "worker killed by signal 9"), ok("c"), stopped("d")});
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].node, "b");
  EXPECT_TRUE(failures[0].culprit);
  EXPECT_EQ(failures[0].phase, Phase::connect);
  EXPECT_EQ(failures[0].error.what, "worker killed by signal 9");
  EXPECT_EQ(failures[1].node, "a");
  EXPECT_FALSE(failures[1].culprit);
}

TEST(Culprits, AnErrorThatNamesItselfOrNoNodeIsOwn) {
  Answer self = own("a", "out of memory");
  self.error.where = "a";
  EXPECT_EQ(culprits({self, ok("b")}), Names{"a"});
  self.error.where = "eth0";
  EXPECT_EQ(culprits({self, ok("b")}), Names{"a"});
}

TEST(Culprits, SilentOrGoneNodesAreNamedAndThoseAffectedAreNot) {
  EXPECT_EQ(culprits({waited("a", "b"), silent("b"), waited("c", "b")}), Names{"b"});
  EXPECT_EQ(culprits({lost("a", "b"), gone("b"), stopped("c")}), Names{"b"});
  EXPECT_EQ(culprits({waited("a", "b"), silent("b"), gone("c"), lost("d", "c")}), (Names{"b", "c"}));
}

TEST(Culprits, AChainOfWaitingLeadsToItsEnd) {
  EXPECT_EQ(culprits({waited("a", "b"), waited("b", "c"), waited("c", "d"), silent("d")}), Names{"d"});
  // d says nothing about itself, so it is the one that is blamed and blames nobody: still the nearest to the
  // fault.
  EXPECT_EQ(culprits({waited("a", "c"), waited("b", "c"), waited("c", "d"), silent("d")}), Names{"d"});
}

TEST(Culprits, AChainThatEndsAtAnUnfinishedNodeNamesIt) {
  EXPECT_EQ(culprits({waited("a", "b"), waited("b", "c"), waited("x", "b"), stopped("c"), ok("d")}),
            Names{"c"});
  EXPECT_EQ(culprits({waited("a", "b"), waited("x", "b"), waited("b", "c"), ok("c")}), Names{"b"});
}

TEST(Culprits, TheMostBlamedWhereEverybodyBlames) {
  const auto failures = find_culprits(
      Phase::run, {waited("a", "b"), waited("b", "a", 0.5), waited("c", "b"), waited("d", "b")});
  ASSERT_EQ(failures.size(), 4u);
  EXPECT_EQ(failures[0].node, "b");
  EXPECT_TRUE(failures[0].culprit);
  EXPECT_EQ(failures[0].error.what, "reported by a: waited for b (and by 2 more)");
  for (int i = 1; i < 4; ++i) EXPECT_FALSE(failures[std::size_t(i)].culprit);
}

TEST(Culprits, ANodeThatWasToldToStopCanStillBeBlamed) {
  EXPECT_EQ(culprits({waited("a", "b"), stopped("b"), waited("c", "b"), ok("d")}), Names{"b"});
}

TEST(Culprits, LosingAPeerWeighsMoreThanWaiting) {
  EXPECT_EQ(
      culprits({lost("a", "b"), waited("b", "c"), waited("c", "d"), waited("d", "a"), waited("e", "a")}),
      Names{"b"});
}

TEST(Culprits, ACircleOfWaitingBlamesNobody) {
  // A healthy ring that was given too little time: every rank waits for the one before it.
  const auto failures =
      find_culprits(Phase::run, {waited("a", "c", 3), waited("b", "a", 1), waited("c", "b", 2)});
  ASSERT_EQ(failures.size(), 4u);
  EXPECT_EQ(failures[0].node, "");
  EXPECT_EQ(failures[0].error.what, "no node stands out, each waited for another; a: waited for c");
  EXPECT_THAT(failures[0].error.next, testing::HasSubstr("--deadline"));
  for (int i = 1; i < 4; ++i) EXPECT_FALSE(failures[std::size_t(i)].culprit);
}

TEST(Culprits, ACircleOfLossIsBrokenWhereItWasNoticedFirst) {
  EXPECT_EQ(culprits({lost("a", "b", 2), lost("b", "a", 1), stopped("c")}), Names{"a"});
}

// RDMA: retries end seconds after what broke the way; the node whose port went down says so at once.
Answer retries(const std::string& node, const std::string& peer, double at) {
  return {node,
          Kind::error,
          {Cause::peer_lost, "lost " + peer + " through mlx5_0 port 1: transport retry counter exceeded",
           peer, ""},
          at};
}
Answer port_down(const std::string& node, double at) {
  return {node, Kind::error, {Cause::unavailable, "port 1 of mlx5_0 went down during the run", node, ""}, at};
}

TEST(Culprits, APortThatWentDownBeforeRetriesThatWereInVain) {
  for (const double at : {0.1, 8.0}) {
    const auto failures = find_culprits(
        Phase::run, {retries("a", "b", 0.2), port_down("b", at), retries("c", "b", 0.3), stopped("d")});
    ASSERT_EQ(failures.size(), 3u);
    EXPECT_EQ(failures[0].node, "b");
    EXPECT_TRUE(failures[0].culprit);
    EXPECT_EQ(failures[0].error.what, "port 1 of mlx5_0 went down during the run");
    EXPECT_FALSE(failures[1].culprit);
    EXPECT_FALSE(failures[2].culprit);
  }
  // A cable has two ends, and a switch between them one node's alone.
  EXPECT_EQ(culprits({port_down("a", 1), port_down("b", 1), retries("c", "a", 1)}), (Names{"a", "b"}));
}

TEST(Culprits, OfRetriesInVainTheOneThatAllBlame) {
  // b's own retries name those whom it cannot reach any more.
  const auto failures = find_culprits(
      Phase::run, {retries("a", "b", 8.2), retries("b", "c", 8.1), retries("c", "b", 8.3), stopped("d")});
  ASSERT_EQ(failures.size(), 3u);
  EXPECT_EQ(failures[0].node, "b");
  EXPECT_THAT(failures[0].error.what, testing::HasSubstr("transport retry counter exceeded (and by 1 more)"));
}

TEST(Culprits, APeerThatWasKilledIsNamedOnce) {
  const auto failures =
      find_culprits(Phase::run, {lost("a", "b", 0.1), own("b", "its process was killed by signal 9", 0.4),
                                 retries("c", "b", 0.2), lost("d", "b", 0.1)});
  EXPECT_EQ(failures[0].node, "b");
  EXPECT_EQ(std::count_if(failures.begin(), failures.end(), [](const Failure& f) { return f.culprit; }), 1);
  EXPECT_EQ(failures[0].error.what, "its process was killed by signal 9");
}

TEST(Culprits, ACircleBesideACulpritIsLeftToIt) {
  EXPECT_EQ(culprits({waited("a", "b"), waited("b", "a"), own("c", "out of memory")}), Names{"c"});
}

TEST(Culprits, WhoWasStoppedWaitingForOneThatDoesNotAnswerIsAffected) {
  const auto cancelled = [](const std::string& node, const std::string& for_whom) {
    return Answer{node, Kind::stopped, {Cause::cancelled, "waited for " + for_whom, for_whom, ""}, 2};
  };
  const Answer mute{"c", Kind::stopped, {Cause::deadline, "no answer for 1 s", "c", ""}, 0};
  EXPECT_EQ(culprits({waited("a", "b"), cancelled("b", "c"), mute}), Names{"c"});
  EXPECT_EQ(culprits({lost("a", "b"), cancelled("b", "c"), mute}), Names{"c"});
  // Where all answer, waiting for somebody excuses nobody.
  EXPECT_EQ(culprits({waited("a", "b"), cancelled("b", "c"), cancelled("c", "a")}), Names{"b"});
  EXPECT_TRUE(culprits({cancelled("b", "c"), ok("c")}).empty());
}

TEST(Culprits, AreDeadByWhatTheyThemselvesSayOrFailToSay) {
  const auto dead = [](const std::vector<Answer>& answers) {
    Names names;
    for (const Failure& f : find_culprits(Phase::run, answers))
      if (f.dead) names.push_back(f.node);
    return names;
  };
  Answer lifeless = silent("b");
  lifeless.error.cause = Cause::peer_lost;
  EXPECT_EQ(dead({waited("a", "b"), lifeless}), Names{"b"});
  EXPECT_EQ(dead({lost("a", "b"), gone("b"), lost("c", "b")}), Names{"b"});
  Answer killed = own("b", "the worker was killed by signal 9");
  killed.error.cause = Cause::peer_lost;
  EXPECT_EQ(dead({lost("a", "b"), killed}), Names{"b"});

  // Blamed by all, and yet its daemon lives and says nothing of itself.
  EXPECT_EQ(dead({lost("a", "b"), stopped("b"), lost("c", "b")}), Names{});
  EXPECT_EQ(dead({lost("a", "b"), lost("b", "a")}), Names{});
  EXPECT_EQ(dead({silent("b"), waited("a", "b")}), Names{}) << "only late";
  EXPECT_EQ(dead({own("b", "no memory left")}), Names{});
  Answer refusing = gone("b");
  refusing.error.cause = Cause::refused;
  EXPECT_EQ(dead({refusing}), Names{});
}

TEST(Culprits, TwoFaultsApart) {
  EXPECT_EQ(culprits({waited("a", "b"), ok("b"), waited("c", "d"), ok("d")}), (Names{"b", "d"}));
}

TEST(Culprits, AlwaysSomebodyWhereSomebodyIsAffected) {
  // Every pattern of blame among four nodes ends, and names at least one culprit.
  const Names nodes = {"a", "b", "c", "d"};
  for (int pattern = 0; pattern < 256; ++pattern) {
    std::vector<Answer> answers;
    bool any = false;
    for (int i = 0; i < 4; ++i) {
      const int whom = (pattern >> (2 * i)) & 3;
      answers.push_back(whom == i ? ok(nodes[std::size_t(i)])
                                  : waited(nodes[std::size_t(i)], nodes[std::size_t(whom)]));
      any = any || whom != i;
    }
    EXPECT_EQ(!culprits(answers).empty(), any) << pattern;
  }
}

}  // namespace
}  // namespace ringtrue::fleet
