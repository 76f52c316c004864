#include "campaign/score.h"

#include <algorithm>
#include <set>

#include "base/statistics.h"

namespace ringtrue::campaign {
namespace {

using diagnosis::CaseScore;
using diagnosis::Listed;
using diagnosis::Score;
using diagnosis::ScoreGroup;
using diagnosis::Spread;

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  return {int(values.size()), upper_median(values), percentile(values, 95),
          *std::max_element(values.begin(), values.end())};
}

template <class Wanted>
ScoreGroup group_of(const std::vector<Outcome>& outcomes, std::string_view name, Wanted wanted) {
  ScoreGroup out;
  out.name = name;
  std::vector<double> runs, seconds, bytes, proven;
  for (const Outcome& o : outcomes) {
    if (!wanted(o)) continue;
    ++out.cases;
    const CaseScore& j = o.score;
    if (j.faults == 0) {
      out.false_positives.add(j.findings > 0);
    } else {
      // Of very many faults at once each counts.
      if (o.drawn.kind->named_only)
        out.recall.count += j.found, out.recall.of += j.faults;
      else
        out.recall.add(j.found == j.faults);
      out.scope_exact.add(j.exact);
    }
    out.unknown.add(o.verdict == diagnosis::Verdict::unknown && j.findings == 0);
    if (j.proven_after > 0) proven.push_back(j.proven_after);
    runs.push_back(o.cost.runs);
    seconds.push_back(o.cost.seconds.value);
    bytes.push_back(double(o.cost.bytes.value));
  }
  out.runs = spread_of(std::move(runs));
  out.proven = spread_of(std::move(proven));
  out.seconds = spread_of(std::move(seconds));
  out.bytes = spread_of(std::move(bytes));
  return out;
}

bool is_of(const Outcome& o, Kind::Group group) {
  return o.drawn.kind->group == group;
}

// What any partner can see of a fault. 0: dead.
double visible_severity(const Case& c) {
  const sim::Fabric& fabric = c.world.fabric;
  if (c.severity == 0 || fabric.faults.size() != 1) return c.severity;
  double out = 0;
  for (int other = 0; other < fabric.nodes; ++other)
    if (other != fabric.faults.front().place.node) out = std::max(out, severity_seen_by(other, c));
  return out;
}

// What is no matter of how far healthy ports differ: twice their standard deviation.
bool stands_out(const Case& c, double severity) {
  constexpr double least = 0.1;
  return severity >= std::max(least, 2 * c.spread);
}

bool is_of_hosts(const Outcome& o) {
  return o.drawn.kind->host && (o.drawn.severity == 0 || stands_out(o.drawn, visible_severity(o.drawn)));
}

// Of leaves that can be compared with others: of two nobody knows what their trunks are to carry.
bool is_of_leaves(const Outcome& o) {
  constexpr int fewest = 3;
  const sim::Fabric& fabric = o.drawn.world.fabric;
  return o.drawn.kind->name == "slow-leaf" && stands_out(o.drawn, o.drawn.severity) && fabric.leaf > 0 &&
         fabric.nodes > (fewest - 1) * fabric.leaf;
}

struct NodeRange {
  std::string_view name;
  int low, high;
};
constexpr NodeRange node_ranges[] = {
    {"2", 2, 2},           {"3-4", 3, 4},          {"5-8", 5, 8},       {"9-16", 9, 16},
    {"17-32", 17, 32},     {"33-64", 33, 64},      {"65-128", 65, 128}, {"129-256", 129, 256},
    {"257-512", 257, 512}, {"513-1024", 513, 1024}};
struct SeverityRange {
  std::string_view name;
  double low, high;
};
constexpr SeverityRange severity_ranges[] = {
    {"1-5 %", 0.01, 0.05}, {"5-10 %", 0.05, 0.1}, {"10-20 %", 0.1, 0.2}, {"20-30 %", 0.2, 0.3},
    {"30-50 %", 0.3, 0.5}, {"50-70 %", 0.5, 0.7}, {"70-90 %", 0.7, 0.9}, {"90-99 %", 0.9, 1}};

constexpr struct {
  std::string_view name;
  double low, high;
} confidence_ranges[] = {{"below 50 %", 0, 0.5},    {"50-70 %", 0.5, 0.7},  {"70-80 %", 0.7, 0.8},
                         {"80-90 %", 0.8, 0.9},     {"90-95 %", 0.9, 0.95}, {"95-99 %", 0.95, 0.99},
                         {"99 % and more", 0.99, 2}};

template <class Wanted>
diagnosis::Precision precision_of(const std::vector<Outcome>& outcomes, std::string_view name,
                                  Wanted wanted) {
  diagnosis::Precision out{std::string(name), {}};
  for (const Outcome& o : outcomes)
    for (const diagnosis::Accusation& a : o.score.accusations)
      if (wanted(a)) out.right.add(a.right);
  return out;
}

void add_precisions(const std::vector<Outcome>& outcomes, Score& out) {
  std::set<diagnosis::FindingKind> kinds;
  for (const Outcome& o : outcomes)
    for (const diagnosis::Accusation& a : o.score.accusations) kinds.insert(a.kind);
  for (const auto kind : kinds)
    out.by_finding.push_back(precision_of(outcomes, key_of(kind), [&](auto& a) { return a.kind == kind; }));
  for (const auto& range : confidence_ranges) {
    auto row = precision_of(outcomes, range.name,
                            [&](auto& a) { return a.confidence >= range.low && a.confidence < range.high; });
    if (row.right.of > 0) out.by_confidence.push_back(std::move(row));
  }
}

}  // namespace

Listed listed(const Case& c) {
  return {c.number, c.seed, c.kind->name, c.world.fabric.nodes, c.severity};
}

diagnosis::Score score(const std::vector<Outcome>& outcomes) {
  Score out;
  out.cases = int(outcomes.size());
  const auto of_group = [&](std::string_view name, Kind::Group group) {
    return group_of(outcomes, name, [&](const Outcome& o) { return is_of(o, group); });
  };
  const auto of_kind = [&](std::string_view name) {
    return group_of(outcomes, name, [&](const Outcome& o) { return o.drawn.kind->name == name; });
  };
  out.healthy = of_group("healthy", Kind::Group::healthy);
  out.single = of_group("single faults", Kind::Group::place);
  out.hosts = group_of(outcomes, "... of nodes and NICs, 10 % and more", is_of_hosts);
  out.leaves = group_of(outcomes, "... of leaves of three and more, 10 % and more", is_of_leaves);
  out.pairs = of_group("faults of single pairs", Kind::Group::pair);
  out.covered = group_of(outcomes, "... that were measured",
                         [](const Outcome& o) { return is_of(o, Kind::Group::pair) && o.score.covered; });
  out.two = of_kind("two");
  out.three = of_kind("three");
  out.healthy_cases = out.healthy.cases;
  for (const Kind& kind : kinds()) {
    ScoreGroup group = of_kind(kind.name);
    group.summary = kind.summary;
    if (group.cases > 0) out.by_kind.push_back(std::move(group));
  }
  for (const NodeRange& range : node_ranges) {
    ScoreGroup group = group_of(outcomes, range.name, [&](const Outcome& o) {
      const int n = o.drawn.world.fabric.nodes;
      return n >= range.low && n <= range.high &&
             (is_of(o, Kind::Group::healthy) || is_of(o, Kind::Group::place));
    });
    if (group.cases > 0) out.by_nodes.push_back(std::move(group));
  }
  for (const SeverityRange& range : severity_ranges) {
    ScoreGroup group = group_of(outcomes, range.name, [&](const Outcome& o) {
      return is_of(o, Kind::Group::place) && o.drawn.severity >= range.low && o.drawn.severity < range.high;
    });
    if (group.cases > 0) out.by_severity.push_back(std::move(group));
  }
  add_precisions(outcomes, out);
  double coverage = 0;
  for (const Outcome& o : outcomes) {
    const CaseScore& j = o.score;
    out.precision.count += j.findings - j.wrong;
    out.precision.of += j.findings;
    const Listed case_ = listed(o.drawn);
    if (j.faults == 0 && j.findings > 0) out.false_positives.push_back(case_);
    if (j.found < j.faults) out.missed.push_back(case_);
    if (j.faults > 0 && j.found == j.faults && !j.exact) out.inexact.push_back(case_);
    if (is_of(o, Kind::Group::pair) && o.coverage.pairs > 0)
      coverage += double(o.coverage.pairs_measured) / o.coverage.pairs;
  }
  if (out.pairs.cases > 0) out.coverage = coverage / out.pairs.cases;
  return out;
}

}  // namespace ringtrue::campaign
