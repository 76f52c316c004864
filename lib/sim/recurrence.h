// The ring without its coroutines: what happens to transfer i of rank r follows from transfers i and before
// of its neighbours, so that two nested loops give the times that the events give, bit by bit, and keep a
// window of transfers where those keep every token.
#pragma once

#include <optional>

#include "sim/simulate.h"

namespace ringtrue::sim {

// nullopt where it does not hold: another collective than the ring, faults that count messages, flap, lose or
// stop; hops that hold one another up on a link that they share; work at processors; several lanes.
std::optional<SimReport> play_ring_by_recurrence(const collective::Algorithm& algorithm,
                                                 const collective::Call& call, const Fabric& fabric,
                                                 const SimOptions& options);

}  // namespace ringtrue::sim
