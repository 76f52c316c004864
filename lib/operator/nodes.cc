#include "operator/nodes.h"

#include "operator/runner.h"

namespace ringtrue::ops {

Outcome<NodesDocument> nodes(const Setup& setup, const Control& control) {
  auto targets = targets_of(setup);
  if (!targets) return trouble(targets.error());
  NodesDocument document;
  for (const fleet::NodeState& s : fleet::describe(*targets, fleet_options(setup, {}, {}, control)))
    document.nodes.push_back({s.node, s.reachable, s.version, s.lease, s.cause});
  return document;
}

}  // namespace ringtrue::ops
