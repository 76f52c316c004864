#include "diagnosis/findings/groups.h"

#include <algorithm>

#include "base/hostlist.h"

namespace ringtrue::diagnosis {
namespace {

constexpr std::size_t fewest_members = 3;  // two may be alike by chance
constexpr double alike = 0.1;              // of what is expected: what readings of one fault differ by

bool is_of_nodes(const Finding& f) {
  const ScopeType type = f.scope.type;
  const bool of_nodes = type == ScopeType::sender || type == ScopeType::receiver || type == ScopeType::node ||
                        type == ScopeType::nic;
  return of_nodes && f.kind <= FindingKind::slow_compute && f.measured && f.ratio && !f.evidence.empty();
}

// The first evidence tells a side that is slow at times from one that always is.
bool are_alike(const Finding& worst, const Finding& f) {
  return is_of_nodes(f) && f.kind == worst.kind && f.severity == worst.severity &&
         f.scope.type == worst.scope.type && f.scope.subject.device == worst.scope.subject.device &&
         f.evidence[0].kind == worst.evidence[0].kind && *f.ratio - *worst.ratio <= alike;
}

bool is_of_ring(const Statement& impact) {
  return impact.kind == StatementKind::repair || impact.kind == StatementKind::repair_first ||
         impact.kind == StatementKind::repair_together;
}

auto of_ring(const std::vector<Finding>& findings) {
  return std::ranges::count_if(findings, is_of_ring, &Finding::impact);
}

// What the ring gains by a repair of them all, and of the findings beside them.
Statement impact_of(const std::vector<Finding>& members, bool others) {
  Statement out = members[0].impact;
  if (!is_of_ring(out)) return out;
  out.kind = others ? StatementKind::repair_together : StatementKind::repair;
  std::erase_if(out.values, [](const Quantity& q) { return q.name != "from_Bps" && q.name != "to_Bps"; });
  return out;
}

Finding group_of(std::vector<Finding> members, bool others) {
  Finding f = members[0];
  std::vector<std::pair<int, std::string>> placed;
  double low = f.measured->value, high = low;
  for (const Finding& member : members) {
    placed.emplace_back(member.scope.node, member.scope.subject.node);
    low = std::min(low, member.measured->value), high = std::max(high, member.measured->value);
    f.confidence = std::min(f.confidence, member.confidence);
    f.proven_after = std::max(f.proven_after, member.proven_after);
  }
  std::ranges::sort(placed);
  std::vector<std::string> names;
  for (auto& [place, name] : placed) names.push_back(std::move(name));
  f.scope.node = -1;
  f.scope.subject.node = fold_hostlist(names);
  f.evidence.insert(
      f.evidence.begin(),
      {StatementKind::slow_alike,
       {},
       {{"members", double(names.size())}, {"low_Bps", low}, {"high_Bps", high}, {"names", names}}});
  f.impact = impact_of(members, others);
  f.next = {StatementKind::look_at_group, {}, {}, members[0].scope.subject.node};
  f.members = std::move(members);
  return f;
}

}  // namespace

std::vector<Finding> with_groups(const std::vector<Finding>& findings) {
  std::vector<std::vector<std::size_t>> groups;  // places, each in the order of the findings: worst first
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const auto group = std::ranges::find_if(groups, [&](const std::vector<std::size_t>& places) {
      const Finding& worst = findings[places[0]];
      return is_of_nodes(worst) && are_alike(worst, findings[i]);
    });
    if (group == groups.end())
      groups.push_back({i});
    else
      group->push_back(i);
  }
  std::vector<std::pair<std::size_t, Finding>> placed;
  for (const auto& places : groups) {
    if (places.size() < fewest_members) {
      for (const std::size_t at : places) placed.emplace_back(at, findings[at]);
      continue;
    }
    std::vector<Finding> members;
    for (const std::size_t at : places) members.push_back(findings[at]);
    const bool others = of_ring(findings) > of_ring(members);
    placed.emplace_back(places[0], group_of(std::move(members), others));
  }
  std::ranges::sort(placed, {}, [](const auto& p) { return p.first; });
  std::vector<Finding> out;
  for (auto& [at, finding] : placed) out.push_back(std::move(finding));
  return out;
}

}  // namespace ringtrue::diagnosis
