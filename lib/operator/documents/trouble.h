// Documents are what use cases have to say, before it becomes text or JSON. Plain values in SI units; unknown
// is nullopt, never 0. Field names are those of the JSON keys, where there is one.
//
// This is what they share: why something could not be done, and which node was in the way.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "run/report.h"

namespace ringtrue::ops {

using Maybe = std::optional<double>;

using run::Failure;

// Why a command could not do what it was asked.
struct Trouble {
  Error error;
  std::vector<Failure> failures;  // empty where no node is concerned
};

// How long the phases of a run on daemons may take at most.
struct Deadlines {
  double phase_s = 0, run_s = 0;
};

}  // namespace ringtrue::ops
