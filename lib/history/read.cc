#include "history/read.h"

#include <fmt/format.h>

#include "base/number.h"
#include "base/text.h"
#include "history/rows.h"

namespace ringtrue::history {
namespace {

constexpr const char* session_columns =
    "SELECT s.id, s.uuid, f.name, s.kind, s.started_us, s.ended_us, s.verdict, s.version, s.fingerprint, "
    "s.nodes, "
    "s.runs, s.bytes, s.seconds, s.expected, s.level, s.accepted, s.why_not, s.clock_went_back "
    "FROM session s JOIN fleet f ON f.id = s.fleet ";

Session session_of(const Statement& row) {
  Session s;
  s.id = row.integer(0);
  s.uuid = row.text(1);
  s.fleet = row.text(2);
  s.kind = parse_key<Kind>(row.text(3)).value_or(Kind::check);
  s.started_us = row.integer(4);
  s.ended_us = row.integer(5);
  if (!row.null(6)) s.verdict = row.text(6);
  s.version = row.text(7);
  s.fingerprint = row.text(8);
  s.nodes = int(row.integer(9));
  s.runs = row.integer(10);
  s.bytes = row.integer(11);
  s.seconds = row.real(12);
  s.expected = row.maybe_real(13);
  s.level = row.maybe_real(14);
  s.accepted = row.integer(15) != 0;
  s.why_not = row.text(16);
  s.clock_went_back = row.integer(17) != 0;
  return s;
}

// With ?1 to ?6 bound to the parts of a Which.
constexpr const char* session_chosen =
    "(?1 IS NULL OR f.name = ?1) AND s.started_us >= ?2 AND s.started_us <= ?3 AND (?4 IS NULL OR "
    "s.fingerprint = ?4) "
    "AND s.accepted >= ?5 ";

Reading reading_at(const Statement& row, int column) {
  return {key_at(row, column), metric_of(row.integer(column + 4)), row.maybe_real(column + 5),
          int(row.integer(column + 6))};
}

}  // namespace

Result<std::vector<std::string>> fleets(const Store& store) {
  return all<std::string>(store, "SELECT name FROM fleet ORDER BY id",
                          [](const Statement& row) { return row.text(0); });
}

Result<std::vector<Session>> sessions(const Store& store, const Which& which) {
  const std::string text =
      fmt::format("SELECT * FROM ({}WHERE {}ORDER BY s.started_us DESC, s.id DESC LIMIT ?6) ORDER BY 5, 1",
                  session_columns, session_chosen);
  return all<Session>(store, text, session_of, any_fleet(which.fleet), which.since_us.value_or(-endless),
                      which.until_us.value_or(endless), which.fingerprint, which.accepted,
                      which.last.value_or(-1));
}

Result<Session> session(const Store& store, std::string_view name, std::string_view fleet) {
  const auto number = parse_number<std::int64_t>(name);
  std::string like;
  for (const char c : name) {
    const char lower = c >= 'A' && c <= 'F' ? char(c - 'A' + 'a') : c;
    const bool plain = (lower >= '0' && lower <= '9') || (lower >= 'a' && lower <= 'f') || lower == '-';
    like += plain ? lower : '?';
  }
  const bool last = name == "last";
  const auto where = [&](const char* condition, const auto& value) {
    return all<Session>(store, std::string(session_columns) + condition, session_of, value);
  };
  auto found =
      last     ? where("WHERE f.name = ?1 ORDER BY s.started_us DESC, s.id DESC LIMIT 1", std::string(fleet))
      : number ? where("WHERE s.id = ?1", *number)
               : Result<std::vector<Session>>();
  // What is given of a uuid may be digits alone; its first group, at least, as a wrong number is none.
  constexpr std::size_t first_group = 8;
  if (!last && found && found->empty() && (!number || name.size() >= first_group))
    found = where("WHERE substr(s.uuid, 1, length(?1)) = ?1 LIMIT 2", like);
  if (!found) return tl::unexpected(found.error());
  if (found->size() == 1) return found->front();
  if (last)
    return fail(Cause::bad_input, fmt::format("the history has no check of fleet {}", one_line(fleet, 64)),
                {}, "ringtrue history --fleet NAME lists those of another");
  return fail(Cause::bad_input,
              found->empty() ? fmt::format("there is no session '{}' in the history", name.substr(0, 64))
                             : fmt::format("several sessions begin with '{}'", name.substr(0, 64)),
              {}, "ringtrue history lists them");
}

Result<std::vector<Reading>> readings(const Store& store, std::int64_t session) {
  return all<Reading>(
      store,
      "SELECT u.type, u.node, u.peer, u.device, r.metric, r.value, r.n FROM reading r JOIN subject u ON u.id "
      "= r.subject "
      "WHERE r.session = ?1 ORDER BY r.subject, r.metric",
      [](const Statement& row) { return reading_at(row, 0); }, session);
}

Result<std::vector<Found>> findings(const Store& store, std::int64_t session) {
  return all<Found>(
      store,
      "SELECT u.type, u.node, u.peer, u.device, d.severity, d.kind, d.ratio, d.confidence FROM finding d "
      "JOIN subject u ON u.id = d.subject WHERE d.session = ?1 ORDER BY d.id",
      [](const Statement& row) {
        return Found{key_at(row, 0), row.text(4), row.text(5), row.maybe_real(6), row.real(7)};
      },
      session);
}

Result<std::vector<Fact>> facts(const Store& store, std::int64_t session) {
  const auto lines = all<std::string>(
      store, "SELECT a.lines FROM session s JOIN facts a ON a.id = s.facts WHERE s.id = ?1",
      [](const Statement& row) { return row.bytes(0); }, session);
  if (!lines) return tl::unexpected(lines.error());
  std::vector<Fact> out;
  if (lines->empty()) return out;
  std::string_view rest = lines->front();
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    Fact fact;
    std::string* const parts[] = {&fact.node, &fact.device, &fact.name, &fact.value};
    std::size_t part = 0;
    for (const char c : line) c == '\t' && part < 3 ? void(++part) : parts[part]->push_back(c);
    out.push_back(std::move(fact));
  }
  return out;
}

Result<std::string> document(const Store& store, std::int64_t session) {
  auto found = all<std::string>(
      store, "SELECT gz FROM document WHERE session = ?1", [](const Statement& row) { return row.bytes(0); },
      session);
  if (!found) return tl::unexpected(found.error());
  return found->empty() ? std::string() : std::move(found->front());
}

Result<std::vector<SubjectKey>> subjects(const Store& store, const std::string& fleet,
                                         const std::optional<std::string>& node) {
  return all<SubjectKey>(
      store,
      "SELECT u.type, u.node, u.peer, u.device FROM subject u JOIN fleet f ON f.id = u.fleet "
      "WHERE f.name = ?1 AND (?2 IS NULL OR u.node = ?2 OR u.peer = ?2) ORDER BY u.node, u.type, u.peer, "
      "u.device",
      [](const Statement& row) { return key_at(row, 0); }, fleet, node);
}

Result<std::vector<Point>> series(const Store& store, const SubjectKey& subject, Metric metric,
                                  const Which& which) {
  const std::string text = fmt::format(
      "SELECT * FROM (SELECT r.session, s.started_us, r.value, r.n, s.level, s.accepted FROM session s "
      "JOIN fleet f ON f.id = s.fleet CROSS JOIN reading r ON r.session = s.id AND r.subject = "
      "(SELECT id FROM subject u WHERE u.fleet = f.id AND u.node = ?7 AND u.type = ?8 AND u.peer = ?9 AND "
      "u.device = ?10) "
      "AND r.metric = ?11 WHERE {}ORDER BY s.started_us DESC, s.id DESC LIMIT ?6) ORDER BY 2, 1",
      session_chosen);
  return all<Point>(
      store, text,
      [](const Statement& row) {
        return Point{row.integer(0),      row.integer(1),    row.maybe_real(2),
                     int(row.integer(3)), row.maybe_real(4), row.integer(5) != 0};
      },
      any_fleet(which.fleet), which.since_us.value_or(-endless), which.until_us.value_or(endless),
      which.fingerprint, which.accepted, which.last.value_or(-1), subject.node, key_of(subject.type),
      subject.peer, subject.device, int(metric));
}

Result<std::vector<Day>> days(const Store& store, const std::string& fleet, const SubjectKey& subject,
                              Metric metric, std::optional<std::int64_t> since_us) {
  constexpr std::int64_t day_us = 86'400'000'000;
  const auto day = store.connection().number("SELECT coalesce(min(day), 0) FROM day");
  if (!day) return tl::unexpected(day.error());
  // A search a day: the table lies in the order of days.
  return all<Day>(
      store,
      "WITH RECURSIVE d(day) AS (SELECT ?1 UNION ALL SELECT day + 1 FROM d WHERE day < (SELECT max(day) FROM "
      "day)) "
      "SELECT v.day, v.n, v.least, v.median, v.most FROM d CROSS JOIN day v ON v.day = d.day AND v.metric = "
      "?6 AND "
      "v.subject = (SELECT u.id FROM subject u JOIN fleet f ON f.id = u.fleet WHERE f.name = ?7 AND u.node = "
      "?2 AND "
      "u.type = ?3 AND u.peer = ?4 AND u.device = ?5) ORDER BY v.day",
      [](const Statement& row) {
        return Day{row.integer(0), int(row.integer(1)), row.real(2), row.real(3), row.real(4)};
      },
      std::max(*day, since_us.value_or(0) / day_us), subject.node, key_of(subject.type), subject.peer,
      subject.device, int(metric), fleet);
}

Result<std::vector<SideReadings>> side_readings(const Store& store, const Which& which) {
  auto chosen = sessions(store, which);
  if (!chosen) return tl::unexpected(chosen.error());
  auto rows = store.connection().prepare(
      "SELECT u.type, u.node, u.peer, u.device, r.metric, r.value, r.n, r.subject FROM reading r JOIN "
      "subject u "
      "ON u.id = r.subject WHERE r.session = ?1 AND r.metric = ?2 AND u.type IN('sender','receiver')");
  if (!rows) return tl::unexpected(rows.error());
  std::vector<SideReadings> out;
  for (Session& session : *chosen) {
    rows->with(session.id, int(Metric::rate));
    out.push_back({std::move(session), {}});
    auto read =
        each_row(*rows, [&] { out.back().sides.emplace_back(rows->integer(7), reading_at(*rows, 0)); });
    if (!read) return tl::unexpected(read.error());
  }
  return out;
}

}  // namespace ringtrue::history
