// `auto`: which algorithm a call takes, by the cost model in collective/choose.h.
#pragma once

#include "collective/choose.h"
#include "operator/documents/run.h"
#include "operator/runner.h"
#include "run/job.h"

namespace ringtrue::ops {

// Latency and rate of a hop, from two short pairwise runs (1 byte's worth and 256 KiB) on the runner itself.
Outcome<collective::Costs> measure_costs(Runner& runner, const run::Job& like);

// The model is for choosing among what differs much; where several algorithms are close to its first choice
// and the call is short, each is tried a few times, and the fastest is taken.
Outcome<collective::Choice> settle(Runner& runner, const run::Job& job, collective::Choice choice);

}  // namespace ringtrue::ops
