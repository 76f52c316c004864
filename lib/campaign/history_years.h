// How often the rule of regressions (history/rule.h) is right: years of daily checks of modelled fleets, in
// virtual time. What a side reads in a check is drawn, not measured: the rule sees no more of a check than
// that.
#pragma once

#include <cstdint>
#include <functional>

namespace ringtrue::campaign {

struct HistoryYears {
  std::uint64_t seed = 1;
  long years = 100;  // of a fleet each
  int min_nodes = 8, max_nodes = 1024;
  int threads = 0;  // 0: as many as there are cores
};

// Of all years together.
struct HistoryScore {
  long years = 0, checks = 0;
  // Sides that had nothing, told as confirmed; years with any; sides that were suspected and no more.
  long false_confirmed = 0, years_with_false = 0, false_suspected = 0;
  long false_fleet = 0;  // the fleet as a whole, without a reason
  // Falls at once, by what was lost: 6 to 8 %, 8 to 12 %, more.
  struct Step {
    long of = 0, second = 0, ever = 0;  // confirmed at the second check; within 30 days
  };
  Step steps[3];
  long drifts = 0, drifts_found = 0;     // -0.1 % a day; before 7 % were lost
  long drifts_hidden = 0;                // more, of fleets whose baselines were set anew meanwhile
  long firmware = 0, firmware_told = 0;  // on half the fleet, at 5 % and more: told as the fleet's
  long recoveries = 0, recovered = 0;    // repairs; within four checks
  bool stopped = false;
};

HistoryScore play_years(const HistoryYears& years, const std::function<bool()>& stopped = {});

}  // namespace ringtrue::campaign
