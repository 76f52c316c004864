#include <sys/random.h>

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/splitmix64.h"
#include "history/store.h"

namespace ringtrue::history {
namespace {

std::string draw_uuid() {
  unsigned char bytes[16] = {};
  if (getrandom(bytes, sizeof bytes, 0) != ssize_t(sizeof bytes)) {
    SplitMix64 draw{std::uint64_t(wall_clock_us())};
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(draw());
  }
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);  // of random numbers (RFC 4122)
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += {digits[bytes[i] >> 4], digits[bytes[i] & 15]};
  }
  return out;
}

// Names that others gave: without what separates them.
std::string plain(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
  return text;
}

// The facts of most sessions are those of the one before: they are stored once.
Result<std::optional<std::int64_t>> facts_id(const Connection& connection, std::vector<Fact> facts) {
  if (facts.empty()) return std::optional<std::int64_t>();
  std::sort(facts.begin(), facts.end());
  std::string lines;
  for (const Fact& fact : facts)
    lines += plain(fact.node) + '\t' + plain(fact.device) + '\t' + plain(fact.name) + '\t' +
             plain(fact.value) + '\n';
  std::uint64_t hash = lines.size();
  for (const char c : lines) hash = splitmix64(hash ^ static_cast<unsigned char>(c));
  auto find = connection.prepare("SELECT id FROM facts WHERE hash=?1 AND lines=?2");
  if (!find) return tl::unexpected(find.error());
  const auto known = find->with(std::int64_t(hash), Blob{lines}).row();
  if (!known) return tl::unexpected(known.error());
  if (*known) return std::optional(find->integer(0));
  auto insert = connection.prepare("INSERT INTO facts(hash, lines) VALUES(?1, ?2)");
  if (!insert) return tl::unexpected(insert.error());
  if (auto done = insert->with(std::int64_t(hash), Blob{lines}).run(); !done)
    return tl::unexpected(done.error());
  return std::optional(connection.last_row());
}

// Numbers of a fleet's subjects; what is new gets one.
class Subjects {
 public:
  static Result<Subjects> of(const Connection& connection, std::int64_t fleet) {
    auto find = connection.prepare(
        "SELECT id FROM subject WHERE fleet=?1 AND type=?2 AND node=?3 AND peer=?4 AND device=?5");
    if (!find) return tl::unexpected(find.error());
    auto insert =
        connection.prepare("INSERT INTO subject(fleet, type, node, peer, device) VALUES(?1, ?2, ?3, ?4, ?5)");
    if (!insert) return tl::unexpected(insert.error());
    return Subjects(connection, fleet, std::move(*find), std::move(*insert));
  }

  Result<std::int64_t> id(const SubjectKey& key) {
    const auto found = find_.with(fleet_, key_of(key.type), key.node, key.peer, key.device).row();
    if (!found) return tl::unexpected(found.error());
    if (*found) return find_.integer(0);
    if (auto done = insert_.with(fleet_, key_of(key.type), key.node, key.peer, key.device).run(); !done)
      return tl::unexpected(done.error());
    return connection_->last_row();
  }

 private:
  Subjects(const Connection& connection, std::int64_t fleet, Statement find, Statement insert)
      : connection_(&connection), fleet_(fleet), find_(std::move(find)), insert_(std::move(insert)) {}
  const Connection* connection_;
  std::int64_t fleet_;
  Statement find_, insert_;
};

Result<void> add_readings(const Connection& connection, std::int64_t session, Subjects& subjects,
                          const std::vector<Reading>& readings) {
  // In the order in which they lie in the file.
  std::map<std::pair<std::int64_t, int>, const Reading*> sorted;
  for (const Reading& reading : readings) {
    const auto subject = subjects.id(reading.subject);
    if (!subject) return tl::unexpected(subject.error());
    sorted.emplace(std::pair(*subject, int(reading.metric)), &reading);
  }
  auto insert = connection.prepare(
      "INSERT INTO reading(session, subject, metric, value, n) VALUES(?1, ?2, ?3, ?4, ?5)");
  if (!insert) return tl::unexpected(insert.error());
  for (const auto& [key, reading] : sorted)
    if (auto done = insert->with(session, key.first, key.second, reading->value, reading->n).run(); !done)
      return done;
  return {};
}

Result<void> add_findings(const Connection& connection, std::int64_t session, Subjects& subjects,
                          const std::vector<Found>& findings) {
  auto insert = connection.prepare(
      "INSERT INTO finding(session, subject, severity, kind, ratio, confidence) VALUES(?1, ?2, ?3, ?4, ?5, "
      "?6)");
  if (!insert) return tl::unexpected(insert.error());
  for (const Found& found : findings) {
    const auto subject = subjects.id(found.subject);
    if (!subject) return tl::unexpected(subject.error());
    auto done =
        insert->with(session, *subject, found.severity, found.kind, found.ratio, found.confidence).run();
    if (!done) return done;
  }
  return {};
}

}  // namespace

Result<std::int64_t> fleet_id(const Connection& connection, const std::string& name) {
  auto find = connection.prepare("SELECT id FROM fleet WHERE name=?1");
  if (!find) return tl::unexpected(find.error());
  const auto found = find->with(name).row();
  if (!found) return tl::unexpected(found.error());
  if (*found) return find->integer(0);
  auto insert = connection.prepare("INSERT INTO fleet(name) VALUES(?1)");
  if (!insert) return tl::unexpected(insert.error());
  if (auto done = insert->with(name).run(); !done) return tl::unexpected(done.error());
  return connection.last_row();
}

Result<std::int64_t> subject_id(const Connection& connection, std::int64_t fleet, const SubjectKey& subject) {
  auto subjects = Subjects::of(connection, fleet);
  if (!subjects) return tl::unexpected(subjects.error());
  return subjects->id(subject);
}

Result<std::optional<std::int64_t>> add_record(const Connection& connection, const Record& record) {
  const Session& s = record.session;
  const std::string uuid = s.uuid.empty() ? draw_uuid() : s.uuid;
  auto known = connection.prepare("SELECT 1 FROM session WHERE uuid=?1");
  if (!known) return tl::unexpected(known.error());
  const auto there = known->with(uuid).row();
  if (!there) return tl::unexpected(there.error());
  if (*there) return std::optional<std::int64_t>();
  const auto fleet = fleet_id(connection, s.fleet);
  if (!fleet) return tl::unexpected(fleet.error());
  const auto facts = facts_id(connection, record.facts);
  if (!facts) return tl::unexpected(facts.error());
  auto last = connection.prepare("SELECT started_us FROM session WHERE fleet=?1 ORDER BY id DESC LIMIT 1");
  if (!last) return tl::unexpected(last.error());
  const auto any = last->with(*fleet).row();
  if (!any) return tl::unexpected(any.error());
  const bool back = !record.imported && *any && last->integer(0) > s.started_us;
  auto insert = connection.prepare(
      "INSERT INTO session(uuid, fleet, kind, started_us, ended_us, verdict, version, fingerprint, nodes, "
      "runs, bytes, "
      "seconds, expected, level, accepted, why_not, clock_went_back, facts) "
      "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)");
  if (!insert) return tl::unexpected(insert.error());
  auto done = insert
                  ->with(uuid, *fleet, key_of(s.kind), s.started_us, std::max(s.started_us, s.ended_us),
                         s.verdict, s.version, s.fingerprint, s.nodes, s.runs, s.bytes, s.seconds, s.expected,
                         s.level, s.accepted, s.why_not, back, *facts)
                  .run();
  if (!done) return tl::unexpected(done.error());
  const std::int64_t id = connection.last_row();
  auto subjects = Subjects::of(connection, *fleet);
  if (!subjects) return tl::unexpected(subjects.error());
  if (done = add_readings(connection, id, *subjects, record.readings); !done)
    return tl::unexpected(done.error());
  if (done = add_findings(connection, id, *subjects, record.findings); !done)
    return tl::unexpected(done.error());
  if (!record.document.empty()) {
    auto document = connection.prepare("INSERT INTO document(session, gz) VALUES(?1, ?2)");
    if (!document) return tl::unexpected(document.error());
    if (done = document->with(id, Blob{record.document}).run(); !done) return tl::unexpected(done.error());
  }
  return std::optional(id);
}

Result<std::optional<std::int64_t>> Store::add(const Record& record) {
  if (auto may = for_writing(); !may) return tl::unexpected(may.error());
  auto whole = Transaction::begin(*connection_);
  if (!whole) return tl::unexpected(whole.error());
  auto id = add_record(*connection_, record);
  if (!id) return id;
  if (auto done = whole->commit(); !done) return tl::unexpected(done.error());
  return id;
}

}  // namespace ringtrue::history
