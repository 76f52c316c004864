// What a check computes itself, beside what is measured: the longest that the planner took for its next
// experiment, all of it, and the verdict, over modelled fleets of so many nodes; a kind of fleet a line.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/clock.h"
#include "campaign/campaign.h"
#include "diagnosis/diagnose.h"
#include "diagnosis/plan/planner.h"

using namespace ringtrue;

namespace {

struct Taken {
  double longest = 0, all = 0, verdict = 0;  // seconds
  int experiments = 0;
};

Taken time_check(const campaign::Case& c) {
  campaign::SimMeasurer measurer(c.world);
  const diagnosis::Options options = options_of(c, measurer);
  std::vector<std::string> names;
  for (int i = 0; i < measurer.nodes(); ++i) names.push_back(measurer.name(i));
  diagnosis::Evidence evidence(std::move(names), options.segment);
  diagnosis::Planner planner(evidence, measurer.structure(), options, measurer.ranks_a_node());
  Taken out;
  for (;;) {
    const std::int64_t began = now_ns();
    const diagnosis::Step* step = planner.next();
    const double took = seconds_since(began).value;
    out.longest = std::max(out.longest, took);
    out.all += took;
    if (!step) break;
    ++out.experiments;
    auto seen = measurer.measure(step->experiment);
    if (seen) {
      planner.answer(*std::move(seen));
    } else {
      planner.failed(seen.error(), measurer.outlives_failures());
    }
  }
  const std::int64_t began = now_ns();
  (void)diagnose(evidence, planner.fabric(), standards_of(options));
  out.verdict = seconds_since(began).value;
  return out;
}

void row(const std::string& what, const campaign::Limits& limits, int cases) {
  Taken worst;
  for (int k = 0; k < cases; ++k) {
    const Taken t = time_check(campaign::draw_case(1, std::uint64_t(k), limits));
    worst.longest = std::max(worst.longest, t.longest);
    worst.all = std::max(worst.all, t.all);
    worst.verdict = std::max(worst.verdict, t.verdict);
    worst.experiments = std::max(worst.experiments, t.experiments);
  }
  fmt::print("{:<44} {:>6} {:>12.3f} {:>12.3f} {:>12.3f}\n", what, worst.experiments, worst.longest,
             worst.all, worst.verdict);
  fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int cases = argc > 1 ? std::max(1, atoi(argv[1])) : 4;
  fmt::print("the worst of {} checks; seconds\n\n{:<44} {:>6} {:>12} {:>12} {:>12}\n", cases, "fleet", "runs",
             "next, worst", "next, all", "verdict");
  const std::vector<int> sizes =
      argc > 2 ? std::vector{std::max(2, atoi(argv[2]))} : std::vector{1024, 10000};
  for (const int nodes : sizes) {
    for (const campaign::Told told :
         {campaign::Told::nothing, campaign::Told::leaves, campaign::Told::routes}) {
      for (const double nuisances : {0.0, 0.5}) {
        campaign::Limits limits;
        limits.min_nodes = limits.max_nodes = nodes;
        limits.told = told;
        if (told == campaign::Told::routes) limits.fabrics = campaign::Fabrics::plain;
        if (nuisances > 0) limits.nuisances = *campaign::parse_nuisances("half");
        row(fmt::format("{} nodes, told {}{}", nodes, key_of(told),
                        nuisances > 0 ? ", half of all nuisances" : ""),
            limits, cases);
      }
    }
  }
}
