// Sides that are slow now and then: a link that flaps for seconds, a fault that began or ended during the
// check, a sender that is slowed down from time to time.
//
// A side that is slow for good never reads well, and is no matter of this. Of any other one k of n readings
// are low. How often a healthy side reads low in such company is told by the others: a share p. By chance, at
// least k of n are low as often as the tail of a binomial distribution says - of several kinds of company, of
// a sum of such. Where that is below 0.1 % over all sides and all depths that are looked at, the side is
// unsteady. The clearest comes first, and what it explains counts for nobody else.
#pragma once

#include <vector>

#include "diagnosis/infer/inference.h"

namespace ringtrue::diagnosis {

// P(at least `low` of as many independent readings as `chances` has come out low), each with its own chance.
double tail_of(const std::vector<double>& chances, int low);

// Senders and receivers, clearest first: `unsteady` is set, `readings` are the low ones, `best` is their
// middle. Those that may be chance yet, but would be looked at again, are not confirmed.
// Of `inference`: the reference, what every side showed, and what is slow for good.
std::vector<Suspect> unsteady_sides(const Readings& readings, const Inference& inference,
                                    const Structure& structure);

}  // namespace ringtrue::diagnosis
