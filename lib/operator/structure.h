// What a check knows of how its nodes hang together, from what the operator gives and what is in the nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "diagnosis/measurer.h"
#include "topology/model.h"

namespace ringtrue::ops {

// What files tell of these nodes: which leaf each hangs below (formats/leaves.h), or the ways between them
// (operator/routes.h), which tell the leaves, too. Without files nothing is known. Errors: bad_input, with
// the file or the node as `where`.
Result<diagnosis::Structure> told_structure(const std::optional<std::string>& leaves,
                                            const std::vector<std::string>& routes,
                                            const std::vector<std::string>& nodes);

// What the fastest port of each of these nodes can do, in bytes per second, as its driver says; 0: unknown. A
// link that came up slower than that, or a port that is down, is no other generation.
std::vector<double> port_rates(const topology::Cluster& cluster, const std::vector<std::string>& nodes);

}  // namespace ringtrue::ops
