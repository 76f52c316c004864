#include "diagnosis/findings/combine.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace ringtrue::diagnosis {

Verdict verdict_of(const std::vector<Finding>& findings) {
  Verdict worst = Verdict::healthy;
  for (const Finding& f : findings) {
    if (f.severity == Severity::critical) return Verdict::faulty;
    if (f.severity == Severity::warning) worst = Verdict::degraded;
  }
  return worst;
}

void combine(Diagnosis& diagnosis, std::vector<Finding> before) {
  const Verdict seen = verdict_of(before);
  Verdict& verdict = diagnosis.verdict;
  if (seen == Verdict::faulty || (seen == Verdict::degraded && verdict == Verdict::healthy)) verdict = seen;
  std::move(before.begin(), before.end(), std::back_inserter(diagnosis.findings));
  std::stable_sort(diagnosis.findings.begin(), diagnosis.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
}

void combine(Diagnosis& diagnosis, Inspection inspection) {
  std::map<std::string, int> places;
  for (std::size_t i = 0; i < diagnosis.nodes.size(); ++i) places.emplace(diagnosis.nodes[i], int(i));
  for (Finding& f : inspection.findings) {
    const auto place = places.find(f.scope.subject.node);
    f.scope.node = place == places.end() ? -1 : place->second;
  }
  combine(diagnosis, std::move(inspection.findings));
  for (NotChecked& n : inspection.not_checked) diagnosis.not_checked.push_back(std::move(n));
}

}  // namespace ringtrue::diagnosis
