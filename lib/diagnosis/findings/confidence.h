// How sure a finding is: the probability that what it names has to do with a fault, as modelled fleets count
// it (docs/accuracy.md: of findings that say so much, so many are right). What no model counts is taken for
// less.
#pragma once

#include <vector>

#include "diagnosis/findings/report.h"
#include "diagnosis/infer/inference.h"

namespace ringtrue::diagnosis {

// Of a part or place that is slow: its type, what it reaches of what is due, and, of suspects, what they are.
double confidence(ScopeType type, double ratio, const std::vector<const Suspect*>& suspects = {});

// Round trips that are too long, or packets that get lost.
inline constexpr double sure_of_late = 0.98, sure_of_loss = 0.99;
// Another explanation is as good.
inline constexpr double with_alternative = 0.7;

}  // namespace ringtrue::diagnosis
