#include "diagnosis/infer/time_to_detect.h"

namespace ringtrue::diagnosis {
namespace {

std::tuple<FindingKind, int, int, std::string> identity_of(const Finding& finding) {
  return {finding.kind, finding.scope.node, finding.scope.peer, finding.scope.subject.device};
}

}  // namespace

void TimeToDetect::note(const std::vector<Finding>& findings, int runs) {
  std::map<Key, int> now;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::info) continue;
    const auto before = since_.find(identity_of(finding));
    now.emplace(identity_of(finding), before != since_.end() ? before->second : runs);
  }
  since_ = std::move(now);
}

void TimeToDetect::tell(std::vector<Finding>& findings, int runs) const {
  for (Finding& finding : findings) {
    if (finding.severity == Severity::info) continue;
    const auto since = since_.find(identity_of(finding));
    finding.proven_after = since != since_.end() ? since->second : runs;
    finding.evidence.push_back(
        {finding.proven_after < runs ? StatementKind::confirmed_after : StatementKind::confirmed_last,
         {},
         {{"runs", double(finding.proven_after)}, {"all_runs", double(runs)}}});
  }
}

}  // namespace ringtrue::diagnosis
