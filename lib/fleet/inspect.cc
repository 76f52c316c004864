#include "fleet/inspect.h"

#include <mutex>

#include "fleet/ask.h"
#include "fleet/node_sessions.h"
#include "probe/probe.h"
#include "probe/recording.h"

namespace ringtrue::fleet {
namespace {

Result<topology::Cluster> facts_of(const std::string& bytes, const std::string& node) {
  const auto recording = probe::read_recording(bytes);
  if (!recording) {
    return fail(Cause::corrupted, "what its daemon told cannot be read: " + recording.error().what, node,
                "install the same version on both");
  }
  topology::Cluster cluster = probe::probe_cluster(*recording);
  cluster.nodes.front().name = node;
  return cluster;
}

Result<std::string> routes_in(const std::string& bytes, const std::string& node) {
  auto recording = probe::read_recording(bytes);
  if (!recording)
    return fail(Cause::corrupted, "what its daemon told cannot be read: " + recording.error().what, node,
                "install the same version on both");
  return probe::routes_in(std::move(*recording), {Cause::refused,
                                                  "its daemon is older and reads no forwarding tables",
                                                  {},
                                                  "install this release there"})
      .map_error([&](Error error) {
        error.where = node;
        return error;
      });
}

}  // namespace

std::vector<NodeInspection> inspect(const std::vector<Target>& targets, const Options& options,
                                    const probe::ReadRequest& request, Seconds deadline) {
  std::vector<NodeInspection> nodes;
  for (const Target& target : targets)
    nodes.push_back({target.node, fail(Cause::internal, "nobody asked", target.node), {}});
  const auto dialer = make_dialer(targets, options.pki, deadline);
  if (!dialer) {
    for (NodeInspection& node : nodes) node.facts = tl::unexpected(dialer.error());
    return nodes;
  }
  std::mutex mutex;
  int answered = 0;
  inspect_all(**dialer, targets, request, request.window + deadline,
              [&](std::size_t i, Result<std::string> answer) {
                // Each thread reads its own answer; only what is shared is guarded.
                NodeInspection& node = nodes[i];
                if (answer) {
                  node.facts = facts_of(*answer, node.node);
                  node.recording = std::move(*answer);
                } else {
                  node.facts = tl::unexpected(answer.error());
                }
                const std::lock_guard lock(mutex);
                if (options.progress) options.progress(Phase::inspect, ++answered, int(targets.size()));
              });
  return nodes;
}

Result<std::string> routes_of(const Target& target, const Options& options, Seconds deadline) {
  constexpr Seconds to_connect{5};  // the next node is asked where this one is silent
  const auto dialer = make_dialer({target}, options.pki, to_connect);
  if (!dialer) return tl::unexpected(dialer.error());
  probe::ReadRequest request;
  request.routes = true;
  Result<std::string> text = fail(Cause::internal, "nobody asked", target.node);
  inspect_all(**dialer, {target}, request, deadline, [&](std::size_t, Result<std::string> answer) {
    text = answer.and_then([&](const std::string& bytes) { return routes_in(bytes, target.node); });
  });
  return text;
}

}  // namespace ringtrue::fleet
