#include "operator/metrics.h"

#include <sys/stat.h>

#include <algorithm>

#include "fleet/protocol.h"
#include "history/read.h"
#include "history/store.h"
#include "operator/history_record.h"

namespace ringtrue::ops {
namespace {

constexpr Seconds metrics_patience{2};

Maybe known_rate(const std::optional<BytesPerSecond>& rate) {
  return rate ? Maybe(rate->value) : std::nullopt;
}

void count_findings(const diagnosis::Diagnosis& d, MetricsDocument& out) {
  for (const char* severity : keys_of<diagnosis::Severity>) out.findings[severity] = 0;
  for (const diagnosis::Finding& f : d.findings) {
    ++out.findings[key_of(f.severity)];
    MetricsDocument::Info info{key_of(f.severity),   key_of(f.kind),    key_of(f.scope.type),
                               f.scope.subject.node, f.scope.peer_name, f.scope.subject.device};
    if (std::find(out.infos.begin(), out.infos.end(), info) != out.infos.end()) continue;
    if (out.infos.size() < most_finding_infos)
      out.infos.push_back(std::move(info));
    else
      ++out.infos_dropped;
  }
}

void count_nodes(const diagnosis::Diagnosis& d, MetricsDocument& out) {
  for (std::size_t i = 0; i < d.sides.size() && i < d.nodes.size(); ++i) {
    const diagnosis::SideRates& side = d.sides[i];
    out.measured += side.sends.has_value() || side.receives.has_value();
    out.sides.push_back({d.nodes[i], known_rate(side.sends), known_rate(side.receives), {}, {}});
  }
  for (const diagnosis::Finding& f : d.findings) out.silent += f.kind == diagnosis::FindingKind::dead_node;
  out.silent = std::min(out.silent, int(d.nodes.size()) - out.measured);
  out.excluded = int(d.nodes.size()) - out.measured - out.silent;
}

void add_path_rates(const diagnosis::Diagnosis& d, MetricsDocument& out) {
  if (d.nodes.size() > most_nodes_with_path_metrics) return;
  for (std::size_t x = 0; x < d.rates.size() && x < d.nodes.size(); ++x)
    for (std::size_t y = 0; y < d.rates[x].size() && y < d.nodes.size(); ++y)
      if (d.rates[x][y]) out.paths.push_back({d.nodes[x], d.nodes[y], d.rates[x][y]->value});
}

// Counts begin at 0, so that they are there before the first of a kind.
Result<void> count_sessions(const history::Store& store, const std::string& fleet, MetricsDocument& out) {
  history::Which which;
  which.fleet = fleet;
  const auto all = history::sessions(store, which);
  if (!all) return tl::unexpected(all.error());
  for (const char* verdict : keys_of<diagnosis::Verdict>) out.checks[verdict] = 0;
  for (const history::Session& s : *all) {
    if (!s.verdict) continue;
    ++out.checks[*s.verdict];
    if (*s.verdict != "unknown")
      out.last_verdict_us = std::max(out.last_verdict_us.value_or(s.started_us), s.started_us);
  }
  if (!all->empty()) out.history_oldest_us = all->front().started_us;
  return {};
}

Result<void> add_kept(const HistoryPlace& place, const CheckDocument* document, MetricsDocument& out) {
  struct stat there {};
  if (::stat(place.file.c_str(), &there) != 0) return {};
  const auto store = history::Store::open(place.file, {.busy = metrics_patience});
  if (!store) return tl::unexpected(store.error());
  out.history_bytes = there.st_size;
  if (auto done = count_sessions(*store, place.fleet, out); !done) return done;
  const auto open = history::regressions(*store, place.fleet);
  if (!open) return tl::unexpected(open.error());
  out.suspected = out.confirmed = 0;
  for (const history::Regression& one : *open) {
    *out.suspected += one.state == history::State::suspected;
    *out.confirmed += one.state == history::State::confirmed;
  }
  if (!document) return {};
  const std::string fingerprint = record_of(*document, {place.fleet, ""}).session.fingerprint;
  const auto baselines = history::baselines(*store, place.fleet);
  if (!baselines) return tl::unexpected(baselines.error());
  std::map<std::string, MetricsDocument::Side*> sides;
  for (MetricsDocument::Side& side : out.sides) sides[side.node] = &side;
  for (const history::Baseline& b : *baselines) {
    const auto side = sides.find(b.subject.node);
    if (side == sides.end() || b.metric != history::Metric::rate || b.fingerprint != fingerprint) continue;
    if (b.subject.type == history::SubjectType::sender) side->second->sends_baseline = b.median;
    if (b.subject.type == history::SubjectType::receiver) side->second->receives_baseline = b.median;
  }
  return {};
}

}  // namespace

std::uint32_t protocol() {
  return fleet::protocol_spoken();
}

MetricsDocument metrics_of(const MetricsRequest& request, const CheckDocument* document,
                           std::int64_t now_us) {
  MetricsDocument out;
  out.fleet = request.fleet;
  out.version = request.version;
  out.protocol = protocol();
  out.run_us = now_us;
  if (request.interval) out.interval_s = request.interval->value;
  if (document) {
    const diagnosis::Diagnosis& d = document->diagnosis;
    out.verdict = key_of(d.verdict);
    if (document->started_us > 0) out.run_us = document->started_us;
    out.seconds = d.cost.seconds.value;
    out.bytes = double(d.cost.bytes.value);
    out.runs = double(d.cost.runs);
    out.busbw = known_rate(d.ring_busbw);
    for (const diagnosis::RunRecord& run : d.runs)
      if (run.ideal) out.busbw_expected = run.ideal->value;
    out.expected = known_rate(d.expected.held_against());
    out.not_checked = int(d.not_checked.size());
    count_findings(d, out);
    count_nodes(d, out);
    if (request.paths) add_path_rates(d, out);
  }
  if (request.place) (void)add_kept(*request.place, document, out);
  // This one may not have been recorded.
  if (out.verdict != "unknown")
    out.last_verdict_us = std::max(out.last_verdict_us.value_or(out.run_us), out.run_us);
  return out;
}

}  // namespace ringtrue::ops
