// What a check knows of how its nodes hang together, from what the operator gives and what is in the nodes.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "diagnosis/measurer.h"
#include "topology/model.h"
#include "topology/routes.h"

namespace ringtrue::ops {

// What a file tells of these nodes: which leaf each hangs below (formats/leaves.h). Errors: bad_input, with
// the file or the node as `where`.
Result<diagnosis::Structure> structure_by_leaves(const std::string& file,
                                                 const std::vector<std::string>& nodes);
// The ways between the nodes (operator/routes.h), which tell the leaves, too. Errors: bad_input, with the
// node that is not in the fabric.
Result<diagnosis::Structure> structure_by_routes(topology::Routes routes,
                                                 const std::vector<std::string>& nodes);

// What the fastest port of each of these nodes can do, in bytes per second, as its driver says; 0: unknown. A
// link that came up slower than that, or a port that is down, is no other generation.
std::vector<double> port_rates(const topology::Cluster& cluster, const std::vector<std::string>& nodes);

}  // namespace ringtrue::ops
