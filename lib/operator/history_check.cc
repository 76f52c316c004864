// What a check has to do with those before it.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "formats/gzip.h"
#include "history/follow.h"
#include "history/read.h"
#include "history/time.h"
#include "operator/history.h"
#include "operator/history_record.h"

namespace ringtrue::ops {
namespace {

using history::Metric;
using history::Store;
using history::SubjectKey;
using history::SubjectType;

constexpr std::int64_t most_points = 1000;
// A check ends however long others write.
constexpr Seconds patience{2};

history::Record record_to_keep(const RecordRequest& request, const CheckDocument& document) {
  history::Record record = record_of(document, {request.place.fleet, request.version});
  if (request.fingerprint) record.session.fingerprint = *request.fingerprint;
  if (request.confirming && record.session.accepted) {
    record.session.accepted = false;
    record.session.why_not = "it measured only what was suspected";
  }
  return record;
}

// The side that a finding is about, as it was read before.
std::optional<SubjectKey> side_of(const diagnosis::Finding& f) {
  const std::string& node = f.scope.subject.node;
  switch (f.scope.type) {
    case diagnosis::ScopeType::sender:
    case diagnosis::ScopeType::node:
      return SubjectKey{SubjectType::sender, node, "", ""};
    case diagnosis::ScopeType::receiver:
      return SubjectKey{SubjectType::receiver, node, "", ""};
    case diagnosis::ScopeType::path:
      return SubjectKey{SubjectType::path, node, f.scope.peer_name, ""};
    default:
      return std::nullopt;
  }
}

void add_since(const history::Since& since, const std::vector<history::Point>& points,
               diagnosis::Finding& f) {
  if (since.low == 0) return;
  using diagnosis::StatementKind;
  if (since.last_good_us) {
    f.evidence.push_back({StatementKind::since_when,
                          {},
                          {{"usual_Bps", since.usual},
                           {"until", history::minute_text(*since.last_good_us) + " UTC"},
                           {"good", double(since.good)},
                           {"low", double(since.low)},
                           {"falls", since.falls > 2 ? std::optional(double(since.falls)) : std::nullopt}}});
  } else {
    f.evidence.push_back(
        {StatementKind::never_good,
         {},
         {{"low", double(since.low)}, {"since", history::day_text(points.front().started_us)}}});
  }
}

Result<void> tell_since(const Store& store, const history::Record& record, const history::Outlook& outlook,
                        diagnosis::Finding& finding) {
  using diagnosis::FindingKind;
  const auto side = finding.kind <= FindingKind::slow_nic ? side_of(finding) : std::nullopt;
  if (!side) return {};
  const auto now = std::find_if(
      record.readings.begin(), record.readings.end(),
      [&](const history::Reading& r) { return r.subject == *side && r.metric == Metric::rate && r.value; });
  if (now == record.readings.end()) return {};
  history::Which which;
  which.fleet = record.session.fleet;
  which.fingerprint = record.session.fingerprint;
  which.last = most_points;
  auto points = history::series(store, *side, Metric::rate, which);
  if (!points) return tl::unexpected(points.error());
  points->push_back({0, record.session.started_us, now->value, now->n, outlook.level, true});
  const auto baselines = history::baselines(store, record.session.fleet);
  if (!baselines) return tl::unexpected(baselines.error());
  std::optional<history::Norm> norm;
  for (const auto& b : *baselines)
    if (b.subject == *side && b.fingerprint == record.session.fingerprint) norm = {b.median, b.mad, b.n};
  if (const auto since = history::since_when(*points, norm)) add_since(*since, *points, finding);
  return {};
}

}  // namespace

std::optional<HistoryPlace> history_place(const config::Config& config,
                                          const std::optional<std::string>& file,
                                          const std::optional<std::string>& fleet) {
  HistoryPlace place{file.value_or(config.history.value), fleet.value_or(config.fleet.value)};
  if (place.file == "none") return std::nullopt;
  if (place.file.empty()) place.file = history::usual_file();
  if (place.file.empty()) return std::nullopt;
  return place;
}

Result<HistoryPlace> history_place_needed(const config::Config& config,
                                          const std::optional<std::string>& file,
                                          const std::optional<std::string>& fleet) {
  if (auto place = history_place(config, file, fleet)) return *place;
  return fail(Cause::bad_input, "it is not known where the history is", {},
              "name its file with --history FILE");
}

Result<void> recall(const RecordRequest& request, CheckDocument& document) {
  struct stat there {};
  if (stat(request.place.file.c_str(), &there) != 0 || there.st_size == 0) {
    document.remembered = Remembered{request.place, 0, std::nullopt, {}, {}, {}};
    return {};
  }
  const auto store = Store::open(request.place.file, {.busy = patience});
  if (!store) return tl::unexpected(store.error());
  const history::Record record = record_to_keep(request, document);
  auto outlook = history::foresee(*store, record, {request.confirming});
  if (!outlook) return tl::unexpected(outlook.error());
  Remembered out{request.place,  outlook->baselines, outlook->level, std::move(outlook->open), {},
                 outlook->better};
  for (const history::Change& change : outlook->changes)
    if (!change.now.open()) out.ended.push_back(change.now);
  for (diagnosis::Finding& finding : document.diagnosis.findings)
    if (auto told = tell_since(*store, record, *outlook, finding); !told) return told;
  document.remembered = std::move(out);
  return {};
}

Result<void> record(const RecordRequest& request, const CheckDocument& document, const std::string& json) {
  const auto store = Store::open(request.place.file, {.write = true, .busy = patience});
  if (!store) return tl::unexpected(store.error());
  if (!store->writable()) {
    const auto refused = store->for_writing();
    return refused;
  }
  history::Record record = record_to_keep(request, document);
  record.document = formats::gzip(json);
  const auto added = history::record_session(*store, std::move(record), {request.confirming});
  if (!added) return tl::unexpected(added.error());
  const std::int64_t now = wall_clock_us();
  const auto due = history::prune_is_due(*store, now);
  if (!due) return tl::unexpected(due.error());
  if (!*due) return {};
  const auto keep = history::keep_of(*store);
  if (!keep) return tl::unexpected(keep.error());
  const auto pruned = history::prune(*store, *keep, now);
  if (!pruned) return tl::unexpected(pruned.error());
  if (pruned->documents_for_size + pruned->sessions_for_size == 0) return {};
  return fail(
      Cause::unavailable,
      fmt::format(
          "the history {} reached its size of {}: {} documents and the readings of {} checks, the oldest, "
          "were dropped before their time",
          request.place.file, to_text(Bytes(keep->max_bytes)), pruned->documents_for_size,
          pruned->sessions_for_size),
      {}, "see ringtrue history prune --max-size");
}

Result<void> remember(const RecordRequest& request, CheckDocument& document,
                      const std::function<void()>& tell, const std::function<std::string()>& json) {
  const bool something = !document.diagnosis.sides.empty();
  Result<void> done;
  if (something) done = recall(request, document);
  tell();
  if (something && done) done = record(request, document, json());
  if (!done) done.error().what = "not recorded: " + done.error().what;
  return done;
}

Result<ConfirmPlan> plan_confirmation(const HistoryPlace& place, const std::vector<std::string>& asked,
                                      const std::vector<std::string>& known) {
  constexpr std::size_t partners = 3;
  const auto store = Store::open(place.file, {});
  if (!store) return tl::unexpected(store.error());
  const auto open = history::regressions(*store, place.fleet);
  if (!open) return tl::unexpected(open.error());
  std::set<std::string> suspected, wanted(asked.begin(), asked.end());
  std::optional<std::string> fingerprint;
  for (const auto& one : *open) {
    if (one.subject.node.empty()) continue;
    suspected.insert(one.subject.node);
    if (wanted.empty() || wanted.contains(one.subject.node)) fingerprint = one.fingerprint;
  }
  if (!fingerprint)
    return fail(Cause::bad_input,
                wanted.empty() ? std::string("no node is suspected")
                               : fmt::format("{} is not suspected", fmt::join(wanted, ", ")),
                {}, "ringtrue regressions lists what is; ringtrue check measures all nodes");
  if (wanted.empty()) wanted = suspected;
  ConfirmPlan plan{{}, *fingerprint};
  for (const std::string& node : known)
    if (wanted.erase(node) > 0) plan.nodes.push_back(node);
  if (!wanted.empty())
    return fail(Cause::bad_input, fmt::format("{} is none of the hosts", *wanted.begin()), {},
                "name it in --hosts");
  // Good ones, spread over the list.
  std::vector<std::string> good;
  for (const std::string& node : known)
    if (!suspected.contains(node) &&
        std::find(plan.nodes.begin(), plan.nodes.end(), node) == plan.nodes.end())
      good.push_back(node);
  if (good.size() < 2)
    return fail(Cause::bad_input, "two nodes and more that are not suspected are needed beside them", {},
                "use ringtrue check, which measures all nodes");
  const std::size_t many = std::min(good.size(), std::max(partners, plan.nodes.size()));
  for (std::size_t i = 0; i < many; ++i) plan.nodes.push_back(good[i * good.size() / many]);
  return plan;
}

}  // namespace ringtrue::ops
