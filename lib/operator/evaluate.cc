#include "operator/evaluate.h"

namespace ringtrue::ops {

EvaluateDocument evaluate(campaign::Campaign campaign, const Control& control) {
  campaign.on_progress = [&](int done) {
    control.tell(progress::Part{"case", std::size_t(done), std::size_t(campaign.cases)});
    return !control.stopped();
  };
  const Stop::Handler handler(control.stop(), [] {});
  const auto outcomes = campaign::play(campaign);
  EvaluateDocument document{campaign.seed, campaign.limits, campaign::score(outcomes), {}};
  if (control.stopped()) document.error = Trouble{Error{Cause::cancelled, "interrupted", "", ""}, {}};
  return document;
}

CaseDocument play_case(const campaign::Campaign& campaign, std::uint64_t number) {
  CaseDocument document;
  document.campaign_seed = campaign.seed;
  campaign::Case drawn = campaign::draw_case(campaign.seed, number, campaign.limits);
  document.check.transport = "model";
  document.check.diagnosis = campaign::check(drawn);
  document.fabric = drawn.text();
  document.faults = drawn.faults();
  document.outcome = campaign::outcome_of(std::move(drawn), document.check.diagnosis);
  return document;
}

}  // namespace ringtrue::ops
