#include "diagnosis/counters.h"

#include <fmt/format.h>

#include <algorithm>

#include "topology/counters.h"
#include "topology/merge.h"

namespace ringtrue::diagnosis {
namespace {

constexpr std::size_t most_lines = 8;  // of evidence, of one node

// Worst first. Of RDMA ports only those of `rails`, where there are any.
std::vector<const topology::CounterChange*> errors(const topology::CounterWindow& window,
                                                   const std::vector<RdmaPort>& rails) {
  std::vector<const topology::CounterChange*> found;
  for (const topology::CounterChange& change : window.changes) {
    const bool of_port = change.device.find('/') != std::string::npos;
    if (of_port && !rails.empty() && !of_rails(change.device, rails)) continue;
    if (topology::counter_class(change.counter) == topology::CounterClass::error &&
        topology::rise(change) > 0)
      found.push_back(&change);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto* a, const auto* b) { return topology::rise(*a) > topology::rise(*b); });
  return found;
}

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
  std::vector<std::string> lines;
  for (const topology::CounterChange* change : errors(window, rails))
    lines.push_back(topology::text(*change));
  return lines;
}

std::vector<std::string> risen_by_name(const topology::CounterWindow& window,
                                       const std::vector<RdmaPort>& rails) {
  std::map<std::string, std::string> ports;
  for (const topology::CounterChange* change : errors(window, rails)) {
    if (!of_rails(change->device, rails)) continue;
    std::string& line = ports[change->device];
    line += fmt::format("{} {} +{}", line.empty() ? ":" : ",", change->counter, topology::rise(*change));
  }
  std::vector<std::string> lines;
  for (const auto& [device, line] : ports) lines.push_back(topology::device_words(device) + line);
  return lines;
}

void join_counters(const Windows& windows, const std::map<std::string, std::vector<RdmaPort>>& rails,
                   std::string_view when, std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    const Scope& scope = finding.scope;
    if (scope.type != ScopeType::path && scope.type != ScopeType::sender &&
        scope.type != ScopeType::receiver && scope.type != ScopeType::node)
      continue;
    const std::vector<std::string> told = finding.evidence;
    for (const std::string& node : {scope.node_name, scope.peer_name}) {
      const auto window = windows.find(node);
      if (node.empty() || window == windows.end()) continue;
      const auto ports = rails.find(node);
      std::vector<std::string> lines =
          risen(window->second, ports == rails.end() ? std::vector<RdmaPort>() : ports->second);
      std::erase_if(lines, [&](const std::string& line) {
        const std::string port = fmt::format("{} {}: ", node, line.substr(0, line.find(": ")));
        return std::any_of(told.begin(), told.end(), [&](const auto& t) { return t.starts_with(port); });
      });
      if (lines.size() > most_lines) lines.resize(most_lines);
      for (const std::string& line : lines)
        finding.evidence.push_back(fmt::format("{} {} {}", node, line, when));
    }
  }
}

}  // namespace ringtrue::diagnosis
