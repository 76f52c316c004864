#include "diagnosis/check.h"

#include <algorithm>
#include <utility>

#include "diagnosis/diagnose.h"
#include "diagnosis/plan/planner.h"

namespace ringtrue::diagnosis {

Standards standards_of(const Options& options) {
  Standards out;
  out.thresholds.warning = options.warning;
  out.thresholds.critical = options.critical;
  out.thresholds.path = std::min(out.thresholds.path, options.warning);
  out.link_rate = options.link_rate;
  out.efficiency = options.efficiency;
  return out;
}

Diagnosis run_check(Measurer& measurer, const Options& options) {
  std::vector<std::string> names;
  for (int i = 0; i < measurer.nodes(); ++i) names.push_back(measurer.name(i));
  Evidence evidence(std::move(names), options.segment);
  Planner planner(evidence, measurer.structure(), options, measurer.ranks_a_node());
  while (const Step* step = planner.next()) {
    auto observation = measurer.measure(step->experiment);
    if (observation) {
      planner.answer(*std::move(observation));
    } else {
      planner.failed(observation.error(), measurer.outlives_failures());
    }
  }
  const auto& routes = planner.fabric().routes;
  if (routes && routes->by_hop() && !evidence.error) planner.forget(measurer.changed_ways());
  return diagnose(evidence, planner.fabric(), standards_of(options));
}

}  // namespace ringtrue::diagnosis
