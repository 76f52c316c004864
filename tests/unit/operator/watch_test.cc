#include "operator/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringtrue::ops {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t epoch_us = 1'790'000'000'000'000;

// A fleet and a clock by script; the watch ends after so many seconds.
class ScriptedWorld final : public WatchWorld {
 public:
  std::int64_t wall_us() override { return epoch_us + std::int64_t((time + wall_shift) * 1e6); }
  Seconds clock() override { return Seconds(time); }
  bool stopped() override { return time >= ends; }
  bool sleep(Seconds pause) override {
    time = std::min(time + pause.value, ends);
    slept.push_back(pause.value);
    return !stopped();
  }
  std::optional<std::string> other_watcher() override {
    return time < other_until ? std::optional<std::string>("process 7 on login1") : std::nullopt;
  }
  WatchMemory remembered() override { return memory; }
  Result<void> remember(const WatchMemory& now) override {
    if (disk_full) return fail(Cause::unavailable, "No space left on device");
    memory = now;
    return {};
  }
  Result<std::vector<WatchedNode>> look() override {
    std::vector<WatchedNode> out;
    for (int i = 0; i < nodes; ++i) {
      const std::string name = "n" + std::to_string(i);
      if (absent.contains(i))
        out.push_back({name, "connection refused", true});
      else if (held.contains(i))
        out.push_back({name, "held by alice@login (run)"});
      else
        out.push_back({name});
    }
    return out;
  }
  Result<WatchedCheck> check(const std::vector<std::string>& which, bool again) override {
    (again ? agains : checks).push_back(which);
    time += takes;
    if (lost_lease) return fail(Cause::refused, "n1 is held by bob");
    if (broken) return fail(Cause::peer_lost, "n1 is gone");
    WatchedCheck out{verdict, verdict == "healthy" ? 0 : 1, takes, again ? on_again : found, {}};
    if (disk_full) out.troubles.push_back("not recorded: No space left on device");
    return out;
  }
  Result<void> hook(const WatchRound& round) override {
    if (hook_fails) return fail(Cause::unavailable, "the hook ended with exit code 1");
    hooked.push_back(round);
    return {};
  }
  void told(const WatchRound& round) override {
    rounds.push_back(round);
    started.push_back(time);
    if (after) after(int(rounds.size()));
  }
  void waits_for(const std::string& other) override { waited.push_back(other); }
  void begins(Seconds until_first) override { first = until_first; }

  WatchSettings settings{
      .fleet = "lab", .every = Seconds(600), .retry = Seconds(60), .load = 1, .confirm = true};
  void run(double seconds) {
    ends = time + seconds;
    watch(settings, *this);
  }

  double time = 0, ends = 1e18, wall_shift = 0, takes = 5, other_until = -1;
  int nodes = 4;
  std::set<int> absent, held;
  std::string verdict = "healthy";
  std::vector<WatchedRegression> found, on_again;
  bool disk_full = false, hook_fails = false, lost_lease = false, broken = false;
  WatchMemory memory;
  std::function<void(int)> after;
  std::vector<double> slept, started;
  std::vector<WatchRound> rounds, hooked;
  std::vector<std::vector<std::string>> checks, agains;
  std::vector<std::string> waited;
  std::optional<Seconds> first;
};

std::string said(const WatchRound& round) {
  std::string out;
  for (const WatchTransition& t : round.transitions)
    out +=
        (t.subject.empty() ? "fleet" : t.subject) + ": " + t.before.value_or("-") + " -> " + t.after + "; ";
  return out;
}

TEST(Watch, ChecksEverySoOftenAndCallsNobodyForWhatStaysHealthy) {
  ScriptedWorld world;
  world.run(3000);
  EXPECT_EQ(world.checks.size(), 5u);
  EXPECT_TRUE(world.hooked.empty());
  for (std::size_t i = 1; i < world.started.size(); ++i)
    EXPECT_NEAR(world.started[i] - world.started[i - 1], 600, 1e-6);
}

TEST(Watch, CallsTheHookForTransitionsAlone) {
  ScriptedWorld world;
  world.after = [&](int round) { world.verdict = round >= 2 && round < 5 ? "faulty" : "healthy"; };
  world.run(6000);
  ASSERT_EQ(world.hooked.size(), 2u);
  EXPECT_EQ(said(world.hooked[0]), "fleet: healthy -> faulty; ");
  EXPECT_EQ(world.hooked[0].number, 3);
  EXPECT_EQ(said(world.hooked[1]), "fleet: faulty -> healthy; ");
}

TEST(Watch, MeasuresAgainAtOnceWhatIsSuspected) {
  ScriptedWorld world;
  world.found = {{"n2's sending side", "n2", "suspected", 0.92, true}};
  world.on_again = {{"n2's sending side", "n2", "confirmed", 0.921, true}};
  world.after = [&](int) { world.found = world.on_again; };
  world.run(1500);
  EXPECT_EQ(world.agains.size(), 1u);
  ASSERT_EQ(world.hooked.size(), 1u);
  EXPECT_EQ(said(world.hooked[0]), "n2's sending side: - -> confirmed; ");
  EXPECT_TRUE(world.rounds[0].confirmed_again);
  EXPECT_FALSE(world.rounds[1].confirmed_again);
}

TEST(Watch, TellsTheEndOfARegressionHoweverItEnds) {
  ScriptedWorld world;
  world.memory.regressions = {{"a", "confirmed"}, {"b", "suspected"}, {"c", "confirmed"}};
  world.found = {{"a", "n1", "recovered", 1, false}, {"c", "n2", "confirmed", 0.9, true}};
  world.run(100);
  ASSERT_EQ(world.hooked.size(), 1u);
  EXPECT_EQ(said(world.hooked[0]), "a: confirmed -> recovered; b: suspected -> over; ");
  EXPECT_THAT(world.memory.regressions, ElementsAre(testing::Pair("c", "confirmed")));
}

TEST(Watch, KeepsToItsShareOfTheTime) {
  ScriptedWorld world;
  world.settings.load = 0.1;
  world.takes = 120;
  world.run(12'000);
  EXPECT_EQ(world.checks.size(), 10u);  // 120 s of every 1,200
}

TEST(Watch, OfATimerKeepsToItsShareOfTheTimeAsWell) {
  ScriptedWorld world;
  world.settings.once = true;
  world.settings.load = 0.1;
  world.takes = 120;
  auto first = watch(world.settings, world);
  EXPECT_EQ(first->verdict, "healthy");
  world.time += 500;
  auto second = watch(world.settings, world);
  EXPECT_THAT(second->skipped, HasSubstr("580 s are left"));
  EXPECT_FALSE(second->verdict);
  world.time += 600;
  EXPECT_EQ(watch(world.settings, world)->verdict, "healthy");
  EXPECT_EQ(world.checks.size(), 2u);
}

TEST(Watch, GoesOnAfterARestartWhereItWas) {
  ScriptedWorld world;
  world.verdict = "degraded";
  world.run(250);
  ASSERT_EQ(world.hooked.size(), 1u);
  world.slept.clear();
  world.run(600);  // 350 s are left of the pause
  EXPECT_NEAR(world.slept.front(), 350, 1);
  EXPECT_NEAR(world.first->value, 350, 1);
  EXPECT_EQ(world.checks.size(), 2u);
  EXPECT_EQ(world.hooked.size(), 1u) << "told twice";
}

TEST(Watch, AShorterPauseHoldsAtOnce) {
  ScriptedWorld world;
  world.settings.every = Seconds(36'000);
  world.run(100);
  world.settings.every = Seconds(60);
  world.slept.clear();
  world.run(100);
  EXPECT_LE(world.slept.front(), 60);
}

TEST(Watch, AClockThatWasSetBackDoesNotStopIt) {
  ScriptedWorld world;
  world.run(100);
  world.wall_shift = -40.0 * 86'400;
  world.slept.clear();
  world.run(200'000);
  EXPECT_LE(world.slept.front(), 86'400);
  EXPECT_GT(world.checks.size(), 100u);
}

TEST(Watch, NodesComeAndGo) {
  ScriptedWorld world;
  world.after = [&](int round) {
    if (round == 1) world.absent = {3};
    if (round == 3) world.absent = {};
  };
  world.run(3000);
  ASSERT_EQ(world.hooked.size(), 2u);
  EXPECT_EQ(said(world.hooked[0]), "n3: present -> absent; ");
  EXPECT_EQ(said(world.hooked[1]), "n3: absent -> present; ");
  EXPECT_THAT(world.checks[1], ElementsAre("n0", "n1", "n2"));
  EXPECT_EQ(world.checks[3].size(), 4u);
}

TEST(Watch, ANodeThatIsNoLongerWatchedHasNotComeBack) {
  ScriptedWorld world;
  world.absent = {3};
  world.after = [&](int round) {
    if (round == 2) world.nodes = 3;
  };
  world.run(3000);
  ASSERT_EQ(world.hooked.size(), 1u);
  EXPECT_EQ(said(world.hooked[0]), "n3: present -> absent; ");
  EXPECT_TRUE(world.memory.absent.empty());
}

TEST(Watch, LeavesOutWhoIsHeldAndTriesAgainSoonWhereNobodyIsFree) {
  ScriptedWorld world;
  world.held = {0, 1, 2};
  world.run(300);
  EXPECT_TRUE(world.checks.empty());
  EXPECT_EQ(world.rounds.size(), 5u);  // every minute
  EXPECT_EQ(world.rounds[0].skipped, "1 of 4 nodes can be measured now");
  EXPECT_TRUE(world.hooked.empty());
}

TEST(Watch, WhatIsLeftOutHasNotBeenRepaired) {
  ScriptedWorld world;
  world.memory.verdict = "faulty";
  world.held = {2};
  world.after = [&](int round) {
    if (round == 2) world.held = {};
  };
  world.run(2000);
  ASSERT_EQ(world.hooked.size(), 1u);
  EXPECT_EQ(world.hooked[0].number, 3);
  EXPECT_EQ(said(world.hooked[0]), "fleet: faulty -> healthy; ");
}

TEST(Watch, ALeaseThatAnotherTookFirstSaysNothingOfTheFleet) {
  ScriptedWorld world;
  world.lost_lease = true;
  world.run(30);
  EXPECT_THAT(world.rounds.at(0).skipped, HasSubstr("held by bob"));
  EXPECT_TRUE(world.hooked.empty());
}

TEST(Watch, ABrokenCheckIsUnknownAndEndsNoRegression) {
  ScriptedWorld world;
  world.memory.verdict = "healthy";
  world.memory.regressions = {{"a", "confirmed"}};
  world.broken = true;
  world.run(30);
  ASSERT_EQ(world.hooked.size(), 1u);
  EXPECT_EQ(said(world.hooked[0]), "fleet: healthy -> unknown; ");
  EXPECT_THAT(world.memory.regressions, ElementsAre(testing::Pair("a", "confirmed")));
}

TEST(Watch, AFullDiskChangesNothingThatIsTold) {
  ScriptedWorld world;
  world.disk_full = true;
  world.verdict = "degraded";
  world.run(1500);
  EXPECT_EQ(world.checks.size(), 3u);
  ASSERT_EQ(world.hooked.size(), 1u);
  EXPECT_EQ(world.rounds[0].troubles.size(), 2u);
}

TEST(Watch, WhatTheHookWasNotToldIsToldAgain) {
  ScriptedWorld world;
  world.verdict = "degraded";
  world.hook_fails = true;
  world.after = [&](int round) { world.hook_fails = round < 3; };
  world.run(6000);
  ASSERT_EQ(world.hooked.size(), 1u);
  EXPECT_EQ(world.hooked[0].number, 4);
  EXPECT_EQ(world.rounds[0].troubles.size(), 1u);
}

TEST(Watch, TheSecondWatcherWaitsAndSaysSoOnce) {
  ScriptedWorld world;
  world.other_until = 62;
  world.run(100);
  EXPECT_THAT(world.waited, ElementsAre("process 7 on login1"));
  EXPECT_EQ(world.checks.size(), 1u);
  EXPECT_GE(world.started[0], 62);
}

}  // namespace
}  // namespace ringtrue::ops
