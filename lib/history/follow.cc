#include "history/follow.h"

#include <algorithm>

#include "history/read.h"

namespace ringtrue::history {
namespace {

struct Pinned {
  Baseline baseline;
  std::int64_t subject = 0;
};

// What a fleet's sessions of one kind are held against.
struct Reference {
  Norms sides;
  std::optional<Norm> level;
  std::map<std::int64_t, Pinned> by_subject;
  std::map<std::int64_t, Regression> open;  // by baseline
};

constexpr SubjectType side_types[] = {SubjectType::sender, SubjectType::receiver};

bool is_side(const SubjectKey& subject) {
  return std::find(std::begin(side_types), std::end(side_types), subject.type) != std::end(side_types);
}

Result<std::map<SubjectKey, std::int64_t>> numbers_of(const Connection& connection,
                                                      const std::string& fleet) {
  auto rows = connection.prepare(
      "SELECT u.id, u.type, u.node, u.peer, u.device FROM subject u JOIN fleet f ON f.id = u.fleet WHERE "
      "f.name = ?1 "
      "AND u.type IN('fleet', 'sender', 'receiver')");
  if (!rows) return tl::unexpected(rows.error());
  rows->with(fleet);
  std::map<SubjectKey, std::int64_t> out;
  auto read = each_row(*rows, [&] {
    out[{parse_key<SubjectType>(rows->text(1)).value_or(SubjectType::fleet), rows->text(2), rows->text(3),
         rows->text(4)}] = rows->integer(0);
  });
  if (!read) return tl::unexpected(read.error());
  return out;
}

Result<Reference> reference_of(const Store& store, const Session& session,
                               const std::map<SubjectKey, std::int64_t>& numbers) {
  Reference out;
  auto all = baselines(store, session.fleet);
  if (!all) return tl::unexpected(all.error());
  for (Baseline& baseline : *all) {
    if (baseline.fingerprint != session.fingerprint) continue;
    const auto number = numbers.find(baseline.subject);
    if (number == numbers.end()) continue;
    const Norm norm{baseline.median, baseline.mad, baseline.n};
    if (is_side(baseline.subject) && baseline.metric == Metric::rate)
      out.sides[number->second] = norm;
    else if (baseline.metric == Metric::level)
      out.level = norm;
    else
      continue;
    out.by_subject[number->second] = {std::move(baseline), number->second};
  }
  auto open = regressions(store, session.fleet);
  if (!open) return tl::unexpected(open.error());
  for (Regression& one : *open) out.open[one.baseline] = std::move(one);
  return out;
}

Values values_of(const Record& record, const std::map<SubjectKey, std::int64_t>& numbers) {
  Values out;
  for (const Reading& reading : record.readings)
    if (reading.value && reading.metric == Metric::rate && is_side(reading.subject))
      if (const auto number = numbers.find(reading.subject); number != numbers.end())
        out[number->second] = {*reading.value, reading.n};
  return out;
}

// One regression after one more session.
void follow(const Pinned& pinned, Reads reads, double ratio, const Record& record, const Look& look,
            const std::string& note, Reference& reference, Outlook& out) {
  const auto open = reference.open.find(pinned.baseline.id);
  std::optional<Track> before;
  if (open != reference.open.end())
    before = Track{open->second.state, open->second.low, open->second.good, open->second.first_us,
                   open->second.ratio};
  Look at = look;
  at.ratio = ratio;
  const auto track = advance(before, reads, at);
  if (!track) return;
  Regression now;
  if (before) {
    now = open->second;
  } else {
    now.baseline = pinned.baseline.id;
    now.subject = pinned.baseline.subject;
    now.metric = pinned.baseline.metric;
    now.fleet = record.session.fleet;
    now.fingerprint = record.session.fingerprint;
    now.first_session = record.session.id;
    now.first_us = look.at_us;
  }
  now.state = track->state;
  now.low = track->low;
  now.good = track->good;
  if (reads == Reads::low) now.ratio = ratio;
  if (!note.empty()) now.note = note;
  if (now.state == State::confirmed && !now.confirmed_session) {
    now.confirmed_session = record.session.id;
    now.confirmed_us = look.at_us;
  }
  if (!now.open()) {
    now.ended_session = record.session.id;
    now.ended_us = look.at_us;
  }
  if (!before || before->state != now.state)
    out.changes.push_back({now, before ? std::optional(before->state) : std::nullopt});
  reference.open[pinned.baseline.id] = std::move(now);
}

Result<Outlook> outlook_of(const Record& record, const Following& how, Reference& reference,
                           const std::map<SubjectKey, std::int64_t>& numbers) {
  Outlook out;
  const Judged judged = judge(values_of(record, numbers), reference.sides, reference.level);
  out.baselines = int(judged.sides.size());
  out.level = judged.level;
  out.together = judged.together;
  out.low = judged.low;
  // Those who are measured because they are suspected say nothing of the fleet.
  const bool together = judged.together && !how.confirming;
  Look look{record.session.started_us, 1, how.confirming, false, false};
  if (record.session.accepted || record.judged || how.confirming) {
    for (const SideReads& side : judged.sides) {
      const Pinned& pinned = reference.by_subject[side.side];
      if (side.high) out.better.push_back(pinned.baseline.subject);
      look.together = together && !side.apart;
      follow(pinned, side.reads, side.ratio, record, look, "", reference, out);
    }
    for (const auto& [number, pinned] : reference.by_subject)
      if (pinned.baseline.metric == Metric::level && !how.confirming)
        follow(pinned, judged.fleet, judged.fleet_ratio, record, {look.at_us, 1, false, true},
               judged.together ? std::to_string(judged.low) + " of " + std::to_string(judged.sides.size()) +
                                     " sides moved together"
                               : "",
               reference, out);
  }
  for (auto& [baseline, one] : reference.open)
    if (one.open()) out.open.push_back(one);
  std::sort(out.open.begin(), out.open.end(),
            [](const Regression& a, const Regression& b) { return a.subject < b.subject; });
  return out;
}

Result<void> put(const Connection& connection, const Regression& one) {
  if (one.id == 0) {
    auto insert = connection.prepare(
        "INSERT INTO regression(baseline, state, first_session, confirmed_session, ended_session, ratio, "
        "low, good, note) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
    if (!insert) return tl::unexpected(insert.error());
    return insert
        ->with(one.baseline, key_of(one.state), one.first_session, one.confirmed_session, one.ended_session,
               one.ratio, one.low, one.good, one.note)
        .run();
  }
  auto update = connection.prepare(
      "UPDATE regression SET state = ?2, confirmed_session = ?3, ended_session = ?4, ratio = ?5, low = ?6, "
      "good = ?7, "
      "note = ?8 WHERE id = ?1");
  if (!update) return tl::unexpected(update.error());
  return update
      ->with(one.id, key_of(one.state), one.confirmed_session, one.ended_session, one.ratio, one.low,
             one.good, one.note)
      .run();
}

}  // namespace

Result<Outlook> foresee(const Store& store, const Record& record, const Following& how) {
  const auto numbers = numbers_of(store.connection(), record.session.fleet);
  if (!numbers) return tl::unexpected(numbers.error());
  auto reference = reference_of(store, record.session, *numbers);
  if (!reference) return tl::unexpected(reference.error());
  return outlook_of(record, how, *reference, *numbers);
}

Result<std::optional<Added>> record_session(const Store& store, Record record, const Following& how) {
  if (auto may = store.for_writing(); !may) return tl::unexpected(may.error());
  const Connection& connection = store.connection();
  auto whole = Transaction::begin(connection);
  if (!whole) return tl::unexpected(whole.error());
  const auto id = add_record(connection, record);
  if (!id) return tl::unexpected(id.error());
  if (!*id) return std::optional<Added>();
  record.session.id = **id;
  if (record.imported) {
    const auto later = sessions(
        store, {.fleet = record.session.fleet, .since_us = record.session.started_us + 1, .last = 1});
    if (!later) return tl::unexpected(later.error());
    if (!later->empty()) {
      if (auto done = whole->commit(); !done) return tl::unexpected(done.error());
      return std::optional(Added{**id, {}});
    }
  }
  const auto numbers = numbers_of(connection, record.session.fleet);
  if (!numbers) return tl::unexpected(numbers.error());
  auto reference = reference_of(store, record.session, *numbers);
  if (!reference) return tl::unexpected(reference.error());
  const auto stood = reference->open;
  auto outlook = outlook_of(record, how, *reference, *numbers);
  if (!outlook) return tl::unexpected(outlook.error());
  for (const auto& [baseline, one] : reference->open) {
    const auto before = stood.find(baseline);
    const bool same = before != stood.end() && before->second.state == one.state &&
                      before->second.low == one.low && before->second.good == one.good;
    if (same) continue;
    if (auto done = put(connection, one); !done) return tl::unexpected(done.error());
  }
  if (outlook->level) {
    auto level = connection.prepare("UPDATE session SET level = ?2 WHERE id = ?1");
    if (!level) return tl::unexpected(level.error());
    if (auto done = level->with(**id, *outlook->level).run(); !done) return tl::unexpected(done.error());
  }
  if (auto done = whole->commit(); !done) return tl::unexpected(done.error());
  return std::optional(Added{**id, std::move(*outlook)});
}

}  // namespace ringtrue::history
