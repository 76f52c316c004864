// What remains of a file when its writers are killed, when the disk is full, and of files that nobody should
// open.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <fstream>
#include <iterator>

#include "base/clock.h"
#include "base/splitmix64.h"
#include "history/keep.h"
#include "history/read.h"
#include "history/schema.h"
#include "history/store.h"
#include "tests/unit/history/sample.h"

namespace ringtrue::history {
namespace {

using sample::check;
using sample::Folder;
using sample::open;
using sample::start_us;

// Runs `work` in a child and kills it after so many microseconds. Whether it was still at it.
template <class Work>
bool killed_at(std::int64_t us, const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  usleep(useconds_t(us));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

// Sound, and every session has all of its readings, findings and its document.
void expect_whole(const Store& store, std::size_t readings_each) {
  EXPECT_TRUE(verify(store).value().empty());
  const auto all = sessions(store, {}).value();
  for (const Session& s : all) {
    EXPECT_EQ(readings(store, s.id).value().size(), readings_each);
    EXPECT_FALSE(document(store, s.id).value().empty());
  }
}

// Of each kind; RINGTRUE_KILLS: more.
int kills() {
  const char* const more = std::getenv("RINGTRUE_KILLS");
#ifdef RINGTRUE_SANITIZED
  return more ? std::atoi(more) : 8;
#else
  return more ? std::atoi(more) : 25;
#endif
}

void kill_writers(Journal journal) {
  const Folder folder;
  const OpenOptions options{.write = true, .journal = journal};
  open(folder.file(), options);
  open(folder.file("other.db"), options);
  // Most of them strike while it writes, however fast this machine is now: what a whole process needs for 40.
  const std::int64_t began = now_ns();
  const pid_t whole = fork();
  if (whole == 0) {
    auto other = Store::open(folder.file("other.db"), options);
    for (int k = 0; other && k < 40; ++k) (void)other->add(check(start_us + k, 32));
    _exit(0);
  }
  ASSERT_EQ(waitpid(whole, nullptr, 0), whole);
  const auto within_us = std::uint64_t(now_ns() - began) / 1000;
  SplitMix64 draw{7};
  int struck = 0;
  for (int i = 0; i < kills(); ++i) {
    struck += killed_at(std::int64_t(draw() % within_us), [&] {
      auto store = Store::open(folder.file(), options);
      for (int k = 0; store && k < 100; ++k) (void)store->add(check(start_us + i * 100 + k, 32));
    });
    if (i % 10 == 9) expect_whole(open(folder.file(), options), 65);
  }
  EXPECT_GT(struck, kills() / 2);
  const Store store = open(folder.file(), options);
  expect_whole(store, 65);
  EXPECT_GT(sessions(store, {}).value().size(), 0u);
}

TEST(Durability, AKilledWriterLeavesWholeSessionsInALog) {
  kill_writers(Journal::log);
}

TEST(Durability, AKilledWriterLeavesWholeSessionsInARollbackJournal) {
  kill_writers(Journal::rollback);
}

TEST(Durability, AKilledMigrationLeavesOneVersionOrTheOther) {
  // Touches every row, so that there is something to be killed at.
  constexpr const char* step =
      "CREATE TABLE reading2(session INTEGER NOT NULL, subject INTEGER NOT NULL, metric INTEGER NOT NULL, "
      "value REAL, "
      "PRIMARY KEY(session, subject, metric)) STRICT, WITHOUT ROWID; "
      "INSERT INTO reading2 SELECT session, subject, metric, value FROM reading";
  const char* const steps[] = {schema_steps()[0], step};
  const Folder folder;
  {
    Store store = open(folder.file("old.db"));
    for (int i = 0; i < 60; ++i) ASSERT_TRUE(store.add(check(start_us + i, 64)).value());
    ASSERT_TRUE(store.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  const auto begin_anew = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path))
      if (entry.path().filename().string().starts_with("history.db")) std::filesystem::remove(entry.path());
    std::filesystem::copy_file(folder.file("old.db"), folder.file());
  };
  const auto bring_forward = [&] {
    return Store::open(folder.file(), {.write = true, .steps = steps}).has_value();
  };
  begin_anew();
  const std::int64_t began = now_ns();
  ASSERT_TRUE(bring_forward());
  const auto takes_us = std::uint64_t(now_ns() - began) / 1000;
  SplitMix64 draw{11};
  int old = 0;
  for (int i = 0; i < kills(); ++i) {
    begin_anew();
    killed_at(std::int64_t(draw() % (takes_us * 5 / 4)), bring_forward);
    const auto connection = Connection::open(folder.file(), Connection::Mode::writable);
    ASSERT_TRUE(connection);
    const auto version = connection->number("PRAGMA user_version").value();
    old += version == 1;
    EXPECT_EQ(connection->word("PRAGMA integrity_check").value(), "ok");
    if (version == 2) {
      EXPECT_EQ(connection->number("SELECT count(*) FROM reading2").value(), 60 * 129);
      EXPECT_EQ(access(folder.file("history.db.bak-v1").c_str(), F_OK), 0);
    }
    // Whatever there is of a copy is whole.
    if (access(folder.file("history.db.bak-v1").c_str(), F_OK) == 0) {
      EXPECT_EQ(sessions(open(folder.file("history.db.bak-v1"), {}), {}).value().size(), 60u);
    }
    ASSERT_TRUE(bring_forward());
    EXPECT_EQ(sessions(open(folder.file(), {.steps = steps}), {}).value().size(), 60u);
  }
  EXPECT_GT(old, 0);
}

// A full disk, as far as SQLite sees it: no page more.
TEST(Durability, AFullDiskIsToldAndHarmsNothing) {
  const Folder folder;
  Store store = open(folder.file());
  ASSERT_TRUE(store.add(check(start_us)).value());
  const auto pages = store.connection().number("PRAGMA page_count").value();
  const std::string bound = "PRAGMA max_page_count=" + std::to_string(pages);
  ASSERT_TRUE(store.connection().execute(bound.c_str()));
  const auto full = store.add(check(start_us + 1, 200));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().cause, Cause::unavailable);
  EXPECT_NE(full.error().what.find("full"), std::string::npos);
  expect_whole(store, 9);
  EXPECT_EQ(sessions(store, {}).value().size(), 1u);
}

TEST(Durability, TwoWritersAndFiveReadersAtOnce) {
  const Folder folder;
  open(folder.file()).add(check(start_us)).value();
  std::vector<pid_t> children;
  for (int who = 0; who < 7; ++who) {
    const pid_t child = fork();
    if (child == 0) {
      auto store = Store::open(folder.file(), {.write = who < 2});
      bool good = store.has_value();
      for (int i = 0; good && i < 40; ++i) {
        if (who < 2) {
          good = store->add(check(start_us + i, 8)).has_value();
        } else {
          const auto all = sessions(*store, {});
          good = all && readings(*store, all->back().id).value_or(std::vector<Reading>()).size() >= 9;
        }
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(sessions(open(folder.file(), {}), {}).value().size(), 81u);
}

// ---- files that others made

std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const std::string& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

TEST(Hostile, WhatIsNoHistoryIsRefusedInOneLine) {
  const Folder folder;
  write(folder.file("text"), "schema = \"ringtrue.check/1\"\n" + std::string(5000, 'x'));
  EXPECT_EQ(Store::open(folder.file("text"), {}).error().cause, Cause::bad_input);
  write(folder.file("nothing"), "");
  const auto nothing = Store::open(folder.file("nothing"), {});
  ASSERT_FALSE(nothing.has_value());
  EXPECT_NE(nothing.error().what.find("is empty: no check was recorded in it"), std::string::npos)
      << nothing.error().what;
  {
    const auto other = Connection::open(folder.file("other.db"), Connection::Mode::writable);
    ASSERT_TRUE(other && other->execute("CREATE TABLE notes(text)"));
  }
  const auto refused = Store::open(folder.file("other.db"), {.write = true});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("another program"), std::string::npos);
  EXPECT_EQ(refused.error().text().find('\n'), std::string::npos);
}

TEST(Hostile, TriggersAndViewsOfOthersAreRefused) {
  for (const char* const more :
       {"CREATE TRIGGER t AFTER INSERT ON session BEGIN DELETE FROM reading; END", "CREATE TABLE extra(x)",
        "DROP TABLE finding; CREATE VIEW finding AS SELECT 1 AS session"}) {
    const Folder folder;
    open(folder.file()).add(check(start_us)).value();
    {
      const auto connection = Connection::open(folder.file(), Connection::Mode::writable);
      ASSERT_TRUE(connection && connection->execute(more)) << more;
    }
    const auto refused = Store::open(folder.file(), {.write = true});
    ASSERT_FALSE(refused) << more;
    EXPECT_EQ(refused.error().cause, Cause::bad_input);
  }
}

// Cut off and spoiled anywhere: read or refused, and nothing else.
TEST(Hostile, DamageIsToldAndNeverACrash) {
  const Folder folder;
  {
    Store store = open(folder.file("whole.db"));
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(store.add(check(start_us + i)).value());
    ASSERT_TRUE(store.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  const std::string whole = bytes_of(folder.file("whole.db"));
  SplitMix64 draw{3};
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string spoiled = whole;
    if (i % 3 == 0) spoiled.resize(draw() % spoiled.size());
    for (int k = 0; k < 1 + i % 8; ++k)
      if (!spoiled.empty()) spoiled[draw() % spoiled.size()] = char(draw());
    write(folder.file("spoiled.db"), spoiled);
    const auto store = Store::open(folder.file("spoiled.db"), {.bound = 5'000'000});
    refused += !store;
    if (!store) continue;
    (void)sessions(*store, {});
    (void)series(*store, {SubjectType::sender, "node1", "", ""}, Metric::rate, {});
    (void)readings(*store, 1);
    (void)verify(*store);
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace ringtrue::history
