#include "history/schema.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

namespace ringtrue::history {
namespace {

// Readings lie in the order of sessions: storing one appends, dropping old ones frees whole pages, and one
// subject's are found by a search a session. Three quarters of a fleet's file are readings, so that what is
// alike in a session stands there.
constexpr const char* first = R"sql(
CREATE TABLE fleet(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE subject(
  id INTEGER PRIMARY KEY, fleet INTEGER NOT NULL REFERENCES fleet(id),
  type TEXT NOT NULL CHECK(type IN('fleet','node','sender','receiver','path','rail','nic','gpu','leaf','link','counter')),
  node TEXT NOT NULL DEFAULT '', peer TEXT NOT NULL DEFAULT '', device TEXT NOT NULL DEFAULT '',
  UNIQUE(fleet, node, type, peer, device)) STRICT;
CREATE TABLE facts(id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, lines BLOB NOT NULL) STRICT;
CREATE INDEX facts_hash ON facts(hash);
CREATE TABLE session(
  id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE, fleet INTEGER NOT NULL REFERENCES fleet(id),
  kind TEXT NOT NULL CHECK(kind IN('check','run','sweep','inspect')),
  started_us INTEGER NOT NULL, ended_us INTEGER NOT NULL CHECK(ended_us >= started_us),
  verdict TEXT CHECK(verdict IN('healthy','degraded','faulty','unknown')),
  version TEXT NOT NULL, fingerprint TEXT NOT NULL, nodes INTEGER NOT NULL,
  runs INTEGER NOT NULL, bytes INTEGER NOT NULL, seconds REAL NOT NULL,
  expected REAL, level REAL,
  accepted INTEGER NOT NULL DEFAULT 1 CHECK(accepted IN(0,1)), why_not TEXT NOT NULL DEFAULT '',
  clock_went_back INTEGER NOT NULL DEFAULT 0 CHECK(clock_went_back IN(0,1)),
  facts INTEGER REFERENCES facts(id)) STRICT;
CREATE INDEX session_time ON session(fleet, started_us);
CREATE TABLE reading(
  session INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
  subject INTEGER NOT NULL REFERENCES subject(id),
  metric INTEGER NOT NULL, value REAL, n INTEGER NOT NULL,
  PRIMARY KEY(session, subject, metric)) STRICT, WITHOUT ROWID;
CREATE TABLE finding(
  id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES session(id) ON DELETE CASCADE,
  subject INTEGER NOT NULL REFERENCES subject(id),
  severity TEXT NOT NULL CHECK(severity IN('info','warning','critical')), kind TEXT NOT NULL,
  ratio REAL, confidence REAL NOT NULL) STRICT;
CREATE INDEX finding_session ON finding(session);
CREATE INDEX finding_subject ON finding(subject, session);
CREATE TABLE document(session INTEGER PRIMARY KEY REFERENCES session(id) ON DELETE CASCADE, gz BLOB NOT NULL) STRICT;
CREATE TABLE baseline(
  id INTEGER PRIMARY KEY, subject INTEGER NOT NULL REFERENCES subject(id), metric INTEGER NOT NULL,
  fingerprint TEXT NOT NULL, median REAL NOT NULL, mad REAL NOT NULL, n INTEGER NOT NULL CHECK(n >= 10),
  first_session INTEGER NOT NULL, last_session INTEGER NOT NULL,
  set_us INTEGER NOT NULL, set_by TEXT NOT NULL, reason TEXT NOT NULL, retired_us INTEGER) STRICT;
CREATE UNIQUE INDEX baseline_current ON baseline(subject, metric, fingerprint) WHERE retired_us IS NULL;
CREATE TABLE regression(
  id INTEGER PRIMARY KEY, baseline INTEGER NOT NULL REFERENCES baseline(id),
  state TEXT NOT NULL CHECK(state IN('suspected','confirmed','acknowledged','recovered','withdrawn')),
  first_session INTEGER NOT NULL, confirmed_session INTEGER, ended_session INTEGER,
  ratio REAL NOT NULL, low INTEGER NOT NULL, good INTEGER NOT NULL, note TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX regression_baseline ON regression(baseline);
CREATE INDEX regression_open ON regression(state) WHERE state IN('suspected','confirmed','acknowledged');
CREATE TABLE event(
  id INTEGER PRIMARY KEY, fleet INTEGER NOT NULL REFERENCES fleet(id), subject INTEGER REFERENCES subject(id),
  at_us INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK(kind IN('repair','firmware','cabling','topology','acknowledge','baseline','note')),
  who TEXT NOT NULL, text TEXT NOT NULL) STRICT;
CREATE TABLE day(
  day INTEGER NOT NULL, subject INTEGER NOT NULL REFERENCES subject(id), metric INTEGER NOT NULL,
  n INTEGER NOT NULL, least REAL NOT NULL, median REAL NOT NULL, most REAL NOT NULL,
  PRIMARY KEY(day, subject, metric)) STRICT, WITHOUT ROWID;
CREATE TABLE setting(key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
)sql";

constexpr const char* steps_of_today[] = {first};

Error foreign(const Connection& connection, std::string what) {
  return {Cause::bad_input, "the history " + connection.file() + " " + std::move(what), "",
          "name another file"};
}

// All of a schema, as text.
Result<std::string> schema_text(const Connection& connection) {
  auto rows =
      connection.prepare("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY 1, 2");
  if (!rows) return tl::unexpected(rows.error());
  std::string out;
  const auto read = each_row(*rows, [&] {
    // Made by SQLite itself, when it was asked for statistics.
    if (rows->text(1).starts_with("sqlite_stat")) return;
    for (int column = 0; column < 4; ++column) out += rows->text(column) + '\n';
  });
  if (!read) return tl::unexpected(read.error());
  return out;
}

Result<void> play(const Connection& connection, std::int64_t from, std::span<const char* const> steps) {
  for (auto step = std::size_t(from); step < steps.size(); ++step)
    if (auto done = connection.execute(steps[step]); !done) return done;
  return {};
}

Result<void> copy_file(const Connection& connection, std::int64_t version) {
  const std::string copy = fmt::format("{}.bak-v{}", connection.file(), version);
  // One that is there was made before an attempt that did not come to its end, or is somebody's own: it
  // stays.
  if (access(copy.c_str(), F_OK) == 0) return {};
  const std::string part = copy + ".part";
  unlink(part.c_str());
  auto into = connection.prepare("VACUUM INTO ?1");
  if (!into) return tl::unexpected(into.error());
  if (auto done = into->with(part).run(); !done) return done;
  const int fd = open(part.c_str(), O_RDONLY | O_CLOEXEC);
  const bool kept =
      fd >= 0 && fchmod(fd, 0640) == 0 && fsync(fd) == 0 && rename(part.c_str(), copy.c_str()) == 0;
  if (fd >= 0) close(fd);
  if (!kept)
    return fail(Cause::unavailable, fmt::format("the history cannot be copied to {}", copy), {},
                "nothing was changed; see to the folder's permissions");
  return {};
}

}  // namespace

std::span<const char* const> schema_steps() {
  return steps_of_today;
}

Result<FileState> state_of(const Connection& connection) {
  const auto objects = connection.number("SELECT count(*) FROM sqlite_schema");
  if (!objects) return tl::unexpected(objects.error());
  const auto id = connection.number("PRAGMA application_id");
  const auto version = connection.number("PRAGMA user_version");
  if (!id || !version) return tl::unexpected(id ? version.error() : id.error());
  const bool empty = *objects == 0 && *id == 0 && *version == 0;
  if (!empty && *id != application_id)
    return tl::unexpected(foreign(connection, "is another program's database"));
  if (!empty && *version < 1) return tl::unexpected(foreign(connection, "has no version"));
  return FileState{empty, *version};
}

Result<void> migrate(const Connection& connection, std::span<const char* const> steps) {
  auto before = state_of(connection);
  if (!before) return tl::unexpected(before.error());
  if (before->version >= std::int64_t(steps.size())) return {};
  if (!before->empty) {
    const auto sound = connection.word("PRAGMA quick_check(1)");
    if (!sound) return tl::unexpected(sound.error());
    if (*sound != "ok") return tl::unexpected(foreign(connection, "is damaged: " + *sound));
    if (auto copied = copy_file(connection, before->version); !copied) return copied;
  }
  auto whole = Transaction::begin(connection);
  if (!whole) return tl::unexpected(whole.error());
  before = state_of(connection);  // another program may have been faster
  if (!before) return tl::unexpected(before.error());
  if (before->version >= std::int64_t(steps.size())) return {};
  if (auto played = play(connection, before->version, steps); !played) return played;
  // Pragmas take no bound values; these are numbers of ours.
  const std::string marks =
      fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", application_id, steps.size());
  if (auto marked = connection.execute(marks.c_str()); !marked) return marked;
  return whole->commit();
}

Result<void> check_schema(const Connection& connection, std::span<const char* const> steps) {
  const auto known = [&]() -> Result<std::string> {
    const auto model = Connection::open(":memory:", Connection::Mode::writable);
    if (!model) return tl::unexpected(model.error());
    if (auto played = play(*model, 0, steps); !played) return tl::unexpected(played.error());
    return schema_text(*model);
  }();
  if (!known) return tl::unexpected(known.error());
  const auto found = schema_text(connection);
  if (!found) return tl::unexpected(found.error());
  if (*found != *known)
    return tl::unexpected(foreign(connection, "has tables that this program did not make"));
  return {};
}

}  // namespace ringtrue::history
