// What is in the nodes, for the screen topology.
#pragma once

#include <memory>

#include "operator/documents/topo.h"
#include "tui/model/moment.h"

namespace ringtrue::tui {

// The trees and matrices that `ringtrue topo` prints, a node at a time.
std::shared_ptr<const Topology> topology_of(const ops::TopoDocument& document);
// Findings of inspection, as the only thing that is known of these nodes.
std::shared_ptr<const Moment> moment_of(const ops::TopoDocument& document, double when);

}  // namespace ringtrue::tui
