// From evidence to a verdict: a function of what was seen, what is known of the fabric, and what readings
// are held against. It measures nothing and remembers nothing. What to measure next is the planner's
// (plan/planner.h); a check (check.h) is a loop of both.
#pragma once

#include <optional>
#include <string>

#include "base/units.h"
#include "diagnosis/evidence.h"
#include "diagnosis/findings/report.h"
#include "diagnosis/infer/inference.h"
#include "ideal/rates.h"

namespace ringtrue::diagnosis {

// What readings are held against.
struct Standards {
  Thresholds thresholds;
  std::optional<BytesPerSecond> link_rate;      // nominal, one way; none: the fleet's majority
  std::optional<ideal::Efficiency> efficiency;  // Ethernet with TCP at an MTU of 1500 if not given

  std::optional<double> attainable() const;  // bytes per second
  Expected declared() const;                 // with the arithmetic
};

// Which sides and paths explain what is slow so far. Nothing of dead nodes, which cannot be measured again.
Inference infer(const Evidence& evidence, const Structure& fabric, const Standards& standards);

// What would be found if nothing more were measured: findings of slowness, without advice.
Diagnosis found_so_far(const Evidence& evidence, const Structure& fabric, const Standards& standards,
                       const Inference& inference);

// All of it: findings, what could not be told, the verdict.
Diagnosis diagnose(const Evidence& evidence, const Structure& fabric, const Standards& standards);

// How a place did, for what is lost there.
Pace pace(const Scope& scope, const Evidence& evidence, const Inference& inference);

}  // namespace ringtrue::diagnosis
