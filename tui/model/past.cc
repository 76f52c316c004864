#include "tui/model/past.h"

#include <algorithm>

#include "formats/gzip.h"
#include "history/read.h"
#include "history/store.h"
#include "tui/model/document.h"

namespace ringtrue::tui {
namespace {

constexpr std::int64_t sessions_at_most = 200;

double seconds(std::int64_t us) {
  return double(us) * 1e-6;
}

Level level_of_word(const std::string& word) {
  return word == "healthy"                         ? Level::good
         : word == "degraded" || word == "warning" ? Level::warning
         : word == "faulty" || word == "critical"  ? Level::critical
         : word == "info"                          ? Level::info
                                                   : Level::unknown;
}

// Of a session whose document is kept no more: what its sides read, and what was found.
Result<std::shared_ptr<const Moment>> moment_of(const history::Store& store,
                                                const history::Session& session) {
  auto out = std::make_shared<Moment>();
  out->verdict = session.verdict.value_or("unknown");
  out->level = level_of_word(out->verdict);
  out->expected = session.expected;
  out->runs = int(session.runs);
  out->bytes = double(session.bytes);
  out->seconds = session.seconds;
  const auto readings = history::readings(store, session.id);
  if (!readings) return tl::unexpected(readings.error());
  for (const history::Reading& r : *readings) {
    const bool sends = r.subject.type == history::SubjectType::sender;
    if (r.metric != history::Metric::rate || (!sends && r.subject.type != history::SubjectType::receiver))
      continue;
    if (std::find(out->nodes.begin(), out->nodes.end(), r.subject.node) == out->nodes.end())
      out->nodes.push_back(r.subject.node);
    Sides& sides = out->sides[r.subject.node];
    (sends ? sides.send : sides.receive) = r.value;
  }
  const auto findings = history::findings(store, session.id);
  if (!findings) return tl::unexpected(findings.error());
  for (const history::Found& f : *findings) {
    FindingRow row;
    row.level = level_of_word(f.severity);
    row.kind = f.kind;
    row.where = f.subject.text();
    row.node = f.subject.node;
    row.ratio = f.ratio;
    row.confidence = f.confidence;
    out->findings.push_back(std::move(row));
  }
  out->text =
      out->findings.empty() ? "nothing was found" : out->findings[0].kind + ": " + out->findings[0].where;
  out->when = seconds(session.started_us);
  return out;
}

}  // namespace

Result<Past> read_past(const std::string& file) {
  const auto store = history::Store::open(file.empty() ? history::usual_file() : file, {});
  if (!store) return tl::unexpected(store.error());
  history::Which which;
  which.last = sessions_at_most;
  const auto sessions = history::sessions(*store, which);
  if (!sessions) return tl::unexpected(sessions.error());
  Past past;
  if (sessions->empty()) return past;
  const std::string fleet = sessions->back().fleet;
  for (const history::Session& session : *sessions) {
    if (session.fleet != fleet || session.kind != history::Kind::check) continue;
    if (const auto packed = history::document(*store, session.id); packed && !packed->empty())
      if (const auto text = formats::gunzip(*packed))
        if (auto read = read_document(*text, seconds(session.started_us), file); read && read->moment) {
          past.moments.push_back(read->moment);
          continue;
        }
    auto moment = moment_of(*store, session);
    if (!moment) return tl::unexpected(moment.error());
    past.moments.push_back(std::move(*moment));
  }
  const auto events = history::events(*store, fleet);
  if (!events) return tl::unexpected(events.error());
  for (const history::Event& e : *events) {
    std::string text = key_of(e.kind);
    if (e.subject) text += " of " + e.subject->text();
    if (!e.text.empty()) text += ": " + e.text;
    past.marks.push_back({seconds(e.at_us), std::move(text),
                          e.kind == history::EventKind::repair ? Level::good : Level::info});
  }
  return past;
}

}  // namespace ringtrue::tui
