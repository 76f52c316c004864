// Findings about what is no side and no path: rails, leaves, trunks and spines, nodes that answer late or not
// at all.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hostlist.h"
#include "diagnosis/findings/conclusion.h"
#include "diagnosis/findings/confidence.h"
#include "diagnosis/infer/at_times.h"

namespace ringtrue::diagnosis {
namespace {

std::string list_of(const std::vector<int>& rails) {
  std::string out = rails.size() == 1 ? "rail " : "rails ";
  for (std::size_t i = 0; i < rails.size(); ++i) out += fmt::format("{}{}", i ? ", " : "", rails[i]);
  return out;
}

}  // namespace

// Where some of a suspected end's rails are slow and others are not, that is where its wire is.
void Conclusion::name_rails(const Group& group, Finding& f) const {
  const std::vector<int> slow = parts_.slow_rails(*group[0]);
  if (slow.empty()) return;
  const auto ports = out_.rails.find(f.scope.subject.node);
  const auto k = std::size_t(slow[0]);
  const bool known = slow.size() == 1 && ports != out_.rails.end() && k < ports->second.size();
  f.scope.subject.device = known ? port_name(ports->second[k]) : list_of(slow);
  f.evidence.push_back(
      {slow.size() == 1 ? StatementKind::slow_rail : StatementKind::slow_rails, {}, {}, list_of(slow)});
  if (f.scope.type == ScopeType::path) return;
  f.scope.type = ScopeType::nic;
}

void Conclusion::add_parts() {
  std::vector<FabricPart> parts = parts_.fabric();
  for (const FabricPart& part : parts_.at_times())
    if (part.at_times->chance < at_times::by_chance) parts.push_back(part);
  for (const FabricPart& part : parts) {
    if (part.readings.empty()) continue;
    std::string device = part.device;
    if (!part.members.empty()) {
      std::vector<std::string> names;
      for (const int member : part.members) names.push_back(node(member));
      device += " " + fold_hostlist(names);
      if (part.device == links_between) device += " and the other nodes";
    }
    const double best = part.at_times ? part.at_times->best : part.readings.front().rate;
    std::set<int> runs;
    for (const Reading& r : part.readings) runs.insert(r.run);
    if (!part.confirmed) {
      out_.not_checked.push_back({StatementKind::unnamed_part,
                                  {},
                                  {{"pairs", part.pairs.size()},
                                   {"rate_Bps", best},
                                   {"readings", part.readings.size()},
                                   {"experiments", runs.size()},
                                   {"expected_Bps", reference_}},
                                  device});
      continue;
    }
    const double usual = part.usual(c_.inference);
    Suspect all;
    all.best = best;
    all.ratio = best / usual;
    all.readings = part.readings;
    Finding f;
    f.scope.type = part.type;
    f.scope.subject.device = device;
    if (!part.members.empty()) f.scope.node = part.members.front();
    f.kind = slow_kind(part.type);
    f.severity = severity(all.ratio);
    f.measured = BytesPerSecond(best);
    f.expected = BytesPerSecond(usual);
    f.ratio = all.ratio;
    f.confidence = confidence(part.type, all.ratio);
    std::vector<Quantity> values = {{"pairs", double(part.pairs.size())},
                                    {"rate_Bps", best},
                                    {"readings", double(part.readings.size())},
                                    {"experiments", double(runs.size())},
                                    {"expected_Bps", usual}};
    if (part.at_times) {
      const LeafAtTimes& leaf = *part.at_times;
      if (leaf.course == Course::ended) f.severity = Severity::info;  // it is told
      // It may have fewer uplinks, or others' jobs may fill them.
      if (leaf.together && f.severity == Severity::critical) f.severity = Severity::warning;
      f.evidence.push_back(
          {leaf.together ? StatementKind::leaf_carries_less : StatementKind::leaf_slow_at_times,
           {},
           std::move(values),
           leaf.low_runs == leaf.all_runs ? fmt::format("was slow in all {} experiments", leaf.all_runs)
                                          : in_words(leaf.course, leaf.low_runs, leaf.all_runs)});
    } else {
      f.evidence = {{StatementKind::between_leaves, {}, std::move(values)},
                    StatementKind::ends_do_better_below_leaf};
    }
    for (std::size_t i = 0; i < std::min<std::size_t>(part.pairs.size(), 4); ++i)
      f.evidence.push_back(
          {StatementKind::one_pair, {node(part.pairs[i].first), node(part.pairs[i].second)}});
    f.impact = {StatementKind::across_leaves, {}, {{"rate_Bps", best}}};
    f.next = {StatementKind::look_at_part, {}, {}, device};
    out_.findings.push_back(std::move(f));
  }
  if (const auto& rail = parts_.slow_rail()) {
    Finding f;
    f.kind = FindingKind::slow_rail;
    f.scope.type = ScopeType::rail;
    f.scope.subject.device = fmt::format("rail {}", rail->rail);
    f.severity = severity(rail->rate / rail->usual);
    f.measured = BytesPerSecond(rail->rate);
    f.expected = BytesPerSecond(rail->usual);
    f.ratio = rail->rate / rail->usual;
    f.confidence = confidence(ScopeType::rail, *f.ratio);
    f.evidence.push_back(
        {StatementKind::rail_rate,
         {},
         {{"rail", double(rail->rail)}, {"rate_Bps", rail->rate}, {"usual_Bps", rail->usual}}});
    f.impact = StatementKind::slowest_rail;
    f.next = StatementKind::look_at_rail;
    add_of_all(std::move(f));
  }
}

void Conclusion::add_dead() {
  for (const DeadNode& dead : c_.seen.dead) {
    if (dead.blocked) continue;
    if (dead.error.cause == Cause::stopping) {
      out_.not_checked.push_back({StatementKind::daemon_stopping, {node(dead.node)}, {}});
      continue;
    }
    Finding f;
    f.kind = FindingKind::dead_node;
    f.severity = Severity::critical;
    f.scope.type = ScopeType::node;
    f.scope.node = dead.node;
    f.scope.subject = node(dead.node);
    f.confidence = 1;
    f.evidence = {dead.error.text()};
    if (dead.last_run)
      f.evidence.push_back({StatementKind::last_took_part, {node(dead.node)}, {}, key_of(*dead.last_run)});
    if (c_.readings.pairs_measured() > 0) f.evidence.push_back(StatementKind::others_went_on);
    f.impact = StatementKind::no_collective;
    f.next = dead.error.next.empty() ? Statement(StatementKind::look_at_node) : Statement(dead.error.next);
    out_.findings.push_back(std::move(f));
  }
}

void Conclusion::add_late() {
  for (const Late& late : c_.late) {
    if (!late.confirmed()) {
      std::vector<Subject> who = {node(late.node)};
      if (late.peer >= 0) who.push_back(node(late.peer));
      out_.not_checked.push_back(
          {StatementKind::answers_late,
           std::move(who),
           {{"latency_s", late.latency}, {"usual_s", late.usual}, {"experiments", late.runs}}});
      continue;
    }
    Finding f;
    f.scope.type = late.peer < 0 ? ScopeType::node : ScopeType::path;
    f.kind = late.peer < 0 ? FindingKind::late_node : FindingKind::late_path;
    f.severity = Severity::warning;
    f.scope.node = late.node;
    f.scope.subject = node(late.node);
    if (late.peer >= 0) f.scope.peer = late.peer, f.scope.peer_name = node(late.peer);
    f.ratio = late.usual / late.latency;
    f.confidence = sure_of_late;
    f.evidence = {
        {StatementKind::round_trip,
         {},
         {{"latency_s", late.latency}, {"usual_s", late.usual}, {"experiments", double(late.runs)}}},
        late.peer < 0 ? StatementKind::late_with_all : StatementKind::late_together};
    f.impact = StatementKind::late_steps;
    f.next = {StatementKind::look_at_way, {f.scope.subject.node}};
    out_.findings.push_back(std::move(f));
  }
}

}  // namespace ringtrue::diagnosis
