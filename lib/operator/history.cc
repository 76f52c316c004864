#include "operator/history.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/clock.h"
#include "base/file.h"
#include "base/statistics.h"
#include "base/text.h"
#include "formats/gzip.h"
#include "history/follow.h"
#include "history/read.h"
#include "operator/history_record.h"

namespace ringtrue::ops {
namespace {

using history::Metric;
using history::Store;
using history::SubjectKey;
using history::SubjectType;

Result<Store> open_read(const HistoryPlace& place) {
  return Store::open(place.file, {});
}

// `make`: where there is none; what changes or drops something makes no empty file.
Result<Store> open_write(const HistoryPlace& place, bool make = false) {
  struct stat there {};
  if (!make && stat(place.file.c_str(), &there) != 0) return open_read(place);
  auto store = Store::open(place.file, {.write = true});
  if (store)
    if (auto may = store->for_writing(); !may) return tl::unexpected(may.error());
  return store;
}

// An empty file knows none, and nothing is wrong with that.
Result<void> know_fleet(const Store& store, const HistoryPlace& place) {
  const auto fleets = history::fleets(store);
  if (!fleets) return tl::unexpected(fleets.error());
  if (fleets->empty() || std::find(fleets->begin(), fleets->end(), place.fleet) != fleets->end()) return {};
  return fail(Cause::bad_input, fmt::format("the history {} knows no fleet {}", place.file, place.fleet), {},
              fmt::format("it has {}", fmt::join(*fleets, ", ")));
}

Result<void> know_node(const Store& store, const HistoryPlace& place, const std::string& node) {
  const auto known = history::subjects(store, place.fleet, node);
  if (!known) return tl::unexpected(known.error());
  if (!known->empty()) return {};
  return fail(Cause::bad_input, fmt::format("the history {} knows no node {}", place.file, node), node,
              "ringtrue history show last lists those of the latest check");
}

Result<Store> with_fleet(Result<Store> store, const HistoryPlace& place) {
  if (store)
    if (auto known = know_fleet(*store, place); !known) return tl::unexpected(known.error());
  return store;
}

std::string who_asks() {
  const passwd* const entry = getpwuid(geteuid());
  return entry && entry->pw_name ? entry->pw_name : fmt::format("user {}", geteuid());
}

history::Which of(const HistoryPlace& place) {
  history::Which which;
  which.fleet = place.fleet;
  return which;
}

// What the latest check that tells of the fleet's state was like.
Result<std::optional<std::string>> usual_fingerprint(const Store& store, const HistoryPlace& place) {
  history::Which which = of(place);
  which.accepted = true;
  which.last = 1;
  const auto latest = history::sessions(store, which);
  if (!latest) return tl::unexpected(latest.error());
  return latest->empty() ? std::nullopt : std::optional(latest->front().fingerprint);
}

}  // namespace

Result<HistoryDocument> history(const HistoryRequest& request) {
  const auto store = with_fleet(open_read(request.place), request.place);
  if (!store) return tl::unexpected(store.error());
  HistoryDocument out;
  out.place = request.place;
  out.remark = store->remark();
  out.node = request.node;
  out.now_us = wall_clock_us();
  out.since_us = out.now_us - request.span_us;
  history::Which which = of(request.place);
  which.since_us = out.since_us;
  std::vector<SubjectKey> subjects = {{}};
  if (request.node) {
    if (auto known = know_node(*store, request.place, *request.node); !known)
      return tl::unexpected(known.error());
    subjects = {{SubjectType::sender, *request.node, "", ""}, {SubjectType::receiver, *request.node, "", ""}};
  } else {
    auto all = history::sessions(*store, which);
    if (!all) return tl::unexpected(all.error());
    out.sessions = std::move(*all);
  }
  const auto usual = usual_fingerprint(*store, request.place);
  if (!usual) return tl::unexpected(usual.error());
  which.fingerprint = *usual;
  const auto baselines = history::baselines(*store, request.place.fleet);
  auto open = history::regressions(*store, request.place.fleet, false);
  auto events = history::events(*store, request.place.fleet, out.since_us);
  if (!baselines || !open || !events)
    return tl::unexpected(!baselines ? baselines.error() : !open ? open.error() : events.error());
  for (const SubjectKey& subject : subjects) {
    HistorySeries series;
    series.subject = subject;
    series.metric = request.node ? Metric::rate : Metric::busbw;
    auto points = history::series(*store, subject, series.metric, which);
    auto days = history::days(*store, request.place.fleet, subject, series.metric);
    if (!points || !days) return tl::unexpected(!points ? points.error() : days.error());
    series.points = std::move(*points);
    series.days = std::move(*days);
    for (const auto& b : *baselines)
      if (b.subject == subject && b.metric == series.metric && (!*usual || b.fingerprint == **usual))
        series.baseline = b;
    std::optional<history::Norm> norm;
    if (series.baseline)
      norm = history::Norm{series.baseline->median, series.baseline->mad, series.baseline->n};
    if (auto since = history::since_when(series.points, norm); since && since->low > 0) series.since = since;
    out.series.push_back(std::move(series));
  }
  const auto concerns = [&](const std::string& node) { return !request.node || node == *request.node; };
  for (auto& one : *open)
    if (concerns(one.subject.node) && (one.open() || one.ended_us.value_or(0) >= out.since_us))
      out.regressions.push_back(std::move(one));
  for (auto& event : *events)
    if (!event.subject || concerns(event.subject->node)) out.events.push_back(std::move(event));
  return out;
}

Result<SessionDocument> history_show(const HistoryPlace& place, const std::string& name) {
  const auto store = open_read(place);
  if (!store) return tl::unexpected(store.error());
  SessionDocument out;
  out.place = place;
  auto session = history::session(*store, name, place.fleet);
  if (!session) return tl::unexpected(session.error());
  out.session = std::move(*session);
  auto readings = history::readings(*store, out.session.id);
  auto findings = history::findings(*store, out.session.id);
  auto facts = history::facts(*store, out.session.id);
  auto packed = history::document(*store, out.session.id);
  if (!readings) return tl::unexpected(readings.error());
  if (!findings) return tl::unexpected(findings.error());
  if (!facts) return tl::unexpected(facts.error());
  if (!packed) return tl::unexpected(packed.error());
  out.readings = std::move(*readings);
  out.findings = std::move(*findings);
  out.facts = std::move(*facts);
  if (!packed->empty()) {
    auto document = formats::gunzip(*packed);
    if (!document) return tl::unexpected(document.error());
    out.document = std::move(*document);
  }
  return out;
}

Result<CompareDocument> history_compare(const HistoryPlace& place, const std::string& before,
                                        const std::string& after) {
  constexpr double alike = 0.02;
  auto a = history_show(place, before);
  if (!a) return tl::unexpected(a.error());
  auto b = history_show(place, after);
  if (!b) return tl::unexpected(b.error());
  CompareDocument out;
  out.place = place;
  out.before = a->session;
  out.after = b->session;
  out.same_fingerprint = a->session.fingerprint == b->session.fingerprint;
  std::map<std::pair<SubjectKey, Metric>, std::pair<Maybe, Maybe>> rates;
  for (const auto& r : a->readings) rates[{r.subject, r.metric}].first = r.value;
  for (const auto& r : b->readings) rates[{r.subject, r.metric}].second = r.value;
  std::vector<double> ratios;
  const auto is_side = [](const SubjectKey& s) {
    return s.type == SubjectType::sender || s.type == SubjectType::receiver;
  };
  for (const auto& [key, values] : rates)
    if (is_side(key.first) && values.first && values.second && *values.first > 0)
      ratios.push_back(*values.second / *values.first);
  if (!ratios.empty()) out.level = median(ratios);
  for (const auto& [key, values] : rates) {
    if (!values.first && !values.second) continue;
    const bool both = values.first && values.second && *values.first > 0;
    if (both && std::abs(*values.second / *values.first / out.level - 1) < alike)
      ++out.alike;
    else
      out.rates.push_back({key.first, key.second, values.first, values.second});
  }
  const auto change = [](const CompareDocument::Rate& r) {
    return r.before && r.after && *r.before > 0 ? *r.after / *r.before : 0;
  };
  std::stable_sort(out.rates.begin(), out.rates.end(),
                   [&](const auto& x, const auto& y) { return change(x) < change(y); });
  using Name = std::tuple<std::string, std::string, std::string>;
  std::map<Name, std::pair<std::string, std::string>> facts;
  for (const auto& f : a->facts) facts[{f.node, f.device, f.name}].first = f.value;
  for (const auto& f : b->facts) facts[{f.node, f.device, f.name}].second = f.value;
  // Where one of them was not inspected, nothing changed.
  if (!a->facts.empty() && !b->facts.empty())
    for (const auto& [name, values] : facts)
      if (values.first != values.second)
        out.facts.push_back(
            {{std::get<0>(name), std::get<1>(name), std::get<2>(name), values.second}, values.first});
  const auto among = [](const history::Found& one, const std::vector<history::Found>& list) {
    return std::any_of(list.begin(), list.end(), [&](const history::Found& other) {
      return other.subject == one.subject && other.kind == one.kind;
    });
  };
  for (const auto& f : a->findings)
    if (!among(f, b->findings)) out.gone.push_back(f);
  for (const auto& f : b->findings)
    if (!among(f, a->findings)) out.come.push_back(f);
  return out;
}

Result<ImportDocument> history_import(const HistoryPlace& place, const std::vector<std::string>& files,
                                      const std::string& version) {
  constexpr std::size_t max_file = 64u << 20;
  auto store = open_write(place, true);
  if (!store) return tl::unexpected(store.error());
  // The older first: numbers rise with time.
  struct Read {
    std::size_t row;
    history::Record record;
  };
  ImportDocument out;
  out.place = place;
  std::vector<Read> read;
  for (const std::string& file : files) {
    out.rows.push_back({file, std::nullopt, "", false});
    ImportDocument::Row& row = out.rows.back();
    auto text = read_file(file, max_file);
    if (!text) {
      row.detail = text.error().what;
      continue;
    }
    if (formats::is_gzip(*text)) {
      auto unpacked = formats::gunzip(*text);
      if (!unpacked) {
        row.detail = unpacked.error().what;
        continue;
      }
      *text = std::move(*unpacked);
    }
    struct stat there {};
    const bool timed = stat(file.c_str(), &there) == 0;
    const std::int64_t then = timed ? std::int64_t(there.st_mtim.tv_sec) * 1'000'000 : wall_clock_us();
    auto record = record_of_json(*text, {place.fleet, version}, then);
    if (!record) {
      row.detail = record.error().what;
      continue;
    }
    record->document = formats::gzip(*text);
    record->imported = true;
    read.push_back({out.rows.size() - 1, std::move(*record)});
  }
  std::stable_sort(read.begin(), read.end(), [](const Read& a, const Read& b) {
    return a.record.session.started_us < b.record.session.started_us;
  });
  for (Read& one : read) {
    auto added = history::record_session(*store, std::move(one.record), {});
    if (!added) return tl::unexpected(added.error());
    out.rows[one.row].known = !*added;
    if (*added) out.rows[one.row].session = (*added)->session;
  }
  return out;
}

Result<PruneDocument> history_prune(const HistoryPlace& place, const KeepRequest& request) {
  const auto store = open_write(place);
  if (!store) return tl::unexpected(store.error());
  auto keep = history::keep_of(*store);
  if (!keep) return tl::unexpected(keep.error());
  constexpr double day_us = 86'400e6;
  if (request.readings_us) keep->readings_days = double(*request.readings_us) / day_us;
  if (request.documents_us) keep->documents_days = double(*request.documents_us) / day_us;
  if (request.max_size) keep->max_bytes = request.max_size->value;
  if (auto set = history::set_keep(*store, *keep); !set) return tl::unexpected(set.error());
  auto pruned = history::prune(*store, *keep, wall_clock_us());
  if (!pruned) return tl::unexpected(pruned.error());
  return PruneDocument{place, *keep, *pruned};
}

Result<VerifyDocument> history_verify(const HistoryPlace& place) {
  const auto store = open_read(place);
  if (!store) return tl::unexpected(store.error());
  auto wrong = history::verify(*store);
  if (!wrong) return tl::unexpected(wrong.error());
  const auto all = history::sessions(*store, {});
  if (!all) return tl::unexpected(all.error());
  return VerifyDocument{place, store->remark(), std::int64_t(all->size()), std::move(*wrong)};
}

Result<NoteDocument> history_note(const HistoryPlace& place, const std::optional<std::string>& node,
                                  history::EventKind kind, const std::string& text) {
  constexpr std::size_t longest = 4096;
  if (text.size() > longest)
    return fail(Cause::bad_input, fmt::format("a note of {} bytes", text.size()), {},
                fmt::format("give at most {}, or where more is to be read", longest));
  const auto store = with_fleet(open_write(place), place);
  if (!store) return tl::unexpected(store.error());
  if (node)
    if (auto known = know_node(*store, place, *node); !known) return tl::unexpected(known.error());
  NoteDocument out;
  out.place = place;
  out.event.fleet = place.fleet;
  if (node) out.event.subject = SubjectKey{SubjectType::node, *node, "", ""};
  out.event.at_us = wall_clock_us();
  out.event.kind = kind;
  out.event.who = who_asks();
  out.event.text = visible(text);
  const auto concerned = history::add_event(*store, out.event);
  if (!concerned) return tl::unexpected(concerned.error());
  out.concerned = *concerned;
  return out;
}

Result<BaselineDocument> baseline_list(const HistoryPlace& place, bool retired) {
  const auto store = with_fleet(open_read(place), place);
  if (!store) return tl::unexpected(store.error());
  auto all = history::baselines(*store, place.fleet, retired);
  if (!all) return tl::unexpected(all.error());
  return BaselineDocument{place, std::move(*all), {}, std::nullopt};
}

Result<BaselineDocument> baseline_set(const BaselineRequest& request) {
  const auto store = open_write(request.place);
  if (!store) return tl::unexpected(store.error());
  const std::int64_t now = wall_clock_us();
  history::SetRequest set;
  set.fleet = request.place.fleet;
  set.nodes = request.nodes;
  set.sessions = request.sessions;
  if (request.span_us) set.since_us = now - *request.span_us;
  set.who = who_asks();
  set.reason = request.reason;
  auto done = history::set_baselines(*store, set, now);
  if (!done) return tl::unexpected(done.error());
  return BaselineDocument{request.place, {}, std::move(*done), std::nullopt};
}

Result<BaselineDocument> baseline_retire(const BaselineRequest& request) {
  const auto store = with_fleet(open_write(request.place), request.place);
  if (!store) return tl::unexpected(store.error());
  for (const std::string& node : request.nodes)
    if (auto known = know_node(*store, request.place, node); !known) return tl::unexpected(known.error());
  const auto retired = history::retire_baselines(*store, request.place.fleet, request.nodes, wall_clock_us());
  if (!retired) return tl::unexpected(retired.error());
  return BaselineDocument{request.place, {}, {}, *retired};
}

Result<RegressionsDocument> regressions(const HistoryPlace& place,
                                        const std::vector<history::State>& states) {
  const auto store = with_fleet(open_read(place), place);
  if (!store) return tl::unexpected(store.error());
  auto all = history::regressions(*store, place.fleet, states.empty());
  if (!all) return tl::unexpected(all.error());
  RegressionsDocument out{place, store->remark(), {}};
  for (auto& one : *all)
    if (states.empty() || std::find(states.begin(), states.end(), one.state) != states.end())
      out.regressions.push_back(std::move(one));
  return out;
}

int exit_code(const RegressionsDocument& document) {
  int code = 0;
  for (const auto& one : document.regressions)
    code = std::max(code, one.state == history::State::confirmed   ? 2
                          : one.state == history::State::suspected ? 1
                                                                   : 0);
  return code;
}

}  // namespace ringtrue::ops
