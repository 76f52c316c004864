#include "fleet/inspect.h"

#include <fmt/format.h>

#include <mutex>

#include "fleet/crew.h"
#include "fleet/link.h"
#include "fleet/reach.h"
#include "topology/format/format.h"

namespace ringtrue::fleet {
namespace {

Result<topology::Cluster> facts_of(const std::string& bytes, const std::string& node) {
  auto cluster = topology::read_any(bytes, node);
  if (!cluster || cluster->nodes.size() != 1) {
    return fail(Cause::corrupted,
                cluster ? fmt::format("its daemon told of {} nodes instead of one", cluster->nodes.size())
                        : "what its daemon told cannot be read: " + cluster.error().what,
                node, "install the same version on both");
  }
  cluster->nodes.front().name = node;
  return std::move(*cluster);
}

}  // namespace

std::vector<NodeInspection> inspect(const std::vector<Target>& targets, const Options& options,
                                    const InspectOptions& what) {
  std::vector<NodeInspection> nodes;
  for (const Target& target : targets)
    nodes.push_back({target.node, fail(Cause::internal, "nobody asked", target.node), {}});
  auto credentials = credentials_for(targets, options);
  if (!credentials) {
    for (NodeInspection& node : nodes) node.facts = tl::unexpected(credentials.error());
    return nodes;
  }
  const auto dialer = make_dialer(*credentials ? &**credentials : nullptr);
  std::mutex mutex;
  std::vector<int> unreached;
  int answered = 0;
  inspect_all(*dialer, targets, {what.window, what.wake_gpus, what.recording}, what.window + what.deadline,
              [&](std::size_t i, Result<InspectAnswer> answer, bool connected) {
                // Each thread reads its own answer; only what is shared is guarded.
                NodeInspection& node = nodes[i];
                if (answer) {
                  node.facts = facts_of(what.recording ? answer->recording : answer->document, node.node);
                  node.recording = std::move(answer->recording);
                } else {
                  node.facts = tl::unexpected(answer.error());
                }
                const std::lock_guard lock(mutex);
                if (!answer && !connected) unreached.push_back(int(i));
                if (options.progress) options.progress("inspect", ++answered, int(targets.size()));
              });
  const auto reasons = explain(targets, unreached, *credentials, explain_time);
  for (std::size_t k = 0; k < unreached.size(); ++k)
    if (reasons[k]) nodes[std::size_t(unreached[k])].facts = tl::unexpected(*reasons[k]);
  return nodes;
}

}  // namespace ringtrue::fleet
