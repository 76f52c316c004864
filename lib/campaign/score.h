// How often a campaign's diagnosis was right.
#pragma once

#include <vector>

#include "campaign/campaign.h"
#include "diagnosis/accuracy.h"

namespace ringtrue::campaign {

diagnosis::Listed listed(const Case& c);
diagnosis::Score score(const std::vector<Outcome>& outcomes);

}  // namespace ringtrue::campaign
