#include "history/read.h"
#include "history/rows.h"

namespace ringtrue::history {

Result<std::vector<Baseline>> baselines(const Store& store, const std::string& fleet, bool retired) {
  return all<Baseline>(
      store,
      "SELECT b.id, u.type, u.node, u.peer, u.device, b.metric, b.fingerprint, b.median, b.mad, b.n, "
      "b.first_session, "
      "b.last_session, b.set_us, b.set_by, b.reason, b.retired_us FROM baseline b JOIN subject u ON u.id = "
      "b.subject "
      "JOIN fleet f ON f.id = u.fleet WHERE (?1 IS NULL OR f.name = ?1) AND (?2 OR b.retired_us IS NULL) "
      "ORDER BY b.id",
      [](const Statement& row) {
        Baseline b;
        b.id = row.integer(0);
        b.subject = key_at(row, 1);
        b.metric = metric_of(row.integer(5));
        b.fingerprint = row.text(6);
        b.median = row.real(7);
        b.mad = row.real(8);
        b.n = int(row.integer(9));
        b.first_session = row.integer(10);
        b.last_session = row.integer(11);
        b.set_us = row.integer(12);
        b.set_by = row.text(13);
        b.reason = row.text(14);
        b.retired_us = row.maybe_integer(15);
        return b;
      },
      any_fleet(fleet), retired);
}

Result<std::vector<Regression>> regressions(const Store& store, const std::string& fleet, bool open) {
  return all<Regression>(
      store,
      "SELECT g.id, g.baseline, u.type, u.node, u.peer, u.device, b.metric, f.name, b.fingerprint, g.state, "
      "g.first_session, a.started_us, g.confirmed_session, c.started_us, g.ended_session, e.started_us, "
      "g.ratio, g.low, "
      "g.good, g.note FROM regression g JOIN baseline b ON b.id = g.baseline JOIN subject u ON u.id = "
      "b.subject "
      "JOIN fleet f ON f.id = u.fleet LEFT JOIN session a ON a.id = g.first_session LEFT JOIN session c "
      "ON c.id = g.confirmed_session LEFT JOIN session e ON e.id = g.ended_session "
      "WHERE (?1 IS NULL OR f.name = ?1) AND (NOT ?2 OR g.state IN('suspected','confirmed','acknowledged')) "
      "ORDER BY g.id",
      [](const Statement& row) {
        Regression g;
        g.id = row.integer(0);
        g.baseline = row.integer(1);
        g.subject = key_at(row, 2);
        g.metric = metric_of(row.integer(6));
        g.fleet = row.text(7);
        g.fingerprint = row.text(8);
        g.state = parse_key<State>(row.text(9)).value_or(State::suspected);
        g.first_session = row.integer(10);
        g.first_us = row.integer(11);
        g.confirmed_session = row.maybe_integer(12);
        g.confirmed_us = row.maybe_integer(13);
        g.ended_session = row.maybe_integer(14);
        g.ended_us = row.maybe_integer(15);
        g.ratio = row.real(16);
        g.low = int(row.integer(17));
        g.good = int(row.integer(18));
        g.note = row.text(19);
        return g;
      },
      any_fleet(fleet), open);
}

Result<std::vector<Event>> events(const Store& store, const std::string& fleet,
                                  std::optional<std::int64_t> since_us) {
  return all<Event>(
      store,
      "SELECT e.id, f.name, e.at_us, e.kind, e.who, e.text, u.type, u.node, u.peer, u.device FROM event e "
      "JOIN fleet f ON f.id = e.fleet LEFT JOIN subject u ON u.id = e.subject "
      "WHERE (?1 IS NULL OR f.name = ?1) AND e.at_us >= ?2 ORDER BY e.id",
      [](const Statement& row) {
        Event e;
        e.id = row.integer(0);
        e.fleet = row.text(1);
        e.at_us = row.integer(2);
        e.kind = parse_key<EventKind>(row.text(3)).value_or(EventKind::note);
        e.who = row.text(4);
        e.text = row.text(5);
        if (!row.null(6)) e.subject = key_at(row, 6);
        return e;
      },
      any_fleet(fleet), since_us.value_or(-endless));
}

}  // namespace ringtrue::history
