#include "fleet/events.h"

#include "fleet/ask.h"

namespace ringtrue::fleet {

std::vector<NodeEvents> events(const std::vector<Target>& targets, const Options& options,
                               std::int64_t seconds) {
  std::vector<NodeEvents> nodes;
  for (const Target& target : targets)
    nodes.push_back({target.node, fail(Cause::internal, "nobody asked", target.node)});
  const auto dialer = make_dialer(targets, options.pki, options.phase_deadline);
  if (!dialer) {
    for (NodeEvents& node : nodes) node.events = tl::unexpected(dialer.error());
    return nodes;
  }
  events_of_all(**dialer, targets, seconds, options.phase_deadline,
                [&](std::size_t i, Result<run::DeviceEvents> told) { nodes[i].events = std::move(told); });
  return nodes;
}

}  // namespace ringtrue::fleet
