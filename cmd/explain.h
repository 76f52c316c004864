// From the packets of a simulated omnireduce to the story of its rounds.
#pragma once

#include "cmd/bitmaps.h"
#include "report/explain.h"
#include "sim/simulate.h"

namespace ringtrue::cmd {

// `played` kept its packets and was not disturbed.
report::ExplainDocument explain(const collective::Call& call, const Bitmaps& bitmaps,
                                const sim::SimReport& played);

}  // namespace ringtrue::cmd
