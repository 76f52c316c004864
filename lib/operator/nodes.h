// Which daemons answer, their versions, and who holds them.
#pragma once

#include "operator/documents/nodes.h"
#include "operator/setup.h"

namespace ringtrue::ops {

// Fails where there are no hosts; a node that is silent says so in its row.
Outcome<NodesDocument> nodes(const Setup& setup, const Control& control);

}  // namespace ringtrue::ops
