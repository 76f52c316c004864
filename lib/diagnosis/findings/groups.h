// Nodes that are slow alike are one finding with its members: a rack, half of the fleet, a batch of cables.
#pragma once

#include <vector>

#include "diagnosis/findings/report.h"

namespace ringtrue::diagnosis {

// The findings in their order. Where three nodes or more have the same side, or the same of their NICs, slow
// in the same way and by about as much, one finding with these `members`, the worst first, stands in the
// place of the worst; its scope's node is the list of all in the fleet's order, as commands take it.
std::vector<Finding> with_groups(const std::vector<Finding>& findings);

}  // namespace ringtrue::diagnosis
