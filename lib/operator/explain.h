// From the packets of a simulated omnireduce to the story of its rounds.
#pragma once

#include "operator/bitmaps.h"
#include "operator/documents/explain.h"
#include "sim/simulate.h"

namespace ringtrue::ops {

// `played` kept its packets and was not disturbed.
ExplainDocument explain(const collective::Call& call, const Bitmaps& bitmaps, const sim::SimReport& played);

}  // namespace ringtrue::ops
