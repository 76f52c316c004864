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

// Senders and receivers, clearest first: `unsteady` is set, `readings` are the low ones, `best` is their
// middle. Those that may be chance yet, but would be looked at again, are not confirmed.
// Beside a slow side of the same node, whose data acknowledgements queue behind, only `alone` tells: readings
// of one direction at a time. Until they are low with two partners such a side is not confirmed, and is
// marked as alone. Of `inference`: the reference, what every side showed, and what is slow for good.
std::vector<Suspect> unsteady_sides(const Readings& readings, const Readings& alone,
                                    const Inference& inference, const Structure& structure);

}  // namespace ringtrue::diagnosis
