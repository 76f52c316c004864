#include "history/follow.h"

#include <gtest/gtest.h>

#include "history/read.h"
#include "tests/unit/history/sample.h"

namespace ringtrue::history {
namespace {

using sample::check;
using sample::day_us;
using sample::Folder;
using sample::open;
using sample::start_us;

// A fleet of eight, checked daily.
struct Followed {
  Folder folder;
  Store store = open(folder.file());
  std::int64_t now = start_us;

  Added add(double node5_sends = 60e6, double rate = 60e6, bool accepted = true, Following how = {}) {
    Record record = check(now += how.confirming ? 10'000'000 : day_us, 8, rate);
    for (Reading& reading : record.readings)
      if (reading.subject.node == "node5" && reading.subject.type == SubjectType::sender)
        reading.value = node5_sends;
    record.session.accepted = accepted;
    return record_session(store, record, how).value().value();
  }
  std::vector<SetBaseline> set(std::vector<std::string> nodes = {}, std::optional<std::int64_t> since = {}) {
    return set_baselines(store, {"lab", {}, std::move(nodes), 20, since, "anna", "new"}, now).value();
  }
  void settle() {
    for (int i = 0; i < 12; ++i) add();
    set();
  }
  State state() const { return regressions(store, "lab", false).value().back().state; }
};

TEST(Follow, FromASuspicionToARecovery) {
  Followed f;
  f.settle();
  EXPECT_EQ(baselines(f.store, "lab").value().size(), 17u);  // and the fleet's
  EXPECT_TRUE(f.add().outlook.open.empty());
  const Added first = f.add(55e6);
  ASSERT_EQ(first.outlook.changes.size(), 1u);
  EXPECT_FALSE(first.outlook.changes[0].before);
  EXPECT_EQ(first.outlook.changes[0].now.subject.text(), "node5's sending side");
  EXPECT_NEAR(first.outlook.changes[0].now.ratio, 55.0 / 60, 1e-9);
  EXPECT_EQ(first.outlook.baselines, 16);
  EXPECT_EQ(f.state(), State::suspected);
  const Added second = f.add(55e6);
  EXPECT_EQ(second.outlook.changes[0].before, State::suspected);
  EXPECT_EQ(f.state(), State::confirmed);
  EXPECT_EQ(regressions(f.store, "lab").value()[0].confirmed_session, second.session);
  f.add();
  EXPECT_EQ(f.state(), State::confirmed);
  EXPECT_EQ(f.add().outlook.changes[0].now.state, State::recovered);
  EXPECT_TRUE(regressions(f.store, "lab").value().empty());
  EXPECT_EQ(session(f.store, "last", "lab").value().level, 1.0);
}

TEST(Follow, IsConfirmedInTheSameMinuteAndNotByWhatWasDisturbed) {
  Followed f;
  f.settle();
  f.add(50e6);
  f.add(50e6, 60e6, false);  // another's lease, say
  EXPECT_EQ(f.state(), State::suspected);
  f.add(50e6, 60e6, false, {true});
  EXPECT_EQ(f.state(), State::confirmed);
}

TEST(Follow, WhatCouldNotTellSuspectsAndSetsNoBaseline) {
  Followed f;
  f.settle();
  Record record = check(f.now += day_us, 8);
  record.session.accepted = false;
  record.judged = true;
  for (Reading& reading : record.readings)
    if (reading.subject.node == "node5" && reading.subject.type == SubjectType::sender) reading.value = 55e6;
  EXPECT_EQ(record_session(f.store, record, {}).value().value().outlook.changes.size(), 1u);
  EXPECT_EQ(f.state(), State::suspected);
  EXPECT_EQ(sessions(f.store, {.fleet = "lab", .accepted = true}).value().size(), 12u);
}

TEST(Follow, ForeseesWithoutWriting) {
  Followed f;
  f.settle();
  Record record = check(f.now + day_us, 8);
  record.readings[10].value = 40e6;
  EXPECT_EQ(foresee(f.store, record, {}).value().changes.size(), 1u);
  EXPECT_TRUE(regressions(f.store, "lab", false).value().empty());
}

TEST(Follow, AFleetThatMovedIsToldOnce) {
  Followed f;
  f.settle();
  for (int i = 0; i < 3; ++i) f.add(50e6, 50e6);
  const auto open = regressions(f.store, "lab").value();
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].subject.type, SubjectType::fleet);
  EXPECT_EQ(open[0].state, State::confirmed);
}

TEST(Follow, WhatWasMeasuredOtherwiseIsNotHeldAgainstIt) {
  Followed f;
  f.settle();
  Record record = check(f.now + day_us, 8, 30e6);
  record.session.fingerprint = "verbs ring";
  EXPECT_EQ(record_session(f.store, record, {}).value()->outlook.baselines, 0);
  EXPECT_TRUE(regressions(f.store, "lab", false).value().empty());
}

// Neither slow nor fast days move a baseline.
TEST(Follow, ABaselineStaysWhereItIs) {
  Followed f;
  f.settle();
  const auto before = baselines(f.store, "lab").value();
  for (int i = 0; i < 30; ++i) f.add(60e6 - i * 0.2e6, 63e6);
  const auto after = baselines(f.store, "lab").value();
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].median, after[i].median);
  EXPECT_EQ(f.state(), State::confirmed);
}

TEST(Follow, ARepairEndsWhatWasOpen) {
  Followed f;
  f.settle();
  f.add(50e6);
  f.add(50e6);
  const Event repair{
      0,      "lab",      SubjectKey{SubjectType::node, "node5", "", ""}, f.now, EventKind::repair,
      "anna", "new cable"};
  EXPECT_EQ(add_event(f.store, repair).value(), 1);
  EXPECT_EQ(f.state(), State::recovered);
  EXPECT_EQ(events(f.store, "lab").value()[0].subject->node, "node5");
  f.add(50e6);  // it did not help
  EXPECT_EQ(f.state(), State::suspected);
}

TEST(Follow, ABaselineOfOneNodeIsSetAnew) {
  Followed f;
  f.settle();
  const std::int64_t repaired = f.now + 1;
  EXPECT_FALSE(f.set({"node5"}, repaired - 5 * day_us)[0].baseline);  // too few since
  EXPECT_EQ(baselines(f.store, "lab").value().size(), 17u);
  for (int i = 0; i < 10; ++i) f.add(66e6);
  EXPECT_EQ(f.add(66e6).outlook.better.size(), 1u);
  const auto anew = f.set({"node5"}, repaired);
  ASSERT_EQ(anew.size(), 2u);
  ASSERT_TRUE(anew[0].baseline && anew[1].baseline);
  EXPECT_NEAR(anew[0].baseline->median, 66e6, 1);
  EXPECT_EQ(anew[0].before, 60e6);
  EXPECT_EQ(baselines(f.store, "lab").value().size(), 17u);
  EXPECT_EQ(baselines(f.store, "lab", true).value().size(), 19u);
  EXPECT_FALSE(set_baselines(f.store, {"lab", {}, {"node99"}, 20, {}, "", ""}, f.now));
  EXPECT_EQ(retire_baselines(f.store, "lab", {"node5"}, f.now).value(), 2);
  EXPECT_EQ(retire_baselines(f.store, "lab", {}, f.now).value(), 15);
}

TEST(Follow, WhatHadAFindingIsNoBaseline) {
  Followed f;
  for (int i = 0; i < 12; ++i) {
    Record record = check(f.now += day_us, 8);
    record.findings.push_back({{SubjectType::sender, "node5", "", ""}, "critical", "slow-sender", 0.5, 0.9});
    ASSERT_TRUE(record_session(f.store, record, {}).value());
  }
  for (const SetBaseline& one : f.set())
    EXPECT_EQ(one.baseline.has_value(), one.subject.text() != "node5's sending side") << one.subject.text();
}

TEST(Follow, NothingIsSetByNothing) {
  Followed f;
  EXPECT_EQ(set_baselines(f.store, {"lab", {}, {}, 20, {}, "", ""}, 0).error().cause, Cause::bad_input);
  for (int i = 0; i < 9; ++i) f.add();
  for (const SetBaseline& one : f.set()) EXPECT_FALSE(one.baseline) << one.subject.text();
}

}  // namespace
}  // namespace ringtrue::history
