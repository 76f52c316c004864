// Many cases, each through the same diagnosis as live runs.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "campaign/cases.h"
#include "campaign/scope.h"
#include "diagnosis/check.h"
#include "diagnosis/findings/report.h"

namespace ringtrue::campaign {

struct Campaign {
  std::uint64_t seed = 1;
  int cases = 1000;
  Limits limits;
  int threads = 0;  // 0: as many as there are cores; the outcomes do not depend on it
  // With how many cases are done, from any thread.
  std::function<void(int done)> on_progress;
  // Asked from any thread, also within a case: true ends the campaign early, without those that are under
  // way.
  std::function<bool()> stopped;
};

struct Outcome {
  Case drawn;
  diagnosis::Verdict verdict = diagnosis::Verdict::unknown;
  diagnosis::CaseScore score;
  diagnosis::Cost cost;
  diagnosis::Coverage coverage;
};

struct Checked {
  diagnosis::Diagnosis diagnosis;
  bool faults_were_there = true;  // in one run at least: otherwise the fleet was healthy for that long
};

// How a case is checked: in the measurer's time, which outlives them.
diagnosis::Options options_of(const Case& c, const SimMeasurer& measurer);
// Checks one case; `stopped` cuts it short.
Checked check(const Case& c, const std::function<bool()>& stopped = {});
// Faults that were away throughout count as none.
diagnosis::CaseScore score_of(const Case& c, const Checked& checked);
Outcome outcome_of(Case c, const Checked& checked);

// In the order of the cases; fewer where it was ended early.
std::vector<Outcome> play(const Campaign& campaign);

}  // namespace ringtrue::campaign
