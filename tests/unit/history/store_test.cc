#include "history/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "history/keep.h"
#include "history/read.h"
#include "history/schema.h"
#include "tests/unit/history/sample.h"

namespace ringtrue::history {
namespace {

using sample::check;
using sample::day_us;
using sample::Folder;
using sample::hour_us;
using sample::open;
using sample::start_us;

TEST(Store, MakesTheUsualFolderAndNoneThatWasNamed) {
  const Folder folder;
  const char* const before = std::getenv("XDG_STATE_HOME");
  const std::string kept = before ? before : "";
  setenv("XDG_STATE_HOME", folder.file("deep/below").c_str(), 1);
  EXPECT_TRUE(Store::open(usual_file(), {.write = true}));
  before ? setenv("XDG_STATE_HOME", kept.c_str(), 1) : unsetenv("XDG_STATE_HOME");
  const auto slip = Store::open(folder.file("depe/history.db"), {.write = true});
  ASSERT_FALSE(slip);
  EXPECT_EQ(slip.error().text(),
            "there is no folder " + folder.file("depe") + " for the history; make it, or name another file");
  EXPECT_NE(access(folder.file("depe").c_str(), F_OK), 0);
}

// Each has its own remedy, and none of them is another check.
TEST(Store, TellsWhyThereIsNone) {
  const Folder folder;
  const auto why = [&](const std::string& name, bool write) {
    const auto store = Store::open(folder.file(name.c_str()), {.write = write});
    return store ? "" : store.error().text();
  };
  std::ofstream(folder.file("plain")) << "x";
  for (const bool write : {false, true}) {
    EXPECT_EQ(why("plain/deep/h.db", write), "there is no history " + folder.file("plain/deep/h.db") + ": " +
                                                 folder.file("plain") + " is no folder; name another file");
    EXPECT_EQ(why("slip/h.db", write), "there is no folder " + folder.file("slip") +
                                           " for the history; make it, or name another file");
    EXPECT_THAT(why(std::string(300, 'x'), write),
                testing::EndsWith("File name too long; name another file"));
  }
  EXPECT_EQ(why("h.db", false), "there is no history " + folder.file("h.db") +
                                    ": No such file or directory; ringtrue check --record makes one");
}

// Root may enter any folder: asked as somebody else then.
TEST(Store, TellsOfFoldersThatMayNotBeEntered) {
  const Folder folder;
  ASSERT_EQ(mkdir(folder.file("closed").c_str(), 0700), 0);
  ASSERT_EQ(chmod(folder.file("closed").c_str(), 0), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(2);
    const auto store = Store::open(folder.file("closed/h.db"), {.write = true});
    const std::string due = "the history " + folder.file("closed/h.db") +
                            " is in a folder that may not be entered; have its permissions changed, or name "
                            "another file";
    _exit(!store && store.error().text() == due ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
}

TEST(Store, TellsBeforehandWhetherItCanRecord) {
  const Folder folder;
  EXPECT_TRUE(may_record(folder.file("h.db")));
  EXPECT_NE(access(folder.file("h.db").c_str(), F_OK), 0);
  open(folder.file("h.db"));
  EXPECT_TRUE(may_record(folder.file("h.db")));
  std::ofstream(folder.file("plain"))
      << "no database, and long enough to have a header: " << std::string(100, 'x');
  const auto why = [&](const char* name) { return may_record(folder.file(name)).error().text(); };
  EXPECT_THAT(why("slip/h.db"), testing::HasSubstr("there is no folder"));
  EXPECT_THAT(why("plain/h.db"), testing::HasSubstr("is no folder"));
  EXPECT_THAT(why("plain"), testing::HasSubstr("is no SQLite database"));
  EXPECT_EQ(why(""), "the history " + folder.file("") + " is not a regular file; name another file");
}

TEST(Store, ReadsBackWhatItWasGiven) {
  const Folder folder;
  const Store store = [&] {
    Store writing = open(folder.file());
    Record record = check(start_us);
    record.readings[0].value = std::nullopt;
    record.session.accepted = false;
    record.session.why_not = "others' traffic";
    record.findings.push_back(
        {{SubjectType::path, "node1", "node2", ""}, "critical", "slow-path", 0.5, 0.93});
    EXPECT_EQ(writing.add(record).value().value(), 1);
    return writing;
  }();
  struct stat there {};
  ASSERT_EQ(stat(store.file().c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777, 0640u);
  EXPECT_EQ(stat((store.file() + "-wal").c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777, 0640u);

  const Store reading = open(store.file(), {});
  const Session s = session(reading, "last", "lab").value();
  EXPECT_EQ(s.id, 1);
  EXPECT_EQ(s.uuid.size(), 36u);
  EXPECT_EQ(s.fleet, "lab");
  EXPECT_EQ(s.verdict, "healthy");
  EXPECT_EQ(s.nodes, 4);
  EXPECT_EQ(s.why_not, "others' traffic");
  EXPECT_FALSE(s.accepted);
  EXPECT_EQ(session(reading, s.uuid.substr(0, 8), "lab").value().id, 1);
  EXPECT_EQ(session(reading, "7", "lab").error().cause, Cause::bad_input);
  EXPECT_EQ(session(reading, "x' OR '1", "lab").error().cause, Cause::bad_input);

  const auto values = readings(reading, 1).value();
  ASSERT_EQ(values.size(), 9u);
  EXPECT_FALSE(values[0].value.has_value());  // unknown, not 0
  EXPECT_EQ(values[1].value, 60e6);
  EXPECT_EQ(values[8].metric, Metric::busbw);
  const auto found = findings(reading, 1).value();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subject.text(), "the path node1 -> node2");
  EXPECT_EQ(found[0].ratio, 0.5);
  EXPECT_EQ(facts(reading, 1).value(), (std::vector<Fact>(check(0).facts)));
  EXPECT_EQ(document(reading, 1).value(), std::string(200, 'd'));
  EXPECT_EQ(document(reading, 9).value(), "");
}

TEST(Store, TellsOneSideOverTime) {
  const Folder folder;
  Store store = open(folder.file());
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(store.add(check(start_us + i * hour_us, 4, 60e6 + i)).value());
  Record other = check(start_us + 50 * hour_us);
  other.session.fleet = "another";
  ASSERT_TRUE(store.add(other).value());
  const SubjectKey side{SubjectType::sender, "node2", "", ""};
  const auto all = series(store, side, Metric::rate, {.fleet = "lab"}).value();
  ASSERT_EQ(all.size(), 50u);
  EXPECT_EQ(all.front().value, 60e6);
  EXPECT_EQ(all.back().value, 60e6 + 49);
  EXPECT_EQ(
      series(store, side, Metric::rate, {.fleet = "lab", .since_us = start_us + 40 * hour_us}).value().size(),
      10u);
  const auto last = series(store, side, Metric::rate, {.fleet = "lab", .last = 3}).value();
  ASSERT_EQ(last.size(), 3u);
  EXPECT_EQ(last.back().value, 60e6 + 49);
  EXPECT_EQ(sessions(store, {.fleet = "lab", .last = 2}).value().back().id, 50);
  EXPECT_EQ(subjects(store, "lab", "node2").value().size(), 2u);
  EXPECT_EQ(fleets(store).value(), (std::vector<std::string>{"lab", "another"}));
  EXPECT_EQ(side_readings(store, {.fleet = "lab", .last = 2}).value().back().sides.size(), 8u);
}

TEST(Store, KnowsWhatItHas) {
  const Folder folder;
  Store store = open(folder.file());
  Record record = check(start_us);
  record.session.uuid = "01234567-89ab-4def-8123-456789abcdef";
  EXPECT_TRUE(store.add(record).value().has_value());
  EXPECT_FALSE(store.add(record).value().has_value());
  EXPECT_EQ(sessions(store, {}).value().size(), 1u);
}

TEST(Store, FindsASessionByTheFirstGroupOfItsUuidThoughItIsDigits) {
  const Folder folder;
  Store store = open(folder.file());
  Record record = check(start_us);
  record.session.uuid = "01234567-89ab-4def-8123-456789abcdef";
  EXPECT_TRUE(store.add(record).value().has_value());
  EXPECT_EQ(session(store, "01234567", "lab").value().id, 1);
  EXPECT_EQ(session(store, "0123456", "lab").error().cause, Cause::bad_input) << "a number";
  EXPECT_EQ(session(store, "1", "lab").value().uuid, record.session.uuid);
}

// The order is that of their times.
TEST(Store, TakesAClockThatWentBack) {
  const Folder folder;
  Store store = open(folder.file());
  for (const std::int64_t at : {start_us, start_us - 30 * day_us, start_us + hour_us})
    ASSERT_TRUE(store.add(check(at)).value());
  const auto all = sessions(store, {}).value();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].id, 2);
  EXPECT_TRUE(all[0].clock_went_back);
  EXPECT_FALSE(all[1].clock_went_back);
  EXPECT_FALSE(all[2].clock_went_back);
  EXPECT_TRUE(verify(store).value().empty());
}

TEST(Store, ReadersSeeWholeSessionsBesideAWriter) {
  const Folder folder;
  Store writer = open(folder.file());
  ASSERT_TRUE(writer.add(check(start_us)).value());
  const Store reader = open(folder.file(), {});
  auto half = Transaction::begin(writer.connection());
  ASSERT_TRUE(half && add_record(writer.connection(), check(start_us + 1)));
  EXPECT_EQ(sessions(reader, {}).value().size(), 1u);
  // Another writer waits, and is told in the end.
  Store second = open(folder.file(), {.write = true, .busy = Seconds(0.05)});
  const auto refused = second.add(check(start_us + 2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().cause, Cause::deadline);
  ASSERT_TRUE(half->commit());
  EXPECT_EQ(sessions(reader, {}).value().size(), 2u);
  EXPECT_TRUE(second.add(check(start_us + 2)).value());
}

TEST(Store, WorksWithARollbackJournal) {
  const Folder folder;
  Store store = open(folder.file(), {.write = true, .journal = Journal::rollback});
  ASSERT_TRUE(store.add(check(start_us)).value());
  EXPECT_NE(access((folder.file() + "-wal").c_str(), F_OK), 0);
  EXPECT_EQ(store.connection().word("PRAGMA journal_mode").value(), "delete");
  EXPECT_EQ(sessions(open(folder.file(), {.journal = Journal::rollback}), {}).value().size(), 1u);
}

TEST(Store, ReadsWhatMayNotBeWritten) {
  const Folder folder;
  open(folder.file()).add(check(start_us)).value();
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  chmod(folder.file().c_str(), 0440);
  Store store = open(folder.file());
  EXPECT_FALSE(store.writable());
  EXPECT_NE(store.remark().find("may not be written"), std::string::npos);
  EXPECT_EQ(store.add(check(start_us + 1)).error().cause, Cause::unavailable);
  chmod(folder.path.c_str(), 0500);
  EXPECT_EQ(sessions(open(folder.file()), {}).value().size(), 1u);
}

TEST(Store, TellsThatThereIsNone) {
  const Folder folder;
  EXPECT_EQ(Store::open(folder.file(), {}).error().cause, Cause::unavailable);
  EXPECT_EQ(Store::open(folder.path, {.write = true}).error().cause, Cause::bad_input);
}

// ---- versions

constexpr const char* next = "ALTER TABLE session ADD COLUMN colour TEXT NOT NULL DEFAULT 'none'";
constexpr const char* broken = "ALTER TABLE session ADD COLUMN more TEXT; INSERT INTO nowhere VALUES(1)";
const char* const two_steps[] = {schema_steps()[0], next};
const char* const bad_steps[] = {schema_steps()[0], broken};

TEST(Versions, AnOlderFileIsCopiedAndBroughtForward) {
  const Folder folder;
  open(folder.file()).add(check(start_us)).value();
  const OpenOptions newer{.write = true, .steps = two_steps};
  {
    const Store store = open(folder.file(), newer);
    EXPECT_EQ(store.connection().word("SELECT colour FROM session").value(), "none");
    EXPECT_EQ(store.connection().number("PRAGMA user_version").value(), 2);
  }
  struct stat there {};
  ASSERT_EQ(stat(folder.file("history.db.bak-v1").c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777, 0640u);
  EXPECT_EQ(sessions(open(folder.file("history.db.bak-v1"), {}), {}).value().size(), 1u);
  // Today's program reads tomorrow's file, and writes nothing.
  Store store = open(folder.file());
  EXPECT_FALSE(store.writable());
  EXPECT_NE(store.remark().find("newer version"), std::string::npos);
  EXPECT_EQ(sessions(store, {}).value().size(), 1u);
  EXPECT_FALSE(store.add(check(start_us + 1)));
}

TEST(Versions, AStepThatFailsChangesNothing) {
  const Folder folder;
  open(folder.file()).add(check(start_us)).value();
  EXPECT_FALSE(Store::open(folder.file(), {.write = true, .steps = bad_steps}));
  const Store store = open(folder.file());
  EXPECT_TRUE(store.writable());
  EXPECT_EQ(store.connection().number("PRAGMA user_version").value(), 1);
  EXPECT_EQ(sessions(store, {}).value().size(), 1u);
}

// ---- what is kept

TEST(Keep, SumsUpDaysAndDropsWhatIsOld) {
  const Folder folder;
  Store store = open(folder.file());
  for (int day = 0; day < 100; ++day)
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(store.add(check(start_us + day * day_us + i * hour_us / 10, 2, 60e6 + i)).value());
  const std::int64_t now = start_us + 100 * day_us;
  const Pruned pruned = prune(store, {}, now).value();
  EXPECT_EQ(pruned.days, 100);
  EXPECT_EQ(pruned.sessions, 10 * 3);
  EXPECT_EQ(pruned.readings, 10 * 3 * 5);
  EXPECT_EQ(pruned.documents, 70 * 3);
  EXPECT_EQ(pruned.sessions_for_size, 0);
  EXPECT_EQ(readings(store, 1).value().size(), 0u);
  EXPECT_EQ(sessions(store, {}).value().size(), 300u);
  const auto all = days(store, "lab", {SubjectType::sender, "node1", "", ""}, Metric::rate).value();
  ASSERT_EQ(all.size(), 100u);
  EXPECT_EQ(all[0].n, 3);
  EXPECT_EQ(all[0].least, 60e6);
  EXPECT_EQ(all[0].median, 60e6 + 1);
  EXPECT_EQ(all[0].most, 60e6 + 2);
  EXPECT_EQ(prune(store, {}, now).value().days, 0);
  EXPECT_FALSE(prune_is_due(store, now).value());
  EXPECT_TRUE(prune_is_due(store, now + day_us).value());
  EXPECT_TRUE(verify(store).value().empty());
}

TEST(Keep, StaysWithinItsSizeAndSaysWhatThatCost) {
  const Folder folder;
  Store store = open(folder.file());
  for (int i = 0; i < 200; ++i) {
    Record record = check(start_us + i * hour_us, 64);
    record.document.assign(4000, char('a' + i % 26));
    ASSERT_TRUE(store.add(record).value());
  }
  const std::int64_t now = start_us + 200 * hour_us;
  // Documents suffice.
  Keep keep;
  keep.max_bytes = 1'200'000;
  Pruned pruned = prune(store, keep, now).value();
  EXPECT_GT(pruned.documents_for_size, 0);
  EXPECT_LT(pruned.documents_for_size, 200);
  EXPECT_EQ(pruned.sessions_for_size, 0);
  EXPECT_LE(pruned.bytes_after, keep.max_bytes * 1.1);
  EXPECT_GE(pruned.bytes_after, keep.max_bytes * 0.8);
  EXPECT_EQ(document(store, 1).value(), "");
  EXPECT_NE(document(store, 200).value(), "");
  // They do not.
  keep.max_bytes = 400'000;
  pruned = prune(store, keep, now).value();
  EXPECT_GT(pruned.sessions_for_size, 0);
  EXPECT_LE(pruned.bytes_after, keep.max_bytes * 1.1);
  EXPECT_TRUE(readings(store, 1).value().empty());
  EXPECT_FALSE(readings(store, 200).value().empty());
  EXPECT_EQ(std::filesystem::file_size(store.file()), pruned.bytes_after);
  // Nothing is small enough for that.
  keep.max_bytes = 1;
  EXPECT_TRUE(prune(store, keep, now).value().too_large);
  EXPECT_TRUE(verify(store).value().empty());
}

TEST(Keep, IsKeptInTheFile) {
  const Folder folder;
  const Store store = open(folder.file());
  EXPECT_EQ(keep_of(store).value().readings_days, 90);
  ASSERT_TRUE(set_keep(store, {7, 3, 1 << 20}));
  EXPECT_EQ(keep_of(store).value().readings_days, 7);
  EXPECT_EQ(keep_of(store).value().max_bytes, 1u << 20);
}

}  // namespace
}  // namespace ringtrue::history
