// `auto`: which algorithm a call takes, by the cost model in collective/choose.h.
#pragma once

#include "cmd/player.h"
#include "collective/choose.h"
#include "report/documents.h"

namespace ringtrue::cmd {

// Latency and rate of a hop, from two short pairwise runs (1 byte's worth and 256 KiB) on the player itself.
Played<collective::Costs> measure_costs(Player& player, const engine::Job& like);

// The model is for choosing among what differs much; where several algorithms are close to its first choice
// and the call is short, each is tried a few times, and the fastest is taken.
Played<report::Choice> settle(Player& player, const engine::Job& job, report::Choice choice);

report::Choice choice_of(const collective::Layout& layout, const collective::Call& call,
                         const collective::Costs& costs);

}  // namespace ringtrue::cmd
