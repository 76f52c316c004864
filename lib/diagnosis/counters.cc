#include "diagnosis/counters.h"

#include <fmt/format.h>

#include <algorithm>

#include "topology/counters.h"
#include "topology/merge.h"

namespace ringtrue::diagnosis {
namespace {

constexpr std::size_t most_lines = 8;  // of evidence, of one node

}  // namespace

void add(const Windows& windows, Windows& sum) {
  for (const auto& [node, window] : windows) {
    const auto [at, fresh] = sum.try_emplace(node, window);
    if (!fresh) at->second = topology::join(at->second, window);
  }
}

bool of_rails(const std::string& device, const std::vector<RdmaPort>& rails) {
  return std::any_of(rails.begin(), rails.end(), [&](const RdmaPort& port) {
    return device == fmt::format("{}/{}", port.device, port.number);
  });
}

std::vector<std::string> risen(const topology::CounterWindow& window, const std::vector<RdmaPort>& rails) {
  std::vector<const topology::CounterChange*> errors;
  for (const topology::CounterChange& change : window.changes) {
    const bool of_port = change.device.find('/') != std::string::npos;
    if (of_port && !rails.empty() && !of_rails(change.device, rails)) continue;
    if (topology::counter_class(change.counter) == topology::CounterClass::error &&
        topology::rise(change) > 0)
      errors.push_back(&change);
  }
  std::stable_sort(errors.begin(), errors.end(),
                   [](const auto* a, const auto* b) { return topology::rise(*a) > topology::rise(*b); });
  std::vector<std::string> lines;
  for (const topology::CounterChange* change : errors) lines.push_back(topology::text(*change));
  return lines;
}

void join_counters(const Windows& windows, const std::map<std::string, std::vector<RdmaPort>>& rails,
                   std::string_view when, std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    const Scope& scope = finding.scope;
    if (scope.type != ScopeType::path && scope.type != ScopeType::sender &&
        scope.type != ScopeType::receiver && scope.type != ScopeType::node)
      continue;
    for (const std::string& node : {scope.node_name, scope.peer_name}) {
      const auto window = windows.find(node);
      if (node.empty() || window == windows.end()) continue;
      const auto ports = rails.find(node);
      std::vector<std::string> lines =
          risen(window->second, ports == rails.end() ? std::vector<RdmaPort>() : ports->second);
      if (lines.size() > most_lines) lines.resize(most_lines);
      for (const std::string& line : lines)
        finding.evidence.push_back(fmt::format("{} {} {}", node, line, when));
    }
  }
}

}  // namespace ringtrue::diagnosis
