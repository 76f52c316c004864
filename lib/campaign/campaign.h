// Many cases, each through the same diagnosis as live runs.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "campaign/cases.h"
#include "campaign/scope.h"
#include "diagnosis/findings/report.h"

namespace ringtrue::campaign {

struct Campaign {
  std::uint64_t seed = 1;
  int cases = 1000;
  Limits limits;
  int threads = 0;  // 0: as many as there are cores; the outcomes do not depend on it
  // With how many cases are done, from any thread. False ends the campaign early.
  std::function<bool(int done)> on_progress;
};

struct Outcome {
  Case drawn;
  diagnosis::Verdict verdict = diagnosis::Verdict::unknown;
  diagnosis::CaseScore score;
  diagnosis::Cost cost;
  diagnosis::Coverage coverage;
};

// Checks one case.
diagnosis::Diagnosis check(const Case& c);
Outcome outcome_of(Case c, const diagnosis::Diagnosis& diagnosis);

// In the order of the cases; fewer where it was ended early.
std::vector<Outcome> play(const Campaign& campaign);

}  // namespace ringtrue::campaign
