#include "diagnosis/findings/trunk_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "diagnosis/findings/combine.h"
#include "diagnosis/findings/confidence.h"
#include "diagnosis/infer/inference.h"

namespace ringtrue::diagnosis {
namespace {

constexpr std::size_t told_pairs = 4;
constexpr std::size_t told_names = 3;

std::string name_of(const topology::Routes& routes, const SlowTrunks& slow) {
  const auto& trunks = routes.trunks();
  const topology::Trunk& first = trunks[std::size_t(slow.trunks[0])];
  if (slow.at >= 0) {
    bool out = false, in = false;
    for (const int t : slow.trunks) (trunks[std::size_t(t)].from == slow.at ? out : in) = true;
    const char* const which = out && in ? "" : out ? "all trunks out of " : "all trunks into ";
    return fmt::format("{}{}", which, routes.name(slow.at));
  }
  if (slow.cable) return routes.cable(first);
  std::string out = routes.text(first);
  for (std::size_t i = 1; i < slow.trunks.size() && i < told_names; ++i)
    out += fmt::format(" or {}", routes.text(trunks[std::size_t(slow.trunks[i])]));
  if (slow.trunks.size() > told_names) out += fmt::format(" or {} more", slow.trunks.size() - told_names);
  return out;
}

Finding finding_of(const MeasuredTrunks& m, const SlowTrunks& slow, const Thresholds& thresholds,
                   const Diagnosis& d) {
  const std::string device = name_of(m.crossings.routes().all(), slow);
  Finding f;
  f.scope.type = slow.at >= 0 ? ScopeType::fabric_switch : ScopeType::trunk;
  f.kind = slow.at >= 0 ? FindingKind::slow_switch
           : slow.cable ? FindingKind::slow_cable
                        : FindingKind::slow_trunk;
  f.scope.subject.device = device;
  f.measured = BytesPerSecond(slow.best);
  f.expected = BytesPerSecond(m.reference);
  f.ratio = slow.best / m.reference;
  f.severity = *f.ratio < thresholds.critical ? Severity::critical : Severity::warning;
  f.confidence = confidence(f.scope.type, *f.ratio);
  if (slow.at < 0 && !slow.cable && slow.trunks.size() > 1) f.confidence *= with_alternative;
  f.evidence = {{StatementKind::over_trunk,
                 {},
                 {{"pairs", slow.pairs.size()},
                  {"rate_Bps", slow.best},
                  {"readings", slow.rates.size()},
                  {"experiments", slow.runs},
                  {"expected_Bps", m.reference}},
                 device},
                StatementKind::rest_of_way_is_fine};
  if (slow.at >= 0)
    f.evidence.push_back({StatementKind::trunks_of_switch, {}, {{"trunks", slow.trunks.size()}}});
  if (slow.at < 0 && !slow.cable && slow.trunks.size() > 1)
    f.evidence.push_back(StatementKind::no_hop_tells_apart);
  for (std::size_t i = 0; i < std::min(slow.pairs.size(), told_pairs); ++i)
    f.evidence.push_back(
        {StatementKind::one_pair,
         {d.nodes[std::size_t(slow.pairs[i].first)], d.nodes[std::size_t(slow.pairs[i].second)]}});
  f.impact = {StatementKind::across_leaves, {}, {{"rate_Bps", slow.best}}};
  f.next = {StatementKind::look_at_part, {}, {}, device};
  return f;
}

}  // namespace

void add_trunks(const MeasuredTrunks& m, const Thresholds& thresholds, Diagnosis& diagnosis) {
  if (m.reference <= 0) return;
  const topology::Routes& routes = m.crossings.routes().all();
  for (const SlowTrunks& slow : m.inference.slow)
    diagnosis.findings.push_back(finding_of(m, slow, thresholds, diagnosis));
  std::stable_sort(diagnosis.findings.begin(), diagnosis.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  std::vector<int> open;
  for (const int e : m.inference.open)
    if (m.crossings.is_trunk(e)) open.push_back(e);
  bool grave = false;
  const auto say = [&](StatementKind kind, const std::vector<int>& trunks) {
    if (trunks.empty()) return;
    double worst = m.reference;
    for (const int t : trunks) worst = std::min(worst, m.inference.carried[std::size_t(t)]);
    diagnosis.not_checked.push_back({kind,
                                     {},
                                     {{"trunks", trunks.size()}, {"rate_Bps", worst}},
                                     routes.text(routes.trunks()[std::size_t(trunks[0])])});
  };
  say(StatementKind::trunks_open, open);
  say(StatementKind::trunks_hidden, m.inference.hidden);
  for (const int e : open) grave |= m.inference.carried[std::size_t(e)] < thresholds.critical * m.reference;
  std::set<int> told;
  for (const int port : m.inference.ports) {
    const int node = m.crossings.node_of(port);
    const double rate = m.inference.carried[std::size_t(port)];
    const bool named = std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                                   [&](const Finding& f) { return f.scope.node == node; });
    if (named || rate >= thresholds.critical * m.reference || !told.insert(node).second) continue;
    grave = true;
    diagnosis.not_checked.push_back({StatementKind::port_unnamed,
                                     {diagnosis.nodes[std::size_t(node)]},
                                     {{"rate_Bps", rate}, {"expected_Bps", m.reference}}});
  }
  if (m.unmet > 0) diagnosis.not_checked.push_back({StatementKind::trunks_unmet, {}, {{"trunks", m.unmet}}});
  const Verdict seen = verdict_of(diagnosis.findings);
  if (diagnosis.verdict != Verdict::faulty && seen != Verdict::healthy) diagnosis.verdict = seen;
  if (diagnosis.verdict == Verdict::healthy && grave) diagnosis.verdict = Verdict::unknown;
}

}  // namespace ringtrue::diagnosis
