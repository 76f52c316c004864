// How often the check is right, over modelled clusters with known faults.
#pragma once

#include <cstdint>

#include "campaign/campaign.h"
#include "campaign/history_years.h"
#include "operator/documents/evaluate.h"
#include "operator/setup.h"

namespace ringtrue::ops {

EvaluateDocument evaluate(campaign::Campaign campaign, const Control& control);
// One case of the campaign in full.
CaseDocument play_case(const campaign::Campaign& campaign, std::uint64_t number);

// Years of checks, one after another, for what the history makes of them.
YearsDocument evaluate_history(const campaign::HistoryYears& years, const Control& control);

}  // namespace ringtrue::ops
