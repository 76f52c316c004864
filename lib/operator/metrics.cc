#include "operator/metrics.h"

#include <fmt/format.h>
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

void no_findings(MetricsDocument& out) {
  for (const char* severity : keys_of<diagnosis::Severity>) out.findings[severity] = 0;
}

void count_finding(MetricsDocument::Info info, MetricsDocument& out) {
  ++out.findings[info.severity];
  if (std::find(out.infos.begin(), out.infos.end(), info) != out.infos.end()) return;
  if (out.infos.size() < most_finding_infos)
    out.infos.push_back(std::move(info));
  else
    ++out.infos_dropped;
}

void count_findings(const diagnosis::Diagnosis& d, MetricsDocument& out) {
  no_findings(out);
  for (const diagnosis::Finding& f : d.findings)
    count_finding({key_of(f.severity), key_of(f.kind), key_of(f.scope.type), f.scope.subject.node,
                   f.scope.peer_name, f.scope.subject.device},
                  out);
}

void count_nodes(const diagnosis::Diagnosis& d, MetricsDocument& out) {
  int measured = 0, silent = 0;
  for (std::size_t i = 0; i < d.sides.size() && i < d.nodes.size(); ++i) {
    const diagnosis::SideRates& side = d.sides[i];
    measured += side.sends.has_value() || side.receives.has_value();
    out.sides.push_back({d.nodes[i], known_rate(side.sends), known_rate(side.receives), {}, {}});
  }
  for (const diagnosis::Finding& f : d.findings) silent += f.kind == diagnosis::FindingKind::dead_node;
  out.measured = measured;
  out.silent = std::min(silent, int(d.nodes.size()) - measured);
  out.excluded = int(d.nodes.size()) - measured - *out.silent;
}

// Where nobody told the port, there is nothing to name it by.
void add_rail_rates(const diagnosis::Diagnosis& d, MetricsDocument& out) {
  for (std::size_t i = 0; i < d.sides.size() && i < d.nodes.size(); ++i) {
    const auto ports = d.rails.find(d.nodes[i]);
    if (ports == d.rails.end()) continue;
    const auto& rails = d.sides[i].rails;
    for (std::size_t k = 0; k < rails.size() && k < ports->second.size(); ++k)
      out.rails.push_back({d.nodes[i], port_name(ports->second[k]), known_rate(rails[k].sends),
                           known_rate(rails[k].receives)});
  }
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

// Beside the sides, their baselines, as far as those were set for checks of that fingerprint.
Result<void> add_kept(const history::Store& store, const HistoryPlace& place,
                      const std::optional<std::string>& fingerprint, MetricsDocument& out) {
  struct stat there {};
  if (::stat(place.file.c_str(), &there) == 0) out.history_bytes = there.st_size;
  if (auto done = count_sessions(store, place.fleet, out); !done) return done;
  const auto open = history::regressions(store, place.fleet);
  if (!open) return tl::unexpected(open.error());
  out.suspected = out.confirmed = 0;
  for (const history::Regression& one : *open) {
    *out.suspected += one.state == history::State::suspected;
    *out.confirmed += one.state == history::State::confirmed;
  }
  if (!fingerprint) return {};
  const auto baselines = history::baselines(store, place.fleet);
  if (!baselines) return tl::unexpected(baselines.error());
  std::map<std::string, MetricsDocument::Side*> sides;
  for (MetricsDocument::Side& side : out.sides) sides[side.node] = &side;
  for (const history::Baseline& b : *baselines) {
    const auto side = sides.find(b.subject.node);
    if (side == sides.end() || b.metric != history::Metric::rate || b.fingerprint != *fingerprint) continue;
    if (b.subject.type == history::SubjectType::sender) side->second->sends_baseline = b.median;
    if (b.subject.type == history::SubjectType::receiver) side->second->receives_baseline = b.median;
  }
  return {};
}

Result<void> add_kept(const HistoryPlace& place, const CheckDocument* document, MetricsDocument& out) {
  struct stat there {};
  if (::stat(place.file.c_str(), &there) != 0) return {};
  const auto store = history::Store::open(place.file, {.busy = metrics_patience});
  if (!store) return tl::unexpected(store.error());
  std::optional<std::string> fingerprint;
  if (document) fingerprint = record_of(*document, {place.fleet, ""}).session.fingerprint;
  return add_kept(*store, place, fingerprint, out);
}

void add_readings(const std::vector<history::Reading>& readings, bool paths, MetricsDocument& out) {
  std::map<std::string, MetricsDocument::Side> sides;
  for (const history::Reading& r : readings) {
    using history::SubjectType;
    const std::string& node = r.subject.node;
    if (r.metric == history::Metric::busbw) out.busbw = r.value;
    if (r.metric != history::Metric::rate) continue;
    if (r.subject.type == SubjectType::sender) sides[node].sends = r.value;
    if (r.subject.type == SubjectType::receiver) sides[node].receives = r.value;
    if (r.subject.type == SubjectType::path && paths && r.value)
      out.paths.push_back({node, r.subject.peer, *r.value});
  }
  for (auto& [node, side] : sides) {
    side.node = node;
    out.sides.push_back(side);
  }
}

}  // namespace

Result<MetricsDocument> metrics_recorded(const MetricsRequest& request) {
  const HistoryPlace& place = *request.place;
  const auto store = history::Store::open(place.file, {.busy = metrics_patience});
  if (!store) return tl::unexpected(store.error());
  history::Which which;
  which.fleet = place.fleet;
  const auto all = history::sessions(*store, which);
  if (!all) return tl::unexpected(all.error());
  const auto last = std::find_if(all->rbegin(), all->rend(), [](const history::Session& s) {
    return s.kind == history::Kind::check && s.verdict;
  });
  if (last == all->rend())
    return fail(Cause::bad_input,
                fmt::format("no check of the fleet {} is recorded in {}", place.fleet, place.file), {},
                "name its fleet with --fleet, or record one: ringtrue check --record");
  const auto readings = history::readings(*store, last->id);
  if (!readings) return tl::unexpected(readings.error());
  const auto findings = history::findings(*store, last->id);
  if (!findings) return tl::unexpected(findings.error());
  MetricsDocument out;
  out.fleet = request.fleet;
  out.version = request.version;
  out.protocol = protocol();
  out.verdict = *last->verdict;
  out.run_us = last->started_us;
  out.seconds = last->seconds;
  out.bytes = double(last->bytes);
  out.runs = double(last->runs);
  out.expected = last->expected;
  add_readings(*readings, request.paths && std::size_t(last->nodes) <= most_nodes_with_path_metrics, out);
  no_findings(out);
  for (const history::Found& f : *findings)
    count_finding(
        {f.severity, f.kind, key_of(f.subject.type), f.subject.node, f.subject.peer, f.subject.device}, out);
  if (auto done = add_kept(*store, place, last->fingerprint, out); !done) return tl::unexpected(done.error());
  return out;
}

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
    if (request.rails) add_rail_rates(d, out);
    if (request.paths) add_path_rates(d, out);
  }
  if (request.place) (void)add_kept(*request.place, document, out);
  // This one may not have been recorded.
  if (out.verdict != "unknown")
    out.last_verdict_us = std::max(out.last_verdict_us.value_or(out.run_us), out.run_us);
  return out;
}

}  // namespace ringtrue::ops
