// A campaign's score, and one of its cases.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "campaign/score.h"
#include "operator/documents/check.h"

namespace ringtrue::ops {

struct EvaluateDocument {
  std::uint64_t seed = 1;
  campaign::Limits limits;
  campaign::Score score;
  std::optional<Trouble> error;  // why not all cases were played
};

// One case in full: what is wrong, what was measured, what was said.
struct CaseDocument {
  std::uint64_t campaign_seed = 1;
  campaign::Outcome outcome;
  std::string fabric;               // in words, its faults with it
  std::vector<std::string> faults;  // as --fault takes them
  CheckDocument check;
};

}  // namespace ringtrue::ops
