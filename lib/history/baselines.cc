#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "history/follow.h"
#include "history/read.h"

namespace ringtrue::history {
namespace {

bool among(const std::vector<std::string>& nodes, const std::string& node) {
  return nodes.empty() || std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

// What a side reads while something is known to be wrong with it is not what is usual.
bool was_faulty(const SubjectKey& side, const std::vector<Found>& findings) {
  return std::any_of(findings.begin(), findings.end(), [&](const Found& f) {
    return f.severity != "info" && f.subject.node == side.node &&
           (f.subject.type == side.type || f.subject.type == SubjectType::node);
  });
}

// What was open against it says nothing any more.
Result<void> retire(const Connection& connection, std::int64_t baseline, std::int64_t now_us) {
  auto withdraw = connection.prepare(
      "UPDATE regression SET state = 'withdrawn', ended_session = (SELECT max(id) FROM session), "
      "note = trim(note || ' the baseline was retired') WHERE baseline = ?1 AND "
      "state IN('suspected','confirmed','acknowledged')");
  if (!withdraw) return tl::unexpected(withdraw.error());
  if (auto done = withdraw->with(baseline).run(); !done) return done;
  auto retired = connection.prepare("UPDATE baseline SET retired_us = ?2 WHERE id = ?1");
  if (!retired) return tl::unexpected(retired.error());
  return retired->with(baseline, now_us).run();
}

Result<void> insert(const Connection& connection, std::int64_t subject, Baseline& b) {
  auto put = connection.prepare(
      "INSERT INTO baseline(subject, metric, fingerprint, median, mad, n, first_session, last_session, "
      "set_us, set_by, "
      "reason) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
  if (!put) return tl::unexpected(put.error());
  auto done = put->with(subject, int(b.metric), b.fingerprint, b.median, b.mad, b.n, b.first_session,
                        b.last_session, b.set_us, b.set_by, b.reason)
                  .run();
  if (done) b.id = connection.last_row();
  return done;
}

}  // namespace

Result<std::vector<SetBaseline>> set_baselines(const Store& store, const SetRequest& request,
                                               std::int64_t now_us) {
  if (auto may = store.for_writing(); !may) return tl::unexpected(may.error());
  const Connection& connection = store.connection();
  auto whole = Transaction::begin(connection);
  if (!whole) return tl::unexpected(whole.error());
  Which which{request.fleet, request.since_us, std::nullopt, request.fingerprint, true, 1};
  if (!which.fingerprint) {
    const auto latest = sessions(store, which);
    if (!latest) return tl::unexpected(latest.error());
    if (latest->empty())
      return fail(Cause::bad_input,
                  fmt::format("there is no accepted check of fleet {} to set baselines by", request.fleet),
                  {}, "ringtrue history lists what there is");
    which.fingerprint = latest->front().fingerprint;
  }
  which.last = request.sessions;
  const auto read = side_readings(store, which);
  if (!read) return tl::unexpected(read.error());
  std::vector<Values> values;
  std::map<std::int64_t, SubjectKey> keys;
  for (const SideReadings& one : *read) {
    values.emplace_back();
    const auto found = findings(store, one.session.id);
    if (!found) return tl::unexpected(found.error());
    for (const auto& [subject, reading] : one.sides) {
      keys[subject] = reading.subject;
      if (reading.value && !was_faulty(reading.subject, *found))
        values.back()[subject] = {*reading.value, reading.n};
    }
  }
  const auto standing = baselines(store, request.fleet);
  if (!standing) return tl::unexpected(standing.error());
  std::map<SubjectKey, Baseline> stands;
  for (const Baseline& b : *standing)
    if (b.fingerprint == *which.fingerprint && b.metric != Metric::busbw) stands[b.subject] = b;
  // Of some nodes only: the others' baselines tell the fleet's level.
  Norms pinned;
  std::set<std::string> wanted(request.nodes.begin(), request.nodes.end());
  for (const auto& [subject, key] : keys) {
    wanted.erase(key.node);
    const auto stood = stands.find(key);
    if (!among(request.nodes, key.node) && stood != stands.end())
      pinned[subject] = {stood->second.median, stood->second.mad, stood->second.n};
  }
  if (!wanted.empty())
    return fail(Cause::bad_input, fmt::format("no accepted check has read anything of {}", *wanted.begin()),
                *wanted.begin(), "see ringtrue history for the nodes that there are");
  const NewNorms norms = norms_of(values, pinned);
  std::vector<SetBaseline> out;
  const auto set = [&](std::int64_t subject, const SubjectKey& key, Metric metric, const Norm* norm,
                       const Refused& refused) -> Result<void> {
    SetBaseline& one = out.emplace_back(SetBaseline{key, std::nullopt, refused, std::nullopt});
    const auto stood = stands.find(key);
    if (stood != stands.end()) one.before = stood->second.median;
    if (!norm) return {};  // what stands, stays
    if (stood != stands.end())
      if (auto done = retire(connection, stood->second.id, now_us); !done) return done;
    Baseline b;
    b.subject = key;
    b.metric = metric;
    b.fingerprint = *which.fingerprint;
    b.median = norm->median;
    b.mad = norm->mad;
    b.n = norm->n;
    b.first_session = read->front().session.id;
    b.last_session = read->back().session.id;
    b.set_us = now_us;
    b.set_by = request.who;
    b.reason = request.reason;
    auto done = insert(connection, subject, b);
    one.baseline = std::move(b);
    return done;
  };
  for (const auto& [subject, key] : keys) {
    if (!among(request.nodes, key.node)) continue;
    const auto norm = norms.sides.find(subject);
    const auto refused = norms.refused.find(subject);
    auto done = set(subject, key, Metric::rate, norm == norms.sides.end() ? nullptr : &norm->second,
                    refused == norms.refused.end() ? Refused() : refused->second);
    if (!done) return tl::unexpected(done.error());
  }
  if (request.nodes.empty() && !keys.empty()) {
    const auto fleet = fleet_id(connection, request.fleet);
    if (!fleet) return tl::unexpected(fleet.error());
    const auto subject = subject_id(connection, *fleet, {});
    if (!subject) return tl::unexpected(subject.error());
    auto done = set(*subject, {}, Metric::level, norms.level ? &*norms.level : nullptr,
                    norms.level_refused.value_or(Refused()));
    if (!done) return tl::unexpected(done.error());
  }
  if (auto done = whole->commit(); !done) return tl::unexpected(done.error());
  return out;
}

Result<int> retire_baselines(const Store& store, const std::string& fleet,
                             const std::vector<std::string>& nodes, std::int64_t now_us) {
  if (auto may = store.for_writing(); !may) return tl::unexpected(may.error());
  auto whole = Transaction::begin(store.connection());
  if (!whole) return tl::unexpected(whole.error());
  const auto standing = baselines(store, fleet);
  if (!standing) return tl::unexpected(standing.error());
  int retired = 0;
  for (const Baseline& b : *standing) {
    if (!among(nodes, b.subject.node)) continue;
    if (auto done = retire(store.connection(), b.id, now_us); !done) return tl::unexpected(done.error());
    ++retired;
  }
  if (auto done = whole->commit(); !done) return tl::unexpected(done.error());
  return retired;
}

Result<int> add_event(const Store& store, const Event& event) {
  if (auto may = store.for_writing(); !may) return tl::unexpected(may.error());
  const Connection& connection = store.connection();
  auto whole = Transaction::begin(connection);
  if (!whole) return tl::unexpected(whole.error());
  const auto fleet = fleet_id(connection, event.fleet);
  if (!fleet) return tl::unexpected(fleet.error());
  std::optional<std::int64_t> subject;
  if (event.subject) {
    const auto number = subject_id(connection, *fleet, *event.subject);
    if (!number) return tl::unexpected(number.error());
    subject = *number;
  }
  auto insert = connection.prepare(
      "INSERT INTO event(fleet, subject, at_us, kind, who, text) VALUES(?1, ?2, ?3, ?4, ?5, ?6)");
  if (!insert) return tl::unexpected(insert.error());
  auto done = insert->with(*fleet, subject, event.at_us, key_of(event.kind), event.who, event.text).run();
  if (!done) return tl::unexpected(done.error());
  int concerned = 0;
  const bool repair = event.kind == EventKind::repair, acknowledge = event.kind == EventKind::acknowledge;
  if ((repair || acknowledge) && event.subject) {
    const auto open = regressions(store, event.fleet);
    if (!open) return tl::unexpected(open.error());
    auto update =
        connection.prepare(repair ? "UPDATE regression SET state = 'recovered', note = ?2, ended_session = "
                                    "(SELECT max(id) FROM session) "
                                    "WHERE id = ?1"
                                  : "UPDATE regression SET state = 'acknowledged', note = ?2 WHERE id = ?1");
    if (!update) return tl::unexpected(update.error());
    for (const Regression& one : *open) {
      if (one.subject.node != event.subject->node) continue;
      if (done = update->with(one.id, event.text).run(); !done) return tl::unexpected(done.error());
      ++concerned;
    }
  }
  if (done = whole->commit(); !done) return tl::unexpected(done.error());
  return concerned;
}

}  // namespace ringtrue::history
