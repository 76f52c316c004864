#include "history/keep.h"

#include <algorithm>
#include <tuple>

#include "base/statistics.h"

namespace ringtrue::history {
namespace {

constexpr std::int64_t day_us = 86'400'000'000;

Result<std::int64_t> setting(const Connection& connection, const char* key, std::int64_t otherwise) {
  auto find = connection.prepare("SELECT value FROM setting WHERE key = ?1");
  if (!find) return tl::unexpected(find.error());
  const auto row = find->with(key).row();
  if (!row) return tl::unexpected(row.error());
  return *row ? find->integer(0) : otherwise;
}

Result<void> set(const Connection& connection, const char* key, std::int64_t value) {
  auto put = connection.prepare(
      "INSERT INTO setting(key, value) VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET value = excluded.value");
  if (!put) return tl::unexpected(put.error());
  return put->with(key, value).run();
}

// Without what is free in it.
Result<std::uint64_t> used_bytes(const Connection& connection) {
  const auto pages = connection.number("PRAGMA page_count"),
             free = connection.number("PRAGMA freelist_count"), size = connection.number("PRAGMA page_size");
  if (!pages || !free || !size) return tl::unexpected(connection.error());
  return std::uint64_t(std::max<std::int64_t>(0, *pages - *free) * *size);
}

Result<std::uint64_t> file_bytes(const Connection& connection) {
  const auto pages = connection.number("PRAGMA page_count"), size = connection.number("PRAGMA page_size");
  if (!pages || !size) return tl::unexpected(connection.error());
  return std::uint64_t(*pages * *size);
}

// One statement in a transaction of its own; how many rows it changed.
template <class... T>
Result<std::int64_t> change(const Connection& connection, const char* text, const T&... values) {
  auto whole = Transaction::begin(connection);
  if (!whole) return tl::unexpected(whole.error());
  auto statement = connection.prepare(text);
  if (!statement) return tl::unexpected(statement.error());
  if (auto done = statement->with(values...).run(); !done) return tl::unexpected(done.error());
  const std::int64_t changed = connection.changes();
  if (auto done = whole->commit(); !done) return tl::unexpected(done.error());
  return changed;
}

// The least, the middle and the most of a day's accepted readings.
Result<void> sum_up(const Connection& connection, std::int64_t day) {
  auto whole = Transaction::begin(connection);
  if (!whole) return tl::unexpected(whole.error());
  auto rows = connection.prepare(
      "SELECT r.subject, r.metric, r.value FROM session s CROSS JOIN reading r ON r.session = s.id "
      "WHERE s.id IN (SELECT id FROM session WHERE started_us >= ?1 AND started_us < ?2 AND accepted = 1) "
      "AND r.value IS NOT NULL");
  if (!rows) return tl::unexpected(rows.error());
  auto put = connection.prepare(
      "INSERT OR REPLACE INTO day(day, subject, metric, n, least, median, most) VALUES(?1, ?2, ?3, ?4, ?5, "
      "?6, ?7)");
  if (!put) return tl::unexpected(put.error());
  struct Value {
    std::int64_t subject, metric;
    double value;
    bool operator<(const Value& other) const {
      return std::tie(subject, metric, value) < std::tie(other.subject, other.metric, other.value);
    }
  };
  std::vector<Value> values;
  rows->with(day * day_us, (day + 1) * day_us);
  auto read = each_row(*rows, [&] { values.push_back({rows->integer(0), rows->integer(1), rows->real(2)}); });
  if (!read) return read;
  std::sort(values.begin(), values.end());
  for (auto one = values.begin(); one != values.end();) {
    const auto end = std::find_if(one, values.end(), [&](const Value& v) {
      return v.subject != one->subject || v.metric != one->metric;
    });
    const auto n = std::size_t(end - one);
    const double median = (one[std::ptrdiff_t((n - 1) / 2)].value + one[std::ptrdiff_t(n / 2)].value) / 2;
    auto done =
        put->with(day, one->subject, one->metric, std::int64_t(n), one->value, median, end[-1].value).run();
    if (!done) return done;
    one = end;
  }
  if (auto done = set(connection, "summed_until", day + 1); !done) return done;
  return whole->commit();
}

Result<std::int64_t> sum_up_days(const Connection& connection, std::int64_t now_us) {
  const auto first = connection.number("SELECT coalesce(min(started_us), 0) FROM session");
  if (!first) return tl::unexpected(first.error());
  const auto from = setting(connection, "summed_until", *first / day_us);
  if (!from) return tl::unexpected(from.error());
  std::int64_t days = 0;
  auto next = connection.prepare("SELECT min(started_us) FROM session WHERE started_us >= ?1");
  if (!next) return tl::unexpected(next.error());
  for (std::int64_t day = *from; day < now_us / day_us; ++day, ++days) {
    const auto row = next->with(day * day_us).row();  // over days without any
    if (!row) return tl::unexpected(row.error());
    if (next->null(0)) break;
    day = std::max(day, next->integer(0) / day_us);
    if (day >= now_us / day_us) break;
    if (auto done = sum_up(connection, day); !done) return tl::unexpected(done.error());
  }
  return days;
}

// Nothing refers to a reading, and yet SQLite takes twice as long to drop some where it looks for that.
Result<std::int64_t> drop_readings_alone(const Connection& connection, std::int64_t up_to) {
  if (auto off = connection.execute("PRAGMA foreign_keys=OFF"); !off) return tl::unexpected(off.error());
  auto dropped = change(connection, "DELETE FROM reading WHERE session <= ?1", up_to);
  if (auto on = connection.execute("PRAGMA foreign_keys=ON"); !on) return tl::unexpected(on.error());
  return dropped;
}

// Whole sessions' readings and findings, up to that one; the session itself stays, with its verdict.
Result<void> drop_readings(const Connection& connection, std::int64_t up_to, Pruned& pruned) {
  const auto sessions = [&]() -> Result<std::int64_t> {
    auto count = connection.prepare(
        "SELECT count(*) FROM session s WHERE s.id <= ?1 AND EXISTS(SELECT 1 FROM reading r WHERE r.session "
        "= s.id)");
    if (!count) return tl::unexpected(count.error());
    if (auto row = count->with(up_to).row(); !row) return tl::unexpected(row.error());
    return count->integer(0);
  }();
  if (!sessions) return tl::unexpected(sessions.error());
  const auto readings = drop_readings_alone(connection, up_to);
  if (!readings) return tl::unexpected(readings.error());
  pruned.sessions += *sessions;
  pruned.readings += *readings;
  const auto found = change(connection, "DELETE FROM finding WHERE session <= ?1", up_to);
  if (!found) return tl::unexpected(found.error());
  return {};
}

// The last session of those, in the order in which they were recorded, that all began before.
Result<std::int64_t> last_before(const Connection& connection, std::int64_t us) {
  auto find = connection.prepare(
      "SELECT coalesce((SELECT min(id) FROM session WHERE started_us >= ?1) - 1, (SELECT max(id) FROM "
      "session), 0)");
  if (!find) return tl::unexpected(find.error());
  if (auto row = find->with(us).row(); !row) return tl::unexpected(row.error());
  return find->integer(0);
}

constexpr double share_of_pages = 1.3;  // pages beside the bytes in them

Result<void> shrink(const Connection& connection, std::uint64_t max_bytes, Pruned& pruned) {
  for (int round = 0; round < 40; ++round) {
    const auto used = used_bytes(connection);
    if (!used) return tl::unexpected(used.error());
    if (*used <= max_bytes) return {};
    const auto surplus = std::int64_t(*used - max_bytes);
    // Documents first, the oldest of them, as many as it takes.
    const auto documents = change(
        connection,
        "DELETE FROM document WHERE session IN (SELECT session FROM (SELECT session, sum(length(gz)) OVER "
        "(ORDER BY session ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM document) "
        "WHERE coalesce(before, 0) < ?1)",
        surplus);
    if (!documents) return tl::unexpected(documents.error());
    pruned.documents += *documents;
    pruned.documents_for_size += *documents;
    if (*documents > 0) continue;
    // Then sessions, in the share of the surplus in all that is used.
    const auto oldest = connection.number("SELECT coalesce(min(session), 0) FROM reading"),
               latest = connection.number("SELECT coalesce(max(session), 0) FROM reading");
    if (!oldest || !latest) return tl::unexpected(connection.error());
    if (*oldest == *latest) {
      pruned.too_large = true;
      return {};
    }
    const double share = double(surplus) / double(*used) / share_of_pages;
    const auto many =
        std::clamp<std::int64_t>(std::int64_t(double(*latest - *oldest) * share), 1, *latest - *oldest);
    const std::int64_t before = pruned.sessions;
    if (auto done = drop_readings(connection, *oldest + many - 1, pruned); !done) return done;
    pruned.sessions_for_size += pruned.sessions - before;
  }
  return {};
}

}  // namespace

Result<Pruned> prune(const Store& store, const Keep& keep, std::int64_t now_us) {
  if (auto may = store.for_writing(); !may) return tl::unexpected(may.error());
  const Connection& connection = store.connection();
  Pruned pruned;
  const auto before = file_bytes(connection);
  if (!before) return tl::unexpected(before.error());
  pruned.bytes_before = *before;
  const auto days = sum_up_days(connection, now_us);
  if (!days) return tl::unexpected(days.error());
  pruned.days = *days;
  const auto old = [&](double kept) {
    return last_before(connection, now_us - std::int64_t(kept * double(day_us)));
  };
  const auto documents = old(keep.documents_days), readings = old(keep.readings_days);
  if (!documents || !readings) return tl::unexpected(documents ? readings.error() : documents.error());
  const auto dropped = change(connection, "DELETE FROM document WHERE session <= ?1", *documents);
  if (!dropped) return tl::unexpected(dropped.error());
  pruned.documents = *dropped;
  if (auto done = drop_readings(connection, *readings, pruned); !done) return tl::unexpected(done.error());
  if (auto done = shrink(connection, keep.max_bytes, pruned); !done) return tl::unexpected(done.error());
  auto facts = change(
      connection, "DELETE FROM facts WHERE id NOT IN (SELECT facts FROM session WHERE facts IS NOT NULL)");
  if (!facts) return tl::unexpected(facts.error());
  if (auto done = set(connection, "pruned_us", now_us); !done) return tl::unexpected(done.error());
  // Pages that are free now go back to the file system.
  for (const char* const tidy : {"PRAGMA incremental_vacuum", "PRAGMA wal_checkpoint(TRUNCATE)"}) {
    auto statement = connection.prepare(tidy);
    if (!statement) return tl::unexpected(statement.error());
    if (auto done = statement->run(); !done) return tl::unexpected(done.error());
  }
  const auto after = file_bytes(connection);
  if (!after) return tl::unexpected(after.error());
  pruned.bytes_after = *after;
  return pruned;
}

Result<Keep> keep_of(const Store& store) {
  Keep keep;
  const Connection& connection = store.connection();
  const auto readings = setting(connection, "keep_readings_s", std::int64_t(keep.readings_days * 86400)),
             documents = setting(connection, "keep_documents_s", std::int64_t(keep.documents_days * 86400)),
             bytes = setting(connection, "keep_bytes", std::int64_t(keep.max_bytes));
  if (!readings || !documents || !bytes) return tl::unexpected(connection.error());
  keep.readings_days = double(*readings) / 86400;
  keep.documents_days = double(*documents) / 86400;
  keep.max_bytes = std::uint64_t(std::max<std::int64_t>(0, *bytes));
  return keep;
}

Result<void> set_keep(const Store& store, const Keep& keep) {
  if (auto may = store.for_writing(); !may) return may;
  const Connection& connection = store.connection();
  if (auto done = set(connection, "keep_readings_s", std::int64_t(keep.readings_days * 86400)); !done)
    return done;
  if (auto done = set(connection, "keep_documents_s", std::int64_t(keep.documents_days * 86400)); !done)
    return done;
  return set(connection, "keep_bytes", std::int64_t(keep.max_bytes));
}

Result<bool> prune_is_due(const Store& store, std::int64_t now_us) {
  const auto last = setting(store.connection(), "pruned_us", 0);
  if (!last) return tl::unexpected(last.error());
  return now_us - *last >= day_us || now_us < *last - day_us;
}

Result<std::vector<std::string>> verify(const Store& store, int most) {
  std::vector<std::string> wrong;
  auto pages = store.connection().prepare("SELECT integrity_check FROM pragma_integrity_check(?1)");
  if (!pages) return tl::unexpected(pages.error());
  pages->with(most);
  auto read = each_row(*pages, [&] {
    if (pages->text(0) != "ok") wrong.push_back(pages->text(0));
  });
  if (!read) return tl::unexpected(read.error());
  auto references = store.connection().prepare(
      "SELECT \"table\", \"parent\", count(*) FROM pragma_foreign_key_check GROUP BY 1, 2");
  if (!references) return tl::unexpected(references.error());
  read = each_row(*references, [&] {
    wrong.push_back("table " + references->text(0) + ": " + std::to_string(references->integer(2)) +
                    " rows refer to what is not in table " + references->text(1));
  });
  if (!read) return tl::unexpected(read.error());
  return wrong;
}

}  // namespace ringtrue::history
