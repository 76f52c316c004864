#include <fmt/format.h>

#include <map>

#include "base/hostlist.h"
#include "fleet/fleet.h"
#include "wire/versions.h"

namespace ringtrue::fleet {

std::vector<std::string> version_notes(const std::vector<NodeState>& nodes) {
  struct Others {
    std::vector<std::string> nodes;
    bool compatible = true;
  };
  const std::string& here = wire::this_program().version;
  std::map<std::string, Others> by_version;
  for (const NodeState& node : nodes) {
    if (!node.reachable || (node.compatible && node.version == here)) continue;
    Others& others = by_version[node.version];
    others.nodes.push_back(node.node);
    others.compatible &= node.compatible;
  }
  std::vector<std::string> notes;
  for (const auto& [version, others] : by_version)
    notes.push_back(fmt::format("{} {} ringtrued {}, and this is ringtrue {}: {}",
                                fold_hostlist(others.nodes), others.nodes.size() == 1 ? "runs" : "run",
                                version.empty() ? "of an unknown version" : version, here,
                                others.compatible ? "they work together; install one version everywhere"
                                                  : "too far apart for runs and checks; install one version "
                                                    "everywhere"));
  return notes;
}

}  // namespace ringtrue::fleet
