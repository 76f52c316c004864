#include <tuple>

#include "history/rule.h"
#include "history/time.h"
#include "report/json/json.h"
#include "report/json/value.h"

namespace ringtrue::report {
namespace {

Json subject_value(const history::SubjectKey& s) {
  return {{"type", key_of(s.type)},
          {"node", text_or_null(s.node)},
          {"peer", text_or_null(s.peer)},
          {"device", text_or_null(s.device)}};
}

Json maybe_time(const std::optional<std::int64_t>& us) {
  return us ? Json(history::rfc3339(*us)) : Json(nullptr);
}

Json session_value(const history::Session& s) {
  return {{"id", s.id},
          {"uuid", s.uuid},
          {"kind", key_of(s.kind)},
          {"started", history::rfc3339(s.started_us)},
          {"verdict", maybe(s.verdict)},
          {"version", s.version},
          {"fingerprint", s.fingerprint},
          {"nodes", s.nodes},
          {"runs", s.runs},
          {"bytes", s.bytes},
          {"seconds", s.seconds},
          {"expected_Bps", maybe(s.expected)},
          {"level", maybe(s.level)},
          {"accepted", s.accepted},
          {"why_not", text_or_null(s.why_not)},
          {"clock_went_back", s.clock_went_back}};
}

Json found_value(const history::Found& f) {
  return {{"subject", subject_value(f.subject)},
          {"severity", f.severity},
          {"kind", f.kind},
          {"ratio", maybe(f.ratio)},
          {"confidence", f.confidence}};
}

Json fact_value(const history::Fact& f) {
  return {{"node", f.node},
          {"device", text_or_null(f.device)},
          {"name", f.name},
          {"value", text_or_null(f.value)}};
}

Json baseline_value(const history::Baseline& b) {
  return {{"subject", subject_value(b.subject)},
          {"metric", key_of(b.metric)},
          {"fingerprint", b.fingerprint},
          {"median", b.median},
          {"deviation", b.mad},
          {"threshold", history::Norm{b.median, b.mad, b.n}.threshold()},
          {"sessions", b.n},
          {"set", history::rfc3339(b.set_us)},
          {"set_by", b.set_by},
          {"reason", text_or_null(b.reason)},
          {"retired", maybe_time(b.retired_us)}};
}

Json noted_value(const history::Event& e) {
  return {{"time", history::rfc3339(e.at_us)},
          {"kind", key_of(e.kind)},
          {"node", e.subject ? text_or_null(e.subject->node) : Json(nullptr)},
          {"who", e.who},
          {"text", e.text}};
}

Json since_value(const history::Since& s) {
  return {{"usual_Bps", s.usual},
          {"last_good", maybe_time(s.last_good_us)},
          {"first_low", maybe_time(s.first_low_us)},
          {"good", s.good},
          {"low", s.low},
          {"falls", s.falls}};
}

Json series_value(const ops::HistorySeries& s) {
  return {{"subject", subject_value(s.subject)},
          {"metric", key_of(s.metric)},
          {"points", array(s.points,
                           [](const history::Point& p) {
                             return Json{
                                 {"session", p.session},    {"started", history::rfc3339(p.started_us)},
                                 {"value", maybe(p.value)}, {"n", p.n},
                                 {"level", maybe(p.level)}, {"accepted", p.accepted}};
                           })},
          {"days", array(s.days,
                         [](const history::Day& d) {
                           return Json{{"day", history::day_text(d.day * 86'400'000'000)},
                                       {"n", d.n},
                                       {"least", d.least},
                                       {"median", d.median},
                                       {"most", d.most}};
                         })},
          {"baseline", s.baseline ? baseline_value(*s.baseline) : Json(nullptr)},
          {"since", s.since ? since_value(*s.since) : Json(nullptr)}};
}

Json head(const char* schema, const ops::HistoryPlace& place) {
  return {{"schema", schema}, {"file", place.file}, {"fleet", place.fleet}};
}

Json with(Json out, std::initializer_list<std::pair<const char*, Json>> more) {
  for (const auto& [key, value] : more) out[key] = value;
  return out;
}

}  // namespace

Json regression_value(const history::Regression& r) {
  return {{"subject", subject_value(r.subject)},
          {"metric", key_of(r.metric)},
          {"state", key_of(r.state)},
          {"ratio", r.ratio},
          {"first", history::rfc3339(r.first_us)},
          {"confirmed", maybe_time(r.confirmed_us)},
          {"ended", maybe_time(r.ended_us)},
          {"low", r.low},
          {"good", r.good},
          {"note", text_or_null(r.note)}};
}

Json remembered_value(const std::optional<ops::Remembered>& r) {
  if (!r) return nullptr;
  return {{"file", r->place.file},
          {"fleet", r->place.fleet},
          {"baselines", r->baselines},
          {"level", maybe(r->level)},
          {"regressions", array(r->regressions, regression_value)},
          {"ended", array(r->ended, regression_value)},
          {"better", array(r->better, subject_value)}};
}

std::string json(const ops::HistoryDocument& d) {
  return dump(
      with(head("ringtrue.history/1", d.place), {{"node", maybe(d.node)},
                                                 {"remark", text_or_null(d.remark)},
                                                 {"since", history::rfc3339(d.since_us)},
                                                 {"sessions", array(d.sessions, session_value)},
                                                 {"series", array(d.series, series_value)},
                                                 {"regressions", array(d.regressions, regression_value)},
                                                 {"events", array(d.events, noted_value)}}));
}

std::string json(const ops::SessionDocument& d) {
  const auto reading = [](const history::Reading& r) -> Json {
    return {{"subject", subject_value(r.subject)},
            {"metric", key_of(r.metric)},
            {"value", maybe(r.value)},
            {"n", r.n}};
  };
  return dump(
      with(head("ringtrue.history-session/1", d.place),
           {{"session", session_value(d.session)},
            {"readings", array(d.readings, reading)},
            {"findings", array(d.findings, found_value)},
            {"facts", array(d.facts, fact_value)},
            {"document", d.document.empty() ? Json(nullptr) : Json::parse(d.document, nullptr, false)}}));
}

std::string json(const ops::CompareDocument& d) {
  const auto rate = [](const ops::CompareDocument::Rate& r) -> Json {
    return {{"subject", subject_value(r.subject)},
            {"metric", key_of(r.metric)},
            {"before", maybe(r.before)},
            {"after", maybe(r.after)}};
  };
  const auto change = [](const ops::CompareDocument::Change& c) -> Json {
    return {{"node", c.fact.node},
            {"device", text_or_null(c.fact.device)},
            {"name", c.fact.name},
            {"before", text_or_null(c.before)},
            {"after", text_or_null(c.fact.value)}};
  };
  return dump(with(head("ringtrue.history-compare/1", d.place), {{"before", session_value(d.before)},
                                                                 {"after", session_value(d.after)},
                                                                 {"same_fingerprint", d.same_fingerprint},
                                                                 {"level", d.level},
                                                                 {"rates", array(d.rates, rate)},
                                                                 {"alike", d.alike},
                                                                 {"facts", array(d.facts, change)},
                                                                 {"gone", array(d.gone, found_value)},
                                                                 {"come", array(d.come, found_value)}}));
}

std::string json(const ops::ImportDocument& d) {
  const auto row = [](const ops::ImportDocument::Row& r) -> Json {
    return {{"file", r.file},
            {"session", maybe(r.session)},
            {"known", r.known},
            {"cause", text_or_null(r.detail)}};
  };
  return dump(with(head("ringtrue.history-import/1", d.place), {{"files", array(d.rows, row)}}));
}

std::string json(const ops::PruneDocument& d) {
  const history::Pruned& p = d.pruned;
  return dump(with(head("ringtrue.history-prune/1", d.place), {{"keep",
                                                                {{"readings_days", d.keep.readings_days},
                                                                 {"documents_days", d.keep.documents_days},
                                                                 {"max_bytes", d.keep.max_bytes}}},
                                                               {"documents", p.documents},
                                                               {"sessions", p.sessions},
                                                               {"readings", p.readings},
                                                               {"days", p.days},
                                                               {"documents_for_size", p.documents_for_size},
                                                               {"sessions_for_size", p.sessions_for_size},
                                                               {"too_large", p.too_large},
                                                               {"bytes_before", p.bytes_before},
                                                               {"bytes_after", p.bytes_after}}));
}

std::string json(const ops::VerifyDocument& d) {
  return dump(with(head("ringtrue.history-verify/1", d.place),
                   {{"remark", text_or_null(d.remark)}, {"sessions", d.sessions}, {"wrong", d.wrong}}));
}

std::string json(const ops::NoteDocument& d) {
  return dump(with(head("ringtrue.history-note/1", d.place),
                   {{"event", noted_value(d.event)}, {"regressions", d.concerned}}));
}

std::string json(const ops::BaselineDocument& d) {
  const auto set = [](const history::SetBaseline& one) -> Json {
    return {{"subject", subject_value(one.subject)},
            {"baseline", one.baseline ? baseline_value(*one.baseline) : Json(nullptr)},
            {"before", maybe(one.before)},
            {"sessions", one.baseline ? one.baseline->n : one.refused.n},
            {"scatter", one.refused.scatter > 0 ? Json(one.refused.scatter) : Json(nullptr)}};
  };
  return dump(with(head("ringtrue.baseline/1", d.place), {{"baselines", array(d.baselines, baseline_value)},
                                                          {"set", array(d.set, set)},
                                                          {"retired", maybe(d.retired)}}));
}

std::string json(const ops::RegressionsDocument& d) {
  return dump(
      with(head("ringtrue.regressions/1", d.place),
           {{"remark", text_or_null(d.remark)}, {"regressions", array(d.regressions, regression_value)}}));
}

}  // namespace ringtrue::report
