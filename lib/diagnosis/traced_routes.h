// Routes from traced connections, where routers choose a way for each: hashed trunks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "diagnosis/routes.h"
#include "run/report.h"

namespace ringtrue::diagnosis {

// `ways`: of hops between these nodes, by their numbers. What is known of routers is the address that each
// answers from, which may differ with who asks:
//
// - Nodes that reach each other past no router, or past one, hang on the same switch, as do nodes whose
//   packets meet the same router first. It has the address of that router, or the nodes' names where there is
//   none.
// - The last router before a node is its switch, whatever address it answers from.
// - Another router that answers from several addresses counts as several: a trunk to it may then have several
//   names.
//
// nullptr where fewer than half of the ways are known, or none crosses a trunk.
std::shared_ptr<const NodeRoutes> traced_routes(const std::vector<std::string>& nodes,
                                                const std::vector<run::Way>& ways);

}  // namespace ringtrue::diagnosis
