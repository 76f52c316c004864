#include "tui/frame/act.h"

#include <gtest/gtest.h>

#include "tests/support/tui_snapshots.h"
#include "tui/frame/draw.h"
#include "tui/frame/filter.h"

namespace ringtrue::tui {
namespace {

class Act : public testing::Test {
 protected:
  Effect type(std::initializer_list<const char*> typed) {
    Effect last;
    for (const char* key : typed) {
      Step step = press(view_, key, keys_, snapshot_, {80, 24});
      view_ = std::move(step.view);
      last = std::move(step.effect);
    }
    return last;
  }
  std::size_t rows() const { return shown_rows(snapshot_, view_).rows.size(); }
  std::string text() const { return draw(snapshot_, view_, keys_, {80, 24}).text(); }

  Snapshot snapshot_ = fleet_of(64, Condition::faulty);
  KeyMap keys_ = usual_keys();
  View view_;
};

TEST_F(Act, ScreensAreSwitched) {
  type({"3"});
  EXPECT_EQ(view_.screen, Screen::matrix);
  type({"Tab"});
  EXPECT_EQ(view_.screen, Screen::topology);
  type({"S-Tab", "S-Tab"});
  EXPECT_EQ(view_.screen, Screen::findings);
  EXPECT_EQ(type({"q"}).kind, Effect::Kind::quit);
}

TEST_F(Act, TheChosenRowIsFollowedWhereTheOrderChanges) {
  type({"j", "j", "j"});
  const std::string key = view_.here().key;
  EXPECT_FALSE(key.empty());
  type({"s", "s", "S"});
  EXPECT_EQ(view_.here().key, key);
  type({"G"});
  EXPECT_EQ(view_.here().row, 63);
  type({"g"});
  EXPECT_EQ(view_.here().row, 0);
}

TEST_F(Act, FiltersHideRowsAndErrorsNameTheirColumn) {
  for (const char* bad : {"sned<5", "send<", "send<x", "send! 5", "node[1-", "a & & b", "send<5 & x>1"}) {
    const auto filter = Filter::parse(bad, all_rows(snapshot_, view_));
    ASSERT_FALSE(filter) << bad;
    EXPECT_EQ(filter.error().what.substr(0, 7), "column ") << filter.error().what;
  }
  EXPECT_EQ(Filter::parse("send<5 & x>1", all_rows(snapshot_, view_)).error().what.substr(0, 9), "column 10");
  EXPECT_EQ(Filter::parse("sned<5", all_rows(snapshot_, view_)).error().next, "did you mean send?");
  type({"/", "s", "e", "n", "d", "<", "9", "5", "%", "Enter"});
  EXPECT_EQ(view_.mode, Mode::browse);
  EXPECT_EQ(rows(), 5u);
  type({"Esc"});
  EXPECT_EQ(rows(), 64u);
  for (const auto& [filter, count] :
       std::vector<std::pair<const char*, std::size_t>>{{"node[0001-0008]", 8},
                                                        {"errors>0", 2},
                                                        {"send<40MB/s", 5},
                                                        {"send<40", 5},
                                                        {"held=ALICE", 2},
                                                        {"held!=alice", 62},
                                                        {"silent", 2},
                                                        {"send>=0% & errors>0", 2},
                                                        {"leaf=leaf01 & send<95%", 2}}) {
    view_.here().filter = filter;
    EXPECT_EQ(rows(), count) << filter;
  }
}

TEST_F(Act, FaultsOnlyAndTheNextFault) {
  type({"f"});
  EXPECT_EQ(rows(), 9u);
  type({"f", "n"});
  EXPECT_EQ(view_.here().row, 1);
  type({"3", "Enter", "n"});
  EXPECT_NE(text().find("%"), std::string::npos);
}

TEST_F(Act, StartingAsksFirst) {
  snapshot_.run.state = Run::State::none;
  EXPECT_EQ(type({"c"}).kind, Effect::Kind::none);
  EXPECT_NE(text().find("18 runs, 9 s, 2.3 GiB"), std::string::npos) << text();
  EXPECT_EQ(type({"n"}).kind, Effect::Kind::none);
  EXPECT_EQ(type({"c", "y"}).kind, Effect::Kind::start);
  EXPECT_EQ(view_.screen, Screen::run);
  view_.read_only = true;
  EXPECT_EQ(type({"c", "y"}).kind, Effect::Kind::none);
  snapshot_.run.state = Run::State::running;
  EXPECT_EQ(type({"x"}).kind, Effect::Kind::cancel);
}

// Screen 7 chooses what is started, in four lines; what it costs is told before it is confirmed.
TEST_F(Act, ARunIsChosenPricedAndConfirmed) {
  snapshot_.run.state = Run::State::none;
  snapshot_.offer.algorithms = {"auto", "ring"};
  type({"7", "Enter", "Right"});  // a run
  type({"Down", "Right", "Right"});
  EXPECT_EQ(view_.plan.algorithm, "ring");
  type({"Down", "n", "1", ",", "n", "2", "Bksp", "3"});
  type({"Down", "1", "M"});
  EXPECT_NE(text().find("ring"), std::string::npos) << text();
  const Effect asked = type({"Enter"});
  EXPECT_EQ(asked.kind, Effect::Kind::price);
  EXPECT_EQ(asked.task.kind, Task::Kind::run);
  EXPECT_EQ(asked.task.nodes, "n1,n3");
  EXPECT_EQ(asked.task.amount, "1M");

  view_ = priced(view_, fail(Cause::bad_input, "n3 is none of the nodes here"));
  EXPECT_EQ(view_.mode, Mode::plan);
  EXPECT_NE(text().find("n3 is none of the nodes here"), std::string::npos) << text();
  view_ = priced(view_, Price{asked.task, "run of ring up to 1.0 MiB", "6 calls on 2 nodes"});
  EXPECT_NE(text().find("y starts run of ring up to 1.0 MiB: 6 calls on 2 nodes;"), std::string::npos)
      << text();
  const Effect started = type({"y"});
  EXPECT_EQ(started.kind, Effect::Kind::start);
  EXPECT_EQ(started.task.nodes, "n1,n3");
}

TEST_F(Act, NothingIsChosenWhereNothingMayStart) {
  snapshot_.run.state = Run::State::none;
  view_.read_only = true;
  type({"7", "Enter"});
  EXPECT_EQ(view_.mode, Mode::browse);
  view_.read_only = false;
  type({"Enter", "Esc"});
  EXPECT_EQ(view_.mode, Mode::browse);
}

TEST_F(Act, CommandsAreShownAndCopied) {
  const Effect effect = type({"2", "y"});
  EXPECT_EQ(effect.kind, Effect::Kind::copy);
  EXPECT_EQ(effect.text, "ringtrue check --hosts node0005");
  EXPECT_NE(text().find("ringtrue check --hosts node0005"), std::string::npos);
}

TEST_F(Act, SessionsAreStepped) {
  EXPECT_EQ(type({"["}).session, 13);
  snapshot_.session = 13;
  snapshot_.as_of = snapshot_.history->sessions[13].when;
  EXPECT_EQ(type({"["}).session, 12);
  EXPECT_EQ(type({"]"}).session, 13);
  EXPECT_EQ(type({"]"}).session, -1);
  EXPECT_NE(text().find("as of 2026-09-21"), std::string::npos) << text();
}

// Also by keys that come faster than what they ask for.
TEST_F(Act, SessionsAreSteppedBeforeTheyAreShown) {
  EXPECT_EQ(type({"[", "["}).session, 12);
  EXPECT_EQ(type({"]", "]"}).session, -1);
  EXPECT_EQ(type({"["}).session, 13);
  snapshot_.session = 13;
  EXPECT_EQ(type({"["}).session, 12);
}

TEST_F(Act, KeysAreRemappedByName) {
  const auto keys = remapped({{"down", "J,PgDn"}, {"page_down", "Space"}, {"freeze", ""}});
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->keys_for(Action::down), "J PgDn");
  EXPECT_EQ(keys->keys_for(Action::page_down), "Space");
  EXPECT_EQ(keys->find("j"), nullptr);
  EXPECT_EQ(remapped({{"dwon", "j"}}).error().next, "did you mean down?");
  EXPECT_FALSE(remapped({{"down", "Hyper"}}));
  EXPECT_FALSE(remapped({{"down", "z"}, {"up", "z"}}));
}

TEST_F(Act, EveryKeyOnEveryScreenIsTaken) {
  for (const int nodes : {0, 1, 64}) {
    if (nodes != 64) snapshot_ = nodes == 0 ? Snapshot() : fleet_of(1, Condition::hostile);
    for (int s = 0; s < screens; ++s)
      for (const auto& key : keys_.keys) {
        view_ = {};
        view_.screen = Screen(s);
        for (const char* then : {"Enter", "j", "G", "Esc"}) type({key.first.c_str(), then});
        EXPECT_FALSE(draw(snapshot_, view_, keys_, {60, 12}).text().empty());
      }
  }
}

TEST_F(Act, TablesAreExported) {
  snapshot_ = fleet_of(8, Condition::hostile);
  const Table table = shown_rows(snapshot_, view_);
  for (const Export format : {Export::text, Export::csv, Export::json}) {
    const std::string out = exported(table, format);
    EXPECT_EQ(out.find('\x1b'), std::string::npos);
    EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), format == Export::json ? 10 : 9);
  }
  EXPECT_NE(exported(table, Export::json).find("\"send\": 6"), std::string::npos);
}

}  // namespace
}  // namespace ringtrue::tui
