// Fleets for tests of the dashboard: the same ones every time.
#pragma once

#include <string>

#include "tui/model/snapshot/snapshot.h"

namespace ringtrue::tui {

enum class Condition { healthy, faulty, hostile };

// So many nodes below leaves of 16. faulty: some slow, some silent, values that are not known. hostile: so
// too, and names that are long, wide, or hold what terminals act upon.
Snapshot fleet_of(int nodes, Condition condition);

// Names and errors that somebody made to do harm.
std::string hostile_text();

}  // namespace ringtrue::tui
