#include "operator/evaluate.h"

#include <fmt/format.h>

#include "campaign/score.h"

namespace ringtrue::ops {
namespace {

std::string command_of(const campaign::Campaign& c, int cases) {
  std::string out = fmt::format("ringtrue evaluate --seed {} --cases {}", c.seed, cases);
  const campaign::Limits usual;
  if (c.limits.min_nodes != usual.min_nodes || c.limits.max_nodes != usual.max_nodes)
    out += fmt::format(" --nodes {}-{}", c.limits.min_nodes, c.limits.max_nodes);
  if (c.limits.noise != usual.noise) out += fmt::format(" --noise {:g}%", c.limits.noise * 100);
  if (c.limits.busy != usual.busy) out += fmt::format(" --busy {:g}%", c.limits.busy * 100);
  if (c.limits.min_severity != usual.min_severity || c.limits.max_severity != usual.max_severity)
    out += fmt::format(" --severity {:g}-{:g}", c.limits.min_severity * 100, c.limits.max_severity * 100);
  if (c.limits.weights != usual.weights) out += fmt::format(" --weights {}", key_of(c.limits.weights));
  if (c.limits.told != usual.told) out += fmt::format(" --told {}", key_of(c.limits.told));
  if (c.limits.stale_routes > 0) out += fmt::format(" --stale-routes {:g}%", c.limits.stale_routes * 100);
  if (c.limits.fabrics != usual.fabrics) out += fmt::format(" --fabrics {}", key_of(c.limits.fabrics));
  if (c.limits.nuisances != usual.nuisances)
    out += fmt::format(" --nuisances {}", campaign::to_text(c.limits.nuisances));
  for (std::size_t i = 0; i < c.limits.kinds.size(); ++i)
    out += fmt::format("{}{}", i ? "," : " --kinds ", c.limits.kinds[i]->name);
  return out;
}

}  // namespace

EvaluateDocument evaluate(campaign::Campaign campaign, const Control& control) {
  campaign.on_progress = [&](int done) {
    control.tell(progress::Part{"case", std::size_t(done), std::size_t(campaign.cases)});
  };
  campaign.stopped = [&] { return control.stopped(); };
  const Stop::Handler handler(control.stop(), [] {});
  const auto outcomes = campaign::play(campaign);
  const campaign::Limits& limits = campaign.limits;
  EvaluateDocument document{
      campaign.seed, limits.min_nodes, limits.max_nodes, limits.noise, {}, campaign::score(outcomes), {}};
  document.command = command_of(campaign, document.score.cases);
  if (control.stopped()) document.error = Trouble{Error{Cause::cancelled, "interrupted", "", ""}, {}};
  return document;
}

CaseDocument play_case(const campaign::Campaign& campaign, std::uint64_t number) {
  const campaign::Case drawn = campaign::draw_case(campaign.seed, number, campaign.limits);
  CaseDocument document;
  document.campaign_seed = campaign.seed;
  document.drawn = campaign::listed(drawn);
  document.summary = drawn.kind->summary;
  document.fabric = drawn.text();
  document.faults = drawn.faults();
  document.check.transport = "model";
  campaign::Checked checked = campaign::check(drawn);
  document.score = campaign::score_of(drawn, checked);
  document.check.diagnosis = std::move(checked.diagnosis);
  return document;
}

YearsDocument evaluate_history(const campaign::HistoryYears& years, const Control& control) {
  const Stop::Handler handler(control.stop(), [] {});
  const campaign::HistoryScore score = campaign::play_years(years, [&] { return control.stopped(); });
  YearsDocument out;
  out.seed = years.seed;
  out.years = score.years;
  out.checks = score.checks;
  out.min_nodes = years.min_nodes;
  out.max_nodes = years.max_nodes;
  out.command = fmt::format("ringtrue evaluate --history --years {} --seed {}", years.years, years.seed);
  const campaign::HistoryYears usual;
  if (years.min_nodes != usual.min_nodes || years.max_nodes != usual.max_nodes)
    out.command += fmt::format(" --nodes {}-{}", years.min_nodes, years.max_nodes);
  const auto& [small, middle, large] = score.steps;
  out.rows = {
      {"fleet-years with a confirmed regression of a side that had nothing", score.years_with_false,
       score.years, "at most 0.1 a fleet-year"},
      {"... such regressions, of all fleet-years", score.false_confirmed, score.years, ""},
      {"sides that were suspected for nothing, and withdrawn, of all checks", score.false_suspected,
       score.checks, ""},
      {"the whole fleet, confirmed for nothing, of all fleet-years", score.false_fleet, score.years,
       "at most 0.1 a fleet-year"},
      {"falls of 8 % and more, confirmed at the second check", middle.second + large.second,
       middle.of + large.of, "99 %"},
      {"... within 30 days", middle.ever + large.ever, middle.of + large.of, ""},
      {"falls of 6 to 8 %, confirmed at the second check", small.second, small.of, ""},
      {"... within 30 days", small.ever, small.of, ""},
      {"drifts of 0.1 % a day, confirmed before 7 % are lost", score.drifts_found, score.drifts, "all"},
      {"... left out: the fleet's baselines were set anew meanwhile", score.drifts_hidden,
       score.drifts + score.drifts_hidden, ""},
      {"repairs, told as recovered", score.recovered, score.recoveries, ""},
  };
  if (score.stopped) out.error = Trouble{Error{Cause::cancelled, "interrupted", "", ""}, {}};
  return out;
}

}  // namespace ringtrue::ops
